# SPDX-License-Identifier: Apache-2.0
"""The codecs compared with three other implementations, for every type of the standard sets with generated values: rosbags (ROS 1's wire, CDR
in both byte orders), genpy (ROS 1 itself), and rclpy.serialization over rmw_fastrtps_cpp (ROS 2 itself). Part `oracles` of
scripts/parts.toml; the gate has the bytes of tests/vectors/codec/, which were compared with all three (codec_vectors_test.cpp).

genpy is no PyPI package (Debian: python3-genpy). ROS 2 is that of the tests, or where BATON_ROS2_PYTHON points."""

import copy
import os
import re

import make_vectors
import pytest
import sfm_reference as reference
import values
from definitions import definition, ros1_store, ros2_store, short, to_rosbags
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_process import Oracle, python_with
from rosbags.typesys import Stores
from support.ros2 import TESTED

GENPY = python_with("genpy.dynamic", ["/usr/bin/python3"])
ROS2 = python_with("rclpy.serialization", [os.environ.get("BATON_ROS2_PYTHON"), str(TESTED.python)])
needs_genpy = pytest.mark.skipif(GENPY is None, reason="needs genpy: apt-get install python3-genpy")
needs_rosidl = pytest.mark.skipif(ROS2 is None, reason="needs ROS 2's Python packages: make setup")
EXAMPLES = settings(max_examples=4)
ROS2_PACKAGES = ("builtin_interfaces", "std_msgs", "geometry_msgs", "sensor_msgs", "nav_msgs")


@pytest.fixture(scope="module")
def genpy():
    with Oracle(GENPY, "oracle_genpy.py") as oracle:
        yield oracle


@pytest.fixture(scope="module")
def rosidl():
    with Oracle(ROS2, "oracle_rosidl.py") as oracle:
        yield oracle


def names(store):
    return sorted(name for name in store.fielddefs if "/msg/" in name)


def read(codec, schema, form, wire, value):
    """The message's bytes are the documented ones, in both byte orders, and nothing is lost in the control and data part."""
    text = schema.text
    sfm = codec.convert(text, form, "sfm", wire)
    assert sfm == reference.SfmWriter(schema).write(value)
    other = codec.convert(text, "sfm", "sfm-other", sfm)
    assert other == reference.SfmWriter(schema, ">").write(value)
    assert codec.convert(text, "sfm-other", "sfm", other) == sfm
    writer = reference.ControlWriter(schema)
    control = writer.write(value)
    parts = codec.convert(text, "sfm", "control", sfm)
    assert parts[4 : 4 + len(control)] == control
    assert parts[4 + len(control) :] == writer.data_part()
    again = codec.convert(text, "control", "sfm", parts)
    assert reference.SfmReader(schema).read(again) == reference.SfmReader(schema).read(sfm) or values.has_nan(value)
    return sfm


@pytest.mark.parametrize("name", names(ros1_store()))
def test_ros_1s_wire_is_that_of_rosbags(codec, name):
    schema = reference.Schema(definition(ros1_store(), name))

    @EXAMPLES
    @given(value=values.message(schema))
    def check(value):
        wire = bytes(ros1_store().serialize_ros1(to_rosbags(ros1_store(), name, value), name))
        assert codec.convert(schema.text, "sfm", "ros1", read(codec, schema, "ros1", wire, value)) == wire

    check()


@pytest.mark.parametrize("name", names(ros2_store()))
def test_cdr_is_that_of_rosbags(codec, name):
    schema = reference.Schema(definition(ros2_store(), name))

    @EXAMPLES
    @given(value=values.message(schema), little=st.booleans())
    def check(value, little):
        message = to_rosbags(ros2_store(), name, value)
        values.clear_seq(schema, schema.root, value)
        wire = bytes(ros2_store().serialize_cdr(message, name, little_endian=little))
        sfm = read(codec, schema, "cdr", wire, value)
        assert codec.convert(schema.text, "sfm", "cdr-little" if little else "cdr-big", sfm) == wire

    check()


def genpys_wire(genpy, store, name, value):
    # ROS 1's full text. genpy needs a line after the name of a message without fields.
    text = store.generate_msgdef(name, ros_version=1)[0].replace("\n====", "\n\n====")
    return bytes.fromhex(genpy.ask(type=short(name), definition=text, value=value))


