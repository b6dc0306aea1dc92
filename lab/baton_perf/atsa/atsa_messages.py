# SPDX-License-Identifier: Apache-2.0
"""The messages of ATSA's measurements, in one definition for all systems, with the sizes that the paper gives.

The paper shows the parts of WayPoint (1 int32, 1 uint32, 8 float64: 72 bytes) and the sizes of the others; their fields are
chosen here. Each begins with the time of its publishing, from which latencies are measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PACKAGE = "atsa_msgs"
DEFINITIONS = {
    "Timestamp": "int32 sec\nuint32 nanosec",
    "Point": "float64 x\nfloat64 y\nfloat64 z",
    "Quaternion": "float64 x\nfloat64 y\nfloat64 z\nfloat64 w",
    "WayPose": "Point position\nfloat64 heading\nfloat64 curvature\nfloat64 length\nfloat64 speed\nfloat64 acceleration",
    "WayPoint": "Timestamp stamp\nWayPose pose",
    "Packet": "Timestamp stamp\nuint8[] data",
    # What is sent:
    "Image": "Timestamp stamp\nuint32 width\nuint32 height\nuint8[] data",  # 8 MB
    "Lidar": "Timestamp stamp\nPacket[] packets",  # 1000 packets of 1250 bytes
    "Novatel": "Timestamp stamp\nPoint position\nPoint deviation\nPoint velocity\nPoint attitude\nfloat64 undulation\nfloat64 age\n"
    "float64 latency\nfloat64 trust\nuint32 status\nuint8 satellites\nuint8 solution",  # 142 bytes
    "Pose": "Timestamp stamp\nPoint position\nQuaternion orientation\nPoint velocity\nPoint acceleration\n"
    "float64[36] covariance",  # 400 bytes
    "WayPoints": "Timestamp stamp\nWayPoint[] points",  # 2000 way points
    # Table 1:
    "C": "float64[] f",
    "B": "C[] c_array",
    "A": "B[] b_array",
}
MESSAGES = ["Image", "Lidar", "Novatel", "Pose", "WayPoints"]
PIPELINE = ["Lidar", "Pose", "WayPoints"]
IMAGE_BYTES, PACKETS, PACKET_BYTES, WAYPOINTS = 8_000_000, 1000, 1242, 2000


def build(kind: str, make: Callable[..., Any], blob: Callable[[int], Any]) -> Any:
    """A message: make(name, **fields) makes an object of a type, blob(n) a value for a field with n bytes."""
    if kind == "Image":
        return make(kind, width=2000, height=1000, data=blob(IMAGE_BYTES))
    if kind == "Lidar":
        return make(kind, packets=[make("Packet", data=blob(PACKET_BYTES)) for _ in range(PACKETS)])
    if kind == "WayPoints":
        return make(kind, points=[make("WayPoint") for _ in range(WAYPOINTS)])
    return make(kind)


def shape(x: int, y: int, z: int, make: Callable[..., Any], numbers: Callable[[int], Any]) -> Any:
    """Table 1's message: x of B, each y of C, each z numbers."""
    return make("A", b_array=[make("B", c_array=[make("C", f=numbers(z)) for _ in range(y)]) for _ in range(x)])


def fields(name: str) -> list[tuple[str, str, str]]:
    """(type, "" or [] or [n], name) of a definition's fields."""
    result = []
    for line in DEFINITIONS[name].splitlines():
        kind, field = line.split()
        base, bracket, count = kind.partition("[")
        result.append((base, bracket + count, field))
    return result


def genpy_text(name: str) -> str:
    """The definition with those it uses, as genpy.dynamic wants it."""
    parts, todo = [], [name]
    for each in todo:
        lines = []
        for base, bracket, field in fields(each):
            if base in DEFINITIONS:
                if base not in todo:
                    todo.append(base)
                base = f"{PACKAGE}/{base}"
            lines.append(f"{base}{bracket} {field}")
        parts.append(("" if each == name else f"MSG: {PACKAGE}/{each}\n") + "\n".join(lines))
    return f"\n{'=' * 80}\n".join(parts)
