#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Half a minute per step of the demo's pipeline, over Baton and serialized over Unix sockets, then the table of README's
# "Measured": bench.sh [options of `baton demo`]. Raw samples and the machine's name land in out/bench/reports.json.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/baton demo --seconds 30 --rate 30 --out out/bench "$@"
.venv/bin/python scripts/bench_table.py out/bench/reports.json
