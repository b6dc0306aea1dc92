#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The papers' figures with every transport that is built here, with the robot, SLAM and ATSA, then one HTML page: bench.sh [options of `baton perf
# experiment`], for example --full in a quiet hour, or -p baton -p zeromq (then without the robot, SLAM and ATSA, which have no such choice).
# Recordings and pictures land in out/perf. The robot and SLAM draw their own pictures; the page has all other recordings.
set -euo pipefail
shopt -s extglob
cd "$(dirname "$0")/.."
.venv/bin/baton perf experiment all "$@" || [ $? -eq 130 ]  # after Ctrl-C: the runs so far
.venv/bin/baton perf report out/perf/!(robot|slam).jsonl.gz
