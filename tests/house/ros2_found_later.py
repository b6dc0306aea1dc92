#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Configures one build folder again and again while ROS 2 comes and goes. Each time ROS 2 is looked for, unless BATON_ROS2 was given."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77


def main():
    parser = argparse.ArgumentParser()
    for name in ("cmake", "compiler", "source", "ros2"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    if not Path(args.ros2, "include/rmw/rmw/rmw.h").is_file():
        print(f"no ROS 2 in {args.ros2}")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        prefix, build = Path(folder, "ros2"), Path(folder, "build")

        def configure(*options):
            return subprocess.run(
                [args.cmake, "-G", "Ninja", "-S", args.source, "-B", build, f"-DCMAKE_CXX_COMPILER={args.compiler}",
                 "-DBATON_GENERATOR=OFF", f"-DBATON_ROS2_PREFIX={prefix}", *options],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip

        def expect(rmw, *options):
            done = configure(*options)
            built = "librmw_baton_cpp" in Path(build, "build.ninja").read_text() if done.returncode == 0 else None
            if built is not rmw:
                sys.exit(f"{options}: the RMW is built: {built}, expected {rmw}\n{done.stdout}")

        expect(False)
        prefix.symlink_to(Path(args.ros2).resolve())
        expect(True)
        expect(False, "-DBATON_SANITIZE=thread")
        expect(True, "-DBATON_SANITIZE=")
        expect(False, "-DBATON_ROS2=OFF")
        expect(False)
        expect(True, "-DBATON_ROS2=AUTO")
        prefix.unlink()
        expect(False)
        refused = configure("-DBATON_ROS2=ON")
        if refused.returncode == 0 or "there is no ROS 2 in" not in refused.stdout:
            sys.exit(f"ON without ROS 2 is an error that says so\n{refused.stdout}")


if __name__ == "__main__":
    main()
