#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of one built preset, never more jobs than processors: run_ctest.sh <preset> [arguments of ctest].
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?usage: scripts/run_ctest.sh <preset> [arguments]}
shift
# A private runtime directory: tests never meet the user's processes, and leavings are seen.
BATON_RUNTIME_DIR=$(mktemp -d)
export BATON_RUNTIME_DIR
trap 'rm -rf "$BATON_RUNTIME_DIR"' EXIT
ctest --preset "$preset" -j "$(nproc)" --no-tests=error "$@" </dev/null
