# SPDX-License-Identifier: Apache-2.0
"""ROS 2's own serializer (rclpy over rmw_fastrtps_cpp), driven over stdin (see oracle_process.py)."""

import array
import importlib
import json
import re
import sys
import traceback

import numpy
from rclpy.serialization import deserialize_message, serialize_message


def class_of(name):
    package, kind = name.split("/")
    return getattr(importlib.import_module(package + ".msg"), kind)


def fill(message, value):
    for field, kind in message.get_fields_and_field_types().items():
        setattr(message, field, member(getattr(message, field), kind, value[field]))
    return message


def inner_of(kind):
    match = re.match(r"sequence<(.*?)(, \d+)?>$", kind) or re.match(r"(.*)\[\d+\]$", kind)
    return match and match[1]


def member(default, kind, value):
    inner = inner_of(kind)
    if inner:
        items = [member(class_of(inner)() if "/" in inner else None, inner, item) for item in value]
        if isinstance(default, numpy.ndarray):
            return numpy.array(items, dtype=default.dtype)
        if isinstance(default, array.array):
            return array.array(default.typecode, items)
        return items
    if kind == "octet":
        return bytes([value])
    if "/" in kind:
        return fill(default, value)
    return value


def serve(request):
    kind = class_of(request["type"])
    if request["verb"] == "fields":
        return kind.get_fields_and_field_types()
    message = fill(kind(), request["value"])
    if request["verb"] == "serialize":
        return bytes(serialize_message(message)).hex()
    # compare: does the wire hold these values? repr, since nan != nan
    return repr(deserialize_message(bytes.fromhex(request["wire"]), kind)) == repr(message)


for line in sys.stdin:
    try:
        answer = {"result": serve(json.loads(line))}
    except Exception:
        answer = {"error": traceback.format_exc()}
    print(json.dumps(answer), flush=True)
