#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two cameras in namespaces and a viewer, a pane each. A second call of this script shows them again.
if ! tmux has-session -t robot 2>/dev/null; then
  tmux new-session -d -s robot 'baton_readme_camera --ros-args -r __ns:=/left'
  tmux set-option -t robot remain-on-exit on  # the last lines of a program that ended stay to be read
  tmux split-window -t robot 'baton_readme_camera --ros-args -r __ns:=/right'
  tmux split-window -t robot 'baton_readme_viewer --ros-args -r image:=/left/image'
  tmux select-layout -t robot even-vertical
  tmux set-option -t robot synchronize-panes on  # a key goes to all panes: one Ctrl-C ends all
fi
[ -t 1 ] && exec tmux attach -t robot
