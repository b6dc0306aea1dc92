#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The long version of the tests: every fuzzer for ten CPU-minutes (FUZZ_SECONDS), every multi-process test ROUNDS times with
# crash points compiled in, 10,000 random kills of processes that share objects, an hour of rclpy processes with libbaton_heap.so among plain
# ones that are killed (MIX_SECONDS), and all of it once more under the address sanitizer; every attack of the hostile peer at length, the bad
# days of hosts behind a link with longer cuts and more kills, and 1,000 kills of roscpp nodes and their master (ROS1_KILLS), and of nodes with
# types of Baton, 200 programs that `baton migrate` rewrites (MIGRATE_SEEDS), a million kills and disconnections in the swarm (SWARM_KILLS). The
# swarm says every minute how far it is; what it began with (--seed) stands in the first line of a failure.
set -uo pipefail
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-10}
status=0
step() {
  echo "=== $*"
  "$@" || { echo "=== FAILED: $*"; status=1; }
}
step scripts/build.sh dev
step scripts/run_ctest.sh dev --label-regex process --repeat until-fail:"$rounds" --timeout 600
step scripts/sanitize.sh asan-ubsan --label-regex process --repeat until-fail:3 --timeout 600
step scripts/sanitize.sh tsan --repeat until-fail:3
step env BATON_OBJECTS_KILLS=10000 build/dev/bin/objects_process_tests --gtest_filter='*RandomKills*'
step build/dev/bin/model_tests --full
if [ -x ".venv-ros2-$(scripts/ros2_distributions.py --default)/bin/python" ] && [ -e build/dev/lib/libbaton_heap.so ]; then
  step env BATON_BUILD="$PWD/build/dev" nice .venv/bin/python ros2/tests/mix_run.py --seconds "${MIX_SECONDS:-3600}"
fi
step scripts/build.sh release
step env BATON_HOSTILE=long .venv/bin/python -m pytest -q tests/hostile
step env BATON_LONG_TEST=1 .venv/bin/python -m pytest -q -rA link/tests/bad_days_test.py
if [ -x /usr/bin/rosmaster ]; then
  step scripts/build.sh ros1
  step .venv/bin/python ros1/tests/kill_run.py --kills "${ROS1_KILLS:-1000}"
  step .venv/bin/python ros1/tests/kill_run.py --kills "${ROS1_KILLS:-1000}" --kind tzc
  step .venv/bin/python ros1/tests/kill_run.py --kills "${ROS1_KILLS:-1000}" --kind lotros
  step .venv/bin/python ros1/tests/ways_run.py --steps "${ROS1_STEPS:-1000}"
fi
step .venv/bin/python ros1/converter/tests/escapes_run.py --seeds "${MIGRATE_SEEDS:-1-100}"
step build/release/bin/swarm_tests --kills "${SWARM_KILLS:-1000000}"
step scripts/fuzz.sh --each "${FUZZ_SECONDS:-600}"
exit $status
