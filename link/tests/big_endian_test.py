# SPDX-License-Identifier: Apache-2.0
"""Messages of a big-endian host reach subscriptions of this host with the right values, whatever their fields are."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from link_programs import lines_of, ready

FOREIGN = Path(__file__).parent / "big_endian_host.py"
HEADER = {"seq": 7, "stamp": {"sec": -3, "nanosec": 999999999}, "frame_id": "camera_link"}
MIXED = """bool yes
uint16[3] three
wstring wide
Part[] parts
string<=20[] names
float32[] some
int64 deep
@
MSG: foreign/Part
uint8 small
float64 big
string[] words
""".replace("@", "=" * 80)
VALUES = {
    "sensor_msgs/JointState": {
        "header": HEADER,
        "name": ["shoulder", "", "elbow", "wrist pitch"],
        "position": [0.5, -1.25, 1e300],
        "velocity": [],
        "effort": [float(i) for i in range(1000)],
    },
    "sensor_msgs/PointCloud2": {
        "header": HEADER | {"frame_id": ""},
        "height": 1,
        "width": 3,
        "fields": [
            {"name": name, "offset": 4 * i, "datatype": 7, "count": 1} for i, name in enumerate(("x", "y", "intensity"))
        ],
        "is_bigendian": True,
        "point_step": 12,
        "row_step": 36,
        "data": list(range(36)),
        "is_dense": False,
    },
    "geometry_msgs/PoseWithCovarianceStamped": {
        "header": HEADER,
        "pose": {
            "pose": {
                "position": {"x": 1.5, "y": -2.5, "z": 3e-9},
                "orientation": {"x": 0.0, "y": 0.6, "z": 0.8, "w": 0.0},
            },
            "covariance": [i / 7 for i in range(36)],
        },
    },
    "foreign/Mixed": {
        "yes": True,
        "three": [1, 256, 65535],
        "wide": "Gr\u00fc\u00dfe \u4e2d",
        "parts": [{"small": i, "big": i / 3, "words": ["ab", "abc", "abcd"][:i]} for i in range(4)],
        "names": ["left", "right"],
        "some": [0.5, -0.25],
        "deep": -(2**60),
    },
}

KINDS = f"""
import baton, json, sys
from baton._messages import struct_of
def kind(name):
    return baton.message_from_text(name, {MIXED!r}) if name == "foreign/Mixed" else baton.message(name)
"""

DEFINITIONS = (
    KINDS
    + """
print(json.dumps({name: [struct_of(kind(name)).definition, struct_of(kind(name)).hash.hex()] for name in sys.argv[1:]}))
"""
)

HEAR = (
    KINDS
    + """
node = baton.Node("listener")
names = sys.argv[1:]
subscriptions = [node.subscribe("topic%d" % i, kind(name)) for i, name in enumerate(names)]
print("ready", flush=True)
got = {}
for name, subscription in zip(names, subscriptions):
    message = subscription.take(90)
    assert message is not None, name
    got[name] = baton.to_dict(message)
print(json.dumps(got, default=lambda array: array.tolist()), flush=True)
"""
)


def test_messages_of_a_big_endian_host_arrive_field_by_field(hosts):
    a, b = hosts(2)
    a.link()
    assert a.says("listens on port")
    listener = ready(a.python(HEAR, *VALUES))
    defined = json.loads(lines_of(b.python(DEFINITIONS, *VALUES)))
    topics = [[f"/topic{i}", name, *defined[name], value] for i, (name, value) in enumerate(VALUES.items())]
    foreign = b.program(sys.executable, FOREIGN, a.address, json.dumps(topics))
    got = json.loads(lines_of(listener))
    assert got == VALUES
    foreign.says("acknowledged")
    assert "host big-endian is connected" in a.log_text()
    assert "warning" not in a.log_text()
