#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Style and structure, without a build and without tests: order of the rooms, locks (where the release build is configured), documents, retired
# words, format, Python's style and types, the reference (that of Python only where its package is built).
# Runs every check even if one fails. scripts/tidy.sh reads the C++ code with clang-tidy.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0
check() { "$@" || failed=1; }

# Each version formats differently.
format() {
  if ! clang-format --version | grep -q 'version 14\.'; then
    echo "check: C++ format was not checked: it needs clang-format 14, Debian 12's" >&2
    return
  fi
  git ls-files '*.cpp' '*.hpp' ':!generator/golden' | xargs clang-format --dry-run -Werror
}
# The package baton is checked as a build puts it together, of the modules of two rooms.
types=out/types
rm -rf "$types"
mkdir -p "$types/python"
cp pyproject.toml "$types"
cp -r python/baton ros1/rospy/baton "$types/python"
ln -s ../../generator "$types"

check .venv/bin/python scripts/check_layers.py
check .venv/bin/python scripts/check_locks.py
check .venv/bin/python scripts/check_docs.py
check .venv/bin/python scripts/check_figures.py
check .venv/bin/python scripts/check_words.py
check .venv/bin/ruff check -q .
check .venv/bin/ruff format -q --check .
check format
check .venv/bin/mypy --no-error-summary --config-file "$types/pyproject.toml" "$types/python/baton"
check .venv/bin/basedpyright --project "$types" --pythonpath .venv/bin/python --level error
check scripts/api.sh --if-built
exit $failed
