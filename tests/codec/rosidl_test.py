# SPDX-License-Identifier: Apache-2.0
"""The CDR codec against ROS 2 itself: rclpy.serialization over rmw_fastrtps_cpp. Runs where ROS 2's Python packages are: in
the environment that `make setup` makes, or where BATON_ROS2_PYTHON points. Elsewhere the bytes of tests/vectors/codec/ remain
(vectors_test.py), which were compared with it."""

import copy
import os
import re

import make_vectors
import pytest
import sfm_reference as reference
import values
from definitions import definition, ros2_store
from hypothesis import given, settings
from oracle_process import Oracle, python_with
from ros2_distribution import TESTED

PYTHON = python_with("rclpy.serialization", [os.environ.get("BATON_ROS2_PYTHON"), str(TESTED.python)])
pytestmark = pytest.mark.skipif(PYTHON is None, reason="needs ROS 2's Python packages: make setup")

STANDARD = sorted(
    name
    for name in ros2_store().fielddefs
    if "/msg/" in name
    and name.split("/")[0] in ("builtin_interfaces", "std_msgs", "geometry_msgs", "sensor_msgs", "nav_msgs")
)


@pytest.fixture(scope="module")
def rosidl():
    oracle = Oracle(PYTHON, "oracle_rosidl.py")
    yield oracle
    oracle.close()


def check_type(codec, rosidl, schema):
    @settings(max_examples=4)
    @given(value=values.message(schema, plain_text=True, nan=False))
    def check(value):
        check_value(codec, rosidl, schema, value)

    check()


def check_value(codec, rosidl, schema, value):
    clear_seq(schema, schema.root, value)
    theirs = bytes.fromhex(rosidl.ask(verb="serialize", type=schema.root, value=value))
    labels = reference.Labels()
    expected = reference.WireWriter(schema, cdr=True, labels=labels).write(value)
    # Their size is an estimate and their padding is what lay there before: both mean nothing.
    meant = bytearray(theirs[: len(expected)])
    for begin, end, label in labels.spans:
        if label == "(alignment)":
            meant[begin:end] = bytes(end - begin)
    assert meant == expected
    sfm = codec.convert(schema.text, "cdr", "sfm", theirs)
    assert sfm == reference.SfmWriter(schema).write(value)
    for form in ("cdr-little", "cdr-big"):
        ours = codec.convert(schema.text, "sfm", form, sfm)
        assert rosidl.ask(verb="compare", type=schema.root, value=value, wire=ours.hex())
    assert codec.convert(schema.text, "sfm", "cdr-little", sfm) == expected


def clear_seq(schema, name, value):
    for field, kind in schema.types[name]:
        if "/" in kind.base:
            for item in [value[field]] if kind.shape == "single" else value[field]:
                clear_seq(schema, kind.base, item)
    if name == "std_msgs/Header":
        value["seq"] = 0


@pytest.mark.parametrize("name", STANDARD)
def test_cdr_is_what_rmw_fastrtps_writes_and_reads(codec, rosidl, name):
    check_type(codec, rosidl, reference.Schema(definition(ros2_store(), name)))


TEST_MSGS = [
    "Arrays", "BasicTypes", "BoundedPlainSequences", "BoundedSequences", "Builtins", "Constants", "Defaults", "Empty",
    "Nested", "Strings", "UnboundedSequences", "WStrings",
]  # fmt: skip


def canonical_of(rosidl, root):
    """A canonical definition made from what rosidl says of its own fields."""
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


@pytest.mark.parametrize("name", TEST_MSGS)
def test_cdr_of_ros2s_own_test_messages(codec, rosidl, name):
    check_type(codec, rosidl, reference.Schema(canonical_of(rosidl, f"test_msgs/{name}")))


def test_cdr_of_ros2s_largest_test_message(codec, rosidl):
    schema = reference.Schema(canonical_of(rosidl, "test_msgs/MultiNested"))
    for seed in range(3):
        check_value(codec, rosidl, schema, values.example(schema, seed))


@pytest.mark.parametrize("name", ["camera_info", "empty_message", "header", "image", "laser_scan"])
def test_the_cdr_vectors_of_standard_types_are_rmw_fastrtpss(codec, rosidl, name):
    text, value = make_vectors.VECTORS[name]
    check_value(codec, rosidl, reference.Schema(text), copy.deepcopy(value))
