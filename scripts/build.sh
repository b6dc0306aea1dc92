#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures and builds one preset: build.sh <preset> [more arguments of `cmake --build`].
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?usage: scripts/build.sh <preset> [arguments]}
shift
# Clones in different places share the compiler cache. Its manual asks for this sloppiness where a header is precompiled.
# A file that the cache does not have goes to the compiler at once; the headers that it read are in the list that ninja wants anyway.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake --preset "$preset" >"$log" 2>&1; then
  cat "$log" >&2
  echo "build: configuring the preset '$preset' failed; if a package is missing: make setup" >&2
  exit 1
fi
cmake --build --preset "$preset" "$@"
