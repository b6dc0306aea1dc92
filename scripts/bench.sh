#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The papers' experiments with every transport that is built here, then one HTML page: bench.sh [options of `baton perf
# experiment`], for example --full in a quiet hour, or -p baton -p zeromq. Recordings land in out/perf.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/baton perf experiment all "$@" || [ $? -eq 130 ]  # after Ctrl-C: what was measured
.venv/bin/baton perf report out/perf/*.jsonl.gz
