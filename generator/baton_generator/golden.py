# SPDX-License-Identifier: Apache-2.0
"""The checked-in headers of generator/golden: `python -m baton_generator.golden` rewrites them, the tests compare."""

from __future__ import annotations

import sys
from pathlib import Path

from .canonical import Resolver
from .generate import Wanted, outputs
from .packages import Universe
from .split import split

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
# The types that programs and tests of the rooms include. Types inside them are added.
STANDARD_TYPES = """std_msgs/Header std_msgs/String std_msgs/UInt64 sensor_msgs/Image sensor_msgs/PointCloud2 sensor_msgs/PointCloud
sensor_msgs/LaserScan sensor_msgs/CameraInfo sensor_msgs/Imu sensor_msgs/JointState geometry_msgs/PoseWithCovarianceStamped
geometry_msgs/TransformStamped tf2_msgs/TFMessage diagnostic_msgs/DiagnosticArray builtin_interfaces/Time builtin_interfaces/Duration
stereo_msgs/DisparityImage rcl_interfaces/ParameterEvent rcl_interfaces/Log""".split()
SPLIT_TYPES = ["sensor_msgs/CameraInfo", "tf2_msgs/TFMessage", "builtin_interfaces/Time"]  # beside those of golden_msgs
STANDARD_PACKAGES = ["std_srvs"]
PARAMETER_SERVICES = [  # of every node with parameters
    f"rcl_interfaces/srv/{name}"
    for name in (
        "DescribeParameters",
        "GetParameterTypes",
        "GetParameters",
        "ListParameters",
        "SetParameters",
        "SetParametersAtomically",
    )
]


def _universe() -> Universe:
    return Universe(search=[GOLDEN / "interfaces"], environment={})  # whatever ROS is installed on this machine


def golden_splits() -> str:
    """`baton split` of the messages whose message::split() golden_test.cpp compares with it, one element a line."""
    resolver = Resolver(_universe())
    own = [name for kind, name in _universe().types_of("golden_msgs") if kind == "msg"]
    lines = []
    for name in [*SPLIT_TYPES, *own]:
        parts = split(resolver.message(name))
        lines += [f"{name} {'data' if part.data else 'control'} {part.path}" for part in parts]
    return "\n".join(lines) + "\n"


def golden_headers() -> dict[str, str]:
    """Header path -> text."""
    wanted = Wanted(types=[*STANDARD_TYPES, *PARAMETER_SERVICES], packages=[*STANDARD_PACKAGES, "golden_msgs"])
    return {str(path): text for path, text in outputs(_universe(), wanted).items()}


def main() -> int:
    root = GOLDEN / "include"
    wanted = golden_headers()
    for stale in set(root.rglob("*.hpp")) - {root / path for path in wanted}:
        stale.unlink()
    for path, text in wanted.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text() != text:
            target.write_text(text)
            print(f"wrote {target}")
    (GOLDEN / "split.txt").write_text(golden_splits())
    return 0


if __name__ == "__main__":
    sys.exit(main())
