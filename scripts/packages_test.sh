#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the packages of out/packages in a bare Debian 12, uses and removes them (tests/packages/bare_root.py). With --long also ROS 1.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = --long ]; then export BATON_LONG_TEST=1; shift; fi
exec .venv/bin/python -m pytest -q tests/packages/bare_root.py "$@"
