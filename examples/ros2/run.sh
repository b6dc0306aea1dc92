#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a ROS 2 program over Baton, here with the wheels of the default distribution, or of the one that BATON_ROS2_DISTRIBUTION names:
# run.sh examples/ros2/camera.py. In an installed ROS 2 RMW_IMPLEMENTATION=rmw_baton_cpp does it alone (docs/guides/ros2.md).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BATON_BUILD:-$root/build/release}
name=${BATON_ROS2_DISTRIBUTION:-$("$root/scripts/ros2_distributions.py" --default)}
library=$build/lib/$name/librmw_baton_cpp.so python=$root/.venv-ros2-$name/bin/python
[ -e "$library" ] || { echo "run.sh: $library is not built; run make setup and make build (x86-64)" >&2; exit 1; }
LD_PRELOAD=$library RMW_IMPLEMENTATION=rmw_baton_cpp exec "$python" "$@"
