#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All tests of the release build: ctest, pytest, and the order of the rooms.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/python scripts/check_layers.py
scripts/run_ctest.sh release "$@"
.venv/bin/python -m pytest -q
