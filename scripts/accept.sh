#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The promises about speed and scale, each PASS or FAIL with ratio and spread: accept.sh [criterion...] (`baton perf accept --help`;
# they stand in lab/baton_perf/criteria.toml). Close other programs first: everything is measured against a bare kernel primitive in the same run, but noise widens
# the spread.
set -euo pipefail
cd "$(dirname "$0")/.."
# Criteria that are counted and not timed (allocations, copies, faults, system calls in the steady state) are ordinary tests.
if [ $# -eq 0 ]; then
  scripts/run_ctest.sh lab --label-regex '^count$' --verbose
fi
.venv/bin/baton perf accept "$@"
