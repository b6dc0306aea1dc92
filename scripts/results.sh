#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All results of the documents from one recording of this machine: results.sh [option of `baton perf accept`...]. Takes about an hour and
# a half with all peers (`make peers`); close other programs first. `--resume` continues a recording of the same commit.
set -euo pipefail
cd "$(dirname "$0")/.."
recording=out/results.jsonl.gz
# Rows that fail are results, too: status 1.
.venv/bin/baton perf accept --rounds 6 --out "$recording" "$@" || [ $? -eq 1 ]
.venv/bin/python scripts/make_results.py "$recording"
