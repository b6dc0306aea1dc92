# SPDX-License-Identifier: Apache-2.0
"""One shape for ROS 1 and ROS 2: the differences between the two that Baton removes (docs/format/ros1-ros2-equivalence.md).

The dialects' built-in types are mapped by the parser. Here are the fields: what is added, renamed or dropped, and under which second
name C++ programs may still reach a renamed field.
"""

from __future__ import annotations

from dataclasses import replace

from .model import Field, FieldType, Message

# ROS 2 dropped it; codecs drop or zero it.
_LEADING_FIELDS = {
    "std_msgs/Header": Field(
        "seq", FieldType("uint32"), comment="ROS 1 only; zero on the way from ROS 2, dropped on the way to it"
    )
}

# canonical name -> the other dialect's name, per type
SECOND_NAMES: dict[str, dict[str, str]] = {
    "builtin_interfaces/Time": {"nanosec": "nsec"},
    "builtin_interfaces/Duration": {"nanosec": "nsec"},
    "sensor_msgs/CameraInfo": {"d": "D", "k": "K", "r": "R", "p": "P"},
    "stereo_msgs/DisparityImage": {"t": "T"},
}

# The member that ROS 2's tools add to an empty message, because a struct of C needs one.
_EMPTY_FILLER = "structure_needs_at_least_one_member"

# Non-zero defaults of the ROS 2 standard packages, which rosbags' stores leave out: (type, field) -> (default, the constant that a
# set has if it is new enough to have the default, or "").
STORE_DEFAULTS = {
    ("geometry_msgs/Quaternion", "w"): (1.0, ""),
    ("sensor_msgs/NavSatStatus", "status"): (-2, "STATUS_UNKNOWN"),
}


def canonical_message(message: Message) -> Message:
    """The message under Baton's names, with every slot that either dialect has."""
    name = message.full_name
    first_names = {second: first for first, second in SECOND_NAMES.get(name, {}).items()}
    present = {field.name for field in message.fields}
    fields = tuple(
        replace(field, name=first_names[field.name])
        if field.name in first_names and first_names[field.name] not in present
        else field
        for field in message.fields
    )
    if len(fields) == 1 and fields[0].name == _EMPTY_FILLER:
        fields = ()
    leading = _LEADING_FIELDS.get(name)
    if leading and leading.name not in present:
        fields = (leading, *fields)
    return replace(message, fields=fields)
