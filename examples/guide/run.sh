#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh <program> <output>: fails unless the program, in a domain of its own, ends well and prints exactly that.
set -euo pipefail
BATON_RUNTIME_DIR=$(mktemp -d)
export BATON_RUNTIME_DIR
trap 'rm -rf "$BATON_RUNTIME_DIR"' EXIT
said=$("$1")
expected=$(printf '%b' "$2")
if [ "$said" != "$expected" ]; then
  printf 'expected:\n%s\nsaid:\n%s\n' "$expected" "$said" >&2
  exit 1
fi
