#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The results of ROS 1: docs/results/ros1.md, robot.md and slam.md from recordings of this machine. Needs ROS 1, OpenCV and a release build (`make
# build`), and takes about three quarters of an hour; close other programs first. ros1_results.sh [accept|robot|slam]: only this one.
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=${1:-accept robot slam}
baton=.venv/bin/baton
mkdir -p out
for part in $wanted; do
  case $part in
    accept)
      # Rows that fail are results, too: status 1.
      "$baton" perf accept ros1 --rounds 6 --out out/ros1.jsonl.gz --markdown out/ros1.md || [ $? -eq 1 ]
      scripts/fill_page.py docs/results/ros1.md verdicts out/ros1.md
      ;;
    robot)
      "$baton" perf robot --rounds 6 --load 0 --load 1 --out out/robot.jsonl.gz --markdown out/robot.md \
        --plot docs/results/robot.svg --video docs/results/robot.webp
      scripts/fill_page.py docs/results/robot.md robot out/robot.md
      ;;
    slam)
      "$baton" perf slam --rounds 6 --out out/slam.jsonl.gz --markdown out/slam.md --plot docs/results/slam.svg
      scripts/fill_page.py docs/results/slam.md slam out/slam.md
      ;;
    *)
      echo "usage: ros1_results.sh [accept|robot|slam]" >&2
      exit 2
      ;;
  esac
done
