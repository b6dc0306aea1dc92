#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two cameras in namespaces and a viewer. Ctrl-C, SIGTERM and the end of this script end all.
set -m  # each job is a process group: a loop with its program
trap 'for job in $(jobs -p); do kill -- "-$job"; done; wait' EXIT
trap exit INT TERM

again() { until "$@"; do echo "$1 ended with status $?, and is started again" >&2; sleep 1; done; }

again baton_readme_camera --ros-args -r __ns:=/left &
again baton_readme_camera --ros-args -r __ns:=/right &
baton_readme_viewer --ros-args -r image:=/left/image &
wait
