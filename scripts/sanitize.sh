#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the tests under sanitizers: sanitize.sh asan-ubsan|asan-ros1|tsan [--rooms | arguments of ctest]. With --rooms only the
# unit tests of the rooms with shared memory or threads, as `.ci/run` does; without it also Python and the RMW, with asan-ros1 also ROS 1.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?usage: scripts/sanitize.sh asan-ubsan|asan-ros1|tsan [--rooms]}
shift
rooms=
if [ "${1:-}" = --rooms ]; then
  rooms=1
  shift
  set -- --label-regex '^unit$' --tests-regex '^(os|memory|transport|node|objects|containers|heap|link)_' "$@"
fi
export ASAN_OPTIONS="detect_leaks=1:abort_on_error=0:detect_stack_use_after_return=1:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1:${UBSAN_OPTIONS:-}"
export TSAN_OPTIONS="halt_on_error=0:exitcode=66:second_deadlock_stack=1:suppressions=$PWD/scripts/tsan.supp:${TSAN_OPTIONS:-}"
if [ -n "$rooms" ]; then
  scripts/build.sh "$preset" --target unit_tests_of_rooms
else
  scripts/build.sh "$preset"
fi
# Tests that count (allocations, faults, system calls) run in the release build: sanitizers add their own.
run=(scripts/run_ctest.sh "$preset" --label-exclude '^count$' "$@")
# In the gate a test that fails is tried again, as all of its tests are.
[ -z "$rooms" ] || run=(scripts/run_tests.py ctest "$preset" -j "$(nproc)" --label-exclude '^count$' "$@")
# gcc 12's thread sanitizer does not know the address randomization of kernels from 6.6 on ("unexpected memory mapping").
if [ "$preset" = tsan ] && setarch -R true 2>/dev/null; then
  run=(setarch -R "${run[@]}")
fi
"${run[@]}"

case $preset in asan-*) [ -z "$rooms" ] || exit 0 ;; *) exit 0 ;; esac
runtimes="$(c++ -print-file-name=libasan.so) $(c++ -print-file-name=libubsan.so)"
export BATON_BUILD="$PWD/build/$preset"
pytest=(.venv/bin/python -m pytest -q -n 2 --dist loadfile)

# The Python extension, in an interpreter that is not instrumented: the runtimes go first. rclpy's libraries are not ours to test, and
# type checkers do not run the extension.
if compgen -G "build/$preset/python/baton/_core*.so" >/dev/null; then
  LD_PRELOAD="$runtimes" ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" PYTHONMALLOC=malloc \
    "${pytest[@]}" python/tests ros1/rospy/tests \
      --ignore=python/tests/rclpy_test.py --ignore=python/tests/rclpy_views_test.py --ignore=python/tests/stubs_test.py
fi

# Programs of roscpp with types of Baton, and instrumented stock ones beside them. What roscpp leaks at its end is not ours. Without tests that
# build a project with this build's libraries, load an instrumented library into a stock program, or compare names of symbols.
if [ -x "build/$preset/bin/ros1_api_ends" ] && [ -x /usr/bin/rosmaster ]; then
  BATON_SANITIZER_RUNTIMES=${runtimes/ /:} ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" \
    "${pytest[@]}" ros1/tests/api_test.py ros1/tests/tzc_test.py \
    ros1/tests/conformance_test.py ros1/tests/lies_test.py ros1/tests/recompiled_test.py \
    ros1/tests/recompiled_actionlib_test.py ros1/tests/recompiled_tf_test.py ros1/tests/recompiled_camera_info_test.py \
    ros1/tests/recompiled_same_test.py ros1/tests/recompiled_cloud_test.py \
    --deselect ros1/tests/api_test.py::test_the_example_builds_outside_of_the_tree_and_talks_to_stock_programs \
    --deselect ros1/tests/recompiled_tf_test.py::test_a_program_of_tf2_builds_outside_of_the_tree_and_meets_stock_programs \
    --deselect ros1/tests/recompiled_test.py::test_recompiled_nodelets_of_a_stock_manager_pass_every_message_to_each_other_and_to_other_processes \
    --deselect ros1/tests/recompiled_same_test.py::test_programs_share_with_stock_libraries_only_names_without_messages
fi

# The RMW, in C++ programs over rcl, whose libraries are not instrumented. What would start rclpy is skipped. With sanitizers it is built
# for the default distribution only.
if compgen -G "build/$preset/lib/*/librmw_baton_cpp.so" >/dev/null; then
  BATON_SANITIZER_RUNTIMES=${runtimes/ /:} \
    "${pytest[@]}" ros2/tests/loans_test.py ros2/tests/rcl_test.py
fi
