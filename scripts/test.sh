#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All tests of the release build: ctest, pytest, and the order of the rooms. Runs all of them even if some fail.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0
.venv/bin/python scripts/check_layers.py || failed=1
scripts/run_ctest.sh release "$@" || failed=1
.venv/bin/python -m pytest -q || failed=1
exit $failed
