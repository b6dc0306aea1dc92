# SPDX-License-Identifier: Apache-2.0
"""ROS 1's own Python serializer, driven over stdin (see oracle_process.py). Needs genpy (Debian: python3-genpy)."""

import io
import json
import sys
import traceback

import genpy.dynamic

classes = {}


def fill(message, value):
    for slot, kind in zip(message.__slots__, message._slot_types, strict=True):
        setattr(message, slot, member(getattr(message, slot), kind, value[slot.lower()], message))
    return message


def member(default, kind, value, owner):
    if kind in ("time", "duration"):
        # genpy checks ranges that the wire format does not have: only the bits are compared.
        if kind == "time":
            default.secs, default.nsecs = value["sec"] & 0xFFFFFFFF, value["nanosec"]
        else:
            nanosec = value["nanosec"]
            default.secs, default.nsecs = value["sec"], nanosec - (1 << 32) if nanosec >= 1 << 31 else nanosec
        return default
    base, bracket, _ = kind.partition("[")
    if bracket:
        if base in ("uint8", "char"):
            return bytes(value)
        if "/" in base or base in ("time", "duration"):
            return [member(blank(base), base, item, owner) for item in value]
        return [member(None, base, item, owner) for item in value]
    if base == "byte":
        return value - 256 if value > 127 else value
    if "/" in base:
        return fill(default, value)
    return value


def blank(base):
    if base == "time":
        return genpy.Time()
    if base == "duration":
        return genpy.Duration()
    return by_name[base]()


by_name = {}


def serve(request):
    name, definition = request["type"], request["definition"]
    if (name, definition) not in classes:
        made = genpy.dynamic.generate_dynamic(name, definition)
        by_name.update(made)
        classes[name, definition] = made
    by_name.update(classes[name, definition])
    message = fill(classes[name, definition][name](), request["value"])
    out = io.BytesIO()
    message.serialize(out)
    return out.getvalue().hex()


for line in sys.stdin:
    try:
        answer = {"result": serve(json.loads(line))}
    except Exception:
        answer = {"error": traceback.format_exc()}
    print(json.dumps(answer), flush=True)
