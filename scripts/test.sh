#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All tests of the release build: ctest, pytest, and the order of the rooms. Runs all of them even if some fail.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0
.venv/bin/python scripts/check_layers.py || failed=1
scripts/run_ctest.sh release "$@" || failed=1
# Where setup installs everything, nothing may be missing.
complete=()
if [ "$(uname -m)" = x86_64 ] && grep -qs '^ID=debian' /etc/os-release; then complete=(--nothing-missing); fi
# Most tests wait for processes, so two run at a time; a file's tests share what they made and stay in one worker.
# What compares delays, or takes another way where messages come late, runs alone.
alone=(tests/hostile ros1/tests/kill_steps_test.py)
.venv/bin/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder "${complete[@]}" "${alone[@]/#/--ignore=}" || failed=1
.venv/bin/python -m pytest -q "${complete[@]}" "${alone[@]}" || failed=1
exit $failed
