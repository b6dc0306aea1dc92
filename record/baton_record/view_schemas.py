# SPDX-License-Identifier: Apache-2.0
"""Types of Baton as viewers read them: `ros2msg`, with ROS 2's names."""

from __future__ import annotations

from typing import Any


def ros2_name(name: str) -> str:
    """package/msg/Name."""
    return name.replace("/", "/msg/", 1)


def ros2_schema(struct: Any) -> str:
    """The definition of a type and of those inside it, as `ros2msg` has them."""
    lines = []
    inside = ""
    for line in struct.definition.splitlines():
        first, _, rest = line.partition(" ")
        if first == "message":
            lines += ["=" * 80, f"MSG: {rest}"] if inside else []
            inside = rest
        elif (inside, line) != ("std_msgs/Header", "uint32 seq"):  # not in ROS 2, and not in CDR
            lines.append(line)
    return "\n".join([*lines, ""])


def whole_cdr(struct: Any, data: bytes) -> bytes:
    """The CDR of a client, with the byte that ROS 2's message without fields has, and that some viewers leave out."""
    return data + b"\0" if not struct.members and len(data) == 4 else data
