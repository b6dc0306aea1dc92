#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The reference of the C++ and Python interfaces, generated from their headers and modules: out/api. A warning is an error. With --if-built
# the Python interface is left out where its package is not built; scripts/check.sh says so.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf out/api
mkdir -p out/api
doxygen docs/api/Doxyfile
package=${BATON_BUILD:-$PWD/build/release}/python
if ! compgen -G "$package/baton/_core*.so" >/dev/null; then
  if [ "${1:-}" = --if-built ]; then
    echo "api: the Python reference was not checked: its package is not built ($package); run make build" >&2
    exit 0
  fi
  echo "api: the Python package is not built ($package); run make build" >&2
  exit 1
fi
# baton.rclpy and baton.rospy are left out: their types can be imported only beside ROS 2 and ROS 1.
PYTHONPATH="$package" .venv/bin/python -W error::UserWarning -m pdoc --output-directory out/api/python \
  baton baton.atsa
echo "api: out/api/cpp/index.html, out/api/python/index.html"
