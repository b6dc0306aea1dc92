#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Style and structure, no tests: order of the rooms, documents, retired words, Python style and types, C++ format and clang-tidy of
# what this branch changes (all files with ALL=1).
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/python scripts/check_layers.py
.venv/bin/python scripts/check_docs.py
.venv/bin/python scripts/check_words.py
.venv/bin/ruff check -q .
.venv/bin/ruff format -q --check . || echo "check: 'ruff format' would change Python files (advice, not an error)"
.venv/bin/mypy --no-error-summary --config-file python/pyproject.toml python/baton
# Without file names, or it would not read python/pyproject.toml.
(cd python && ../.venv/bin/basedpyright --pythonpath ../.venv/bin/python --level error | grep -v '^0 errors' && exit 1 || true)
base=$(git merge-base HEAD origin/main 2>/dev/null || git rev-list --max-parents=0 HEAD | tail -n 1)
mapfile -t files < <(
  if [ -n "${ALL:-}" ]; then git ls-files; else git diff --name-only --diff-filter=AM "$base"; fi |
    grep -E '\.(cpp|hpp)$' || true)
[ ${#files[@]} -eq 0 ] && exit 0
clang-format --dry-run "${files[@]}" 2>&1 | grep -c 'clang-format-violations' |
  sed 's/^/check: places that clang-format would change (advice, not an error): /' || true
if [ -f build/dev/compile_commands.json ]; then
  mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep -E '\.cpp$' || true)
  [ ${#sources[@]} -eq 0 ] || printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build/dev
else
  echo "check: clang-tidy needs compile commands; run scripts/build.sh dev first"
fi
