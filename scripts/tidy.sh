#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over the C++ files that this branch changes (all files with ALL=1), as the preset dev compiles them.
set -euo pipefail
cd "$(dirname "$0")/.."
commands=build/dev/compile_commands.json
[ -f $commands ] || { echo "tidy: needs compile commands; run scripts/build.sh dev first" >&2; exit 1; }
base=$(git merge-base HEAD origin/main 2>/dev/null || git rev-list --max-parents=0 HEAD | tail -n 1)
# Files that are not built on this machine (peers that are not installed) have no commands, and would be read with wrong ones.
mapfile -t files < <(
  comm -12 \
    <(if [ -n "${ALL:-}" ]; then git ls-files; else git diff --name-only --diff-filter=AM "$base"; fi | grep '\.cpp$' | sort) \
    <(python3 -c 'import json, os, sys; [print(os.path.relpath(entry["file"])) for entry in json.load(open(sys.argv[1]))]' $commands | sort -u))
echo "tidy: ${#files[@]} files"
# The commands are gcc's: its own flags are no findings.
[ ${#files[@]} -eq 0 ] || printf '%s\n' "${files[@]}" |
  xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build/dev --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument
