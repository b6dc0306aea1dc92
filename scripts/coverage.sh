#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests instrumented and writes out/coverage/index.html; prints the totals.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh coverage
find build/coverage -name '*.gcda' -delete
scripts/run_ctest.sh coverage "$@" || echo "coverage: some tests failed; the report shows what ran"
mkdir -p out/coverage
gcovr --root . --object-directory build/coverage --exclude '.*_test\.cpp' --exclude 'tests/.*' --exclude 'build/.*' \
  --exclude-throw-branches --html-details out/coverage/index.html --print-summary
