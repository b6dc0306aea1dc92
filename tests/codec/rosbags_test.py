# SPDX-License-Identifier: Apache-2.0
"""The codecs against rosbags (ROS 1 wire, CDR in both byte orders) and against the reference implementation of the layout,
for every type of the standard sets with generated values."""

import sfm_reference as reference
import values
from definitions import definition, ros1_store, ros2_store, to_rosbags
from hypothesis import given, settings
from hypothesis import strategies as st

EXAMPLES = 4


def names(store):
    return sorted(name for name in store.fielddefs if "/msg/" in name)


def check_layouts(codec, schema, value, sfm):
    """The message's bytes are the documented ones, in both byte orders, and nothing is lost in the control and data part."""
    text = schema.text
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
    assert reference.SfmReader(schema).read(again) == reference.SfmReader(schema).read(sfm) or has_nan(value)


def has_nan(value) -> bool:
    if isinstance(value, dict):
        return any(has_nan(item) for item in value.values())
    if isinstance(value, list):
        return any(has_nan(item) for item in value)
    return value != value


def make_ros1_test(name):
    schema = reference.Schema(definition(ros1_store(), name))

    @settings(max_examples=EXAMPLES)
    @given(value=values.message(schema))
    def check(codec, value):
        wire = bytes(ros1_store().serialize_ros1(to_rosbags(ros1_store(), name, value), name))
        sfm = codec.convert(schema.text, "ros1", "sfm", wire)
        assert codec.convert(schema.text, "sfm", "ros1", sfm) == wire
        check_layouts(codec, schema, value, sfm)

    return check


def make_cdr_test(name):
    schema = reference.Schema(definition(ros2_store(), name))

    @settings(max_examples=EXAMPLES)
    @given(value=values.message(schema), little=st.booleans())
    def check(codec, value, little):
        message = to_rosbags(ros2_store(), name, value)
        clear_seq(schema, schema.root, value)
        wire = bytes(ros2_store().serialize_cdr(message, name, little_endian=little))
        sfm = codec.convert(schema.text, "cdr", "sfm", wire)
        assert codec.convert(schema.text, "sfm", "cdr-little" if little else "cdr-big", sfm) == wire
        check_layouts(codec, schema, value, sfm)

    return check


def clear_seq(schema, name, value):
    """CDR has no Header.seq: it comes back as zero."""
    for field, kind in schema.types[name]:
        if "/" in kind.base:
            for item in [value[field]] if kind.shape == "single" else value[field]:
                clear_seq(schema, kind.base, item)
    if name == "std_msgs/Header":
        value["seq"] = 0


for _name in names(ros1_store()):
    globals()[f"test_ros1_{_name.replace('/', '_')}"] = make_ros1_test(_name)
for _name in names(ros2_store()):
    globals()[f"test_cdr_{_name.replace('/', '_')}"] = make_cdr_test(_name)
