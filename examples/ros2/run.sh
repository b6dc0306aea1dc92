#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a ROS 2 program over Baton, here with the wheels of ROS 2 Jazzy, or of Kilted if BATON_ROS2_DISTRIBUTION says so:
# run.sh examples/ros2/camera.py. In an installed ROS 2 RMW_IMPLEMENTATION=rmw_baton_cpp does it alone (docs/guides/ros2.md).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BATON_BUILD:-$root/build/release}
case ${BATON_ROS2_DISTRIBUTION:-jazzy} in
  jazzy) library=$build/lib/jazzy/librmw_baton_cpp.so python=$root/.venv-ros2-jazzy/bin/python ;;
  kilted) library=$build/lib/librmw_baton_cpp.so python=$root/.venv-ros2/bin/python ;;
  *) echo "run.sh: BATON_ROS2_DISTRIBUTION is jazzy or kilted" >&2; exit 2 ;;
esac
[ -e "$library" ] || { echo "run.sh: $library is not built; run make setup and make build (x86-64)" >&2; exit 1; }
LD_PRELOAD=$library RMW_IMPLEMENTATION=rmw_baton_cpp exec "$python" "$@"
