#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a ROS 2 program over Baton, here with the wheels of .venv-ros2: run.sh examples/ros2/camera.py. In an installed ROS 2
# RMW_IMPLEMENTATION=rmw_baton_cpp does it alone (docs/guides/ros2.md).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
library=${BATON_BUILD:-$root/build/release}/lib/librmw_baton_cpp.so
[ -e "$library" ] || { echo "run.sh: $library is not built; run make setup and make build (x86-64)" >&2; exit 1; }
LD_PRELOAD=$library RMW_IMPLEMENTATION=rmw_baton_cpp exec "$root/.venv-ros2/bin/python" "$@"
