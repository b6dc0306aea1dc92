#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the packages of out/packages in a bare Debian 12, uses and removes them (tests/packages/bare_root.py). With --long also ROS 1.
# A root file system is made by root.
set -euo pipefail
cd "$(dirname "$0")/.."
words=(.venv/bin/python -m pytest -q -p no:cacheprovider tests/packages/bare_root.py)
long=
if [ "${1:-}" = --long ]; then long=1; shift; fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
exec "${as_root[@]}" env BATON_LONG_TEST=$long PYTHONDONTWRITEBYTECODE=1 "${words[@]}" "$@"
