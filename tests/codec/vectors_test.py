# SPDX-License-Identifier: Apache-2.0
"""tests/vectors/codec/ has the files that make_vectors.py writes, and the codecs print each message as YAML with the same values. The C++ codecs
read and write the files in codec_vectors_test.cpp."""

import io
import json
import math

import make_vectors
import numpy
import pytest
import sfm_reference as reference
from ruamel.yaml import YAML


def test_the_files_are_those_that_make_vectors_writes():
    assert make_vectors.problems(make_vectors.files()) == ([], [])


def load_yaml(text: bytes):
    return YAML(typ="safe").load(io.StringIO(text.decode()))


def same(printed, value) -> bool:
    if isinstance(value, dict):
        return printed.keys() == value.keys() and all(same(printed[key], value[key]) for key in value)
    if isinstance(value, list):
        return len(printed) == len(value) and all(map(same, printed, value))
    if isinstance(value, numpy.float32):  # 121563888.0 and 121563890.0 are the same value
        return isinstance(printed, float) and numpy.float32(printed) == value
    if isinstance(value, float):
        return isinstance(printed, float) and (printed == value or (math.isnan(printed) and math.isnan(value)))
    return type(printed) is type(value) and printed == value


@pytest.mark.parametrize("name", make_vectors.VECTORS)
def test_the_printed_message_is_yaml_of_the_same_values(codec, name):
    text, value = make_vectors.VECTORS[name]
    value = json.loads(json.dumps(value))
    schema = reference.Schema(text)
    printed = load_yaml(codec.convert(text, "sfm", "yaml", reference.SfmWriter(schema).write(value)))
    assert same(printed, narrowed(schema, schema.root, value))


def narrowed(schema, name, value):
    """With float32 values as numpy.float32: YAML may show one value by several numbers."""

    def one(base, item):
        if base == "float32" and math.isfinite(item):
            return numpy.float32(item)
        return narrowed(schema, base, item) if "/" in base else item

    return {
        field: one(kind.base, value[field])
        if kind.shape == "single"
        else [one(kind.base, item) for item in value[field]]
        for field, kind in schema.types[name]
    }
