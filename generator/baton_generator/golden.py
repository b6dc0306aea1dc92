# SPDX-License-Identifier: Apache-2.0
"""The checked-in headers of generator/golden: `python -m baton_generator.golden` rewrites them, the tests compare."""

from __future__ import annotations

import sys
from pathlib import Path

from .generate import Wanted, outputs
from .packages import Universe

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
# Beside these, everything they contain.
STANDARD_TYPES = """std_msgs/Header std_msgs/String std_msgs/Empty std_msgs/Bool std_msgs/UInt64 sensor_msgs/Image sensor_msgs/CompressedImage
sensor_msgs/PointCloud2 sensor_msgs/PointCloud sensor_msgs/LaserScan sensor_msgs/CameraInfo sensor_msgs/Imu sensor_msgs/JointState geometry_msgs/PoseStamped
geometry_msgs/PoseWithCovarianceStamped geometry_msgs/TwistStamped geometry_msgs/TransformStamped tf2_msgs/TFMessage diagnostic_msgs/DiagnosticArray
builtin_interfaces/Time builtin_interfaces/Duration rosgraph_msgs/Clock stereo_msgs/DisparityImage""".split()
STANDARD_PACKAGES = ["std_srvs"]


def golden_headers() -> dict[str, str]:
    """Header path -> text, independent of any ROS installed on this machine."""
    universe = Universe(search=[GOLDEN / "interfaces"], environment={})
    return {
        str(path): text
        for path, text in outputs(
            universe, Wanted(types=STANDARD_TYPES, packages=[*STANDARD_PACKAGES, "golden_msgs"])
        ).items()
    }


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
    return 0


if __name__ == "__main__":
    sys.exit(main())