@needs_genpy
@pytest.mark.parametrize("name", [n for n in names(ros1_store()) if not n.startswith("builtin_interfaces/")])
def test_ros_1s_wire_is_that_of_genpy(codec, genpy, name):
    schema = reference.Schema(definition(ros1_store(), name))

    @EXAMPLES
    @given(value=values.message(schema, nan=False))
    def check(value):
        wire = genpys_wire(genpy, ros1_store(), name, value)
        assert wire == reference.WireWriter(schema, cdr=False).write(value)
        assert codec.convert(schema.text, "sfm", "ros1", read(codec, schema, "ros1", wire, value)) == wire

    check()


@needs_genpy
def test_the_vectors_of_ros_1s_wire_are_genpys(genpy):
    for text, value in make_vectors.VECTORS.values():
        if "wstring" not in text and "<=" not in text:
            schema = reference.Schema(text)
            store = make_vectors.store_with(schema, Stores.ROS1_NOETIC)
            wire = genpys_wire(genpy, store, schema.root.replace("/", "/msg/"), value)
            assert wire == reference.WireWriter(schema, cdr=False).write(value), schema.root


def beside_rosidl(codec, rosidl, schema, value):
    values.clear_seq(schema, schema.root, value)
    theirs = bytes.fromhex(rosidl.ask(verb="serialize", type=schema.root, value=value))
    labels = reference.Labels()
    expected = reference.WireWriter(schema, cdr=True, labels=labels).write(value)
    # Their size is an estimate, and their padding is uninitialized: neither is compared.
    meant = bytearray(theirs[: len(expected)])
    for begin, end, label in labels.spans:
        if label == "(alignment)":
            meant[begin:end] = bytes(end - begin)
    assert meant == expected
    sfm = read(codec, schema, "cdr", theirs, value)
    for form in ("cdr-little", "cdr-big"):
        ours = codec.convert(schema.text, "sfm", form, sfm)
        assert rosidl.ask(verb="compare", type=schema.root, value=value, wire=ours.hex())
    assert codec.convert(schema.text, "sfm", "cdr-little", sfm) == expected


TEST_MSGS = [
    "Arrays", "BasicTypes", "BoundedPlainSequences", "BoundedSequences", "Builtins", "Constants", "Defaults", "Empty",
    "Nested", "Strings", "UnboundedSequences", "WStrings",
]  # fmt: skip


def canonical_of(rosidl, root):
    """A canonical definition made from rosidl's description of the fields."""
    sections = {}

    def visit(name):
        if name in sections:
            return
        sections[name] = lines = []
        for field, kind in rosidl.ask(verb="fields", type=name).items():
            lines.append(f"{spell(kind)} {field}")
            base = lines[-1].split(" ")[0].split("[")[0]
            if "/" in base:
                visit(base)

    def spell(kind):
        kind = {"float": "float32", "double": "float64", "octet": "uint8", "boolean": "bool"}.get(kind, kind)
        if match := re.match(r"sequence<(.*?)(?:, (\d+))?>$", kind):
            return spell(match[1]) + (f"[<={match[2]}]" if match[2] else "[]")
        if match := re.match(r"(.*)\[(\d+)\]$", kind):
            return f"{spell(match[1])}[{match[2]}]"
        return re.sub(r"<(\d+)>$", r"<=\1", kind)

    visit(root)
    order = [root, *sorted(set(sections) - {root})]
    return "".join("\n".join([f"message {name}", *sections[name]]) + "\n" for name in order)


@needs_rosidl
@pytest.mark.parametrize(
    "name",
    [n for n in names(ros2_store()) if n.split("/")[0] in ROS2_PACKAGES] + [f"test_msgs/{n}" for n in TEST_MSGS],
)
def test_cdr_is_that_of_rmw_fastrtps(codec, rosidl, name):
    own = name.startswith("test_msgs/")
    schema = reference.Schema(canonical_of(rosidl, name) if own else definition(ros2_store(), name))

    @EXAMPLES
    @given(value=values.message(schema, plain_text=True, nan=False))
    def check(value):
        beside_rosidl(codec, rosidl, schema, value)

    check()


@needs_rosidl
def test_cdr_of_the_largest_test_message_and_the_vectors_are_those_of_rmw_fastrtps(codec, rosidl):
    schema = reference.Schema(canonical_of(rosidl, "test_msgs/MultiNested"))
    for seed in range(3):
        beside_rosidl(codec, rosidl, schema, values.example(schema, seed))
    for name in ("camera_info", "empty_message", "header", "image", "laser_scan"):
        text, value = make_vectors.VECTORS[name]
        beside_rosidl(codec, rosidl, reference.Schema(text), copy.deepcopy(value))
