# SPDX-License-Identifier: Apache-2.0
"""The ROS 1 codec against genpy, for every type of the ROS 1 set. genpy is no PyPI package; where it is missing (Debian:
python3-genpy) the bytes of tests/vectors/codec/ remain (vectors_test.py), which were compared with it."""

import make_vectors
import pytest
import sfm_reference as reference
import values
from definitions import definition, ros1_store, short
from hypothesis import given, settings
from oracle_process import Oracle, python_with
from rosbags.typesys import Stores

PYTHON = python_with("genpy.dynamic", ["/usr/bin/python3"])
pytestmark = pytest.mark.skipif(PYTHON is None, reason="needs genpy: apt-get install python3-genpy")


@pytest.fixture(scope="module")
def genpy():
    oracle = Oracle(PYTHON, "oracle_genpy.py")
    yield oracle
    oracle.close()


def ros1_definition(store, name):
    """What ROS 1 calls the full text. genpy wants a line behind the name of a message without fields."""
    return store.generate_msgdef(name, ros_version=1)[0].replace("\n====", "\n\n====")


@pytest.mark.parametrize("name", sorted(name for name in ros1_store().fielddefs if "/msg/" in name))
def test_ros1_wire_is_genpys(codec, genpy, name):
    if name.startswith("builtin_interfaces/"):
        return  # not types of ROS 1
    schema = reference.Schema(definition(ros1_store(), name))
    text = ros1_definition(ros1_store(), name)

    @settings(max_examples=4)
    @given(value=values.message(schema, nan=False))
    def check(value):
        wire = bytes.fromhex(genpy.ask(type=short(name), definition=text, value=value))
        assert wire == reference.WireWriter(schema, cdr=False).write(value)
        sfm = codec.convert(schema.text, "ros1", "sfm", wire)
        assert sfm == reference.SfmWriter(schema).write(value)
        assert codec.convert(schema.text, "sfm", "ros1", sfm) == wire

    check()


@pytest.mark.parametrize(
    "name", [name for name, (text, _) in make_vectors.VECTORS.items() if "wstring" not in text and "<=" not in text]
)
def test_the_ros1_vectors_are_genpys(genpy, name):
    text, value = make_vectors.VECTORS[name]
    schema = reference.Schema(text)
    store = make_vectors.store_with(schema, Stores.ROS1_NOETIC)
    full = ros1_definition(store, schema.root.replace("/", "/msg/"))
    wire = bytes.fromhex(genpy.ask(type=schema.root, definition=full, value=value))
    assert wire == reference.WireWriter(schema, cdr=False).write(value)
