#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cross-builds for 64-bit Arm and runs the unit tests under qemu-user; then a project outside of the tree, as docs/guides/deployment.md
# has it: cross-compiled against what is installed, with this machine's generator.
# qemu-user emulates the instruction set, not the kernel: what depends on futex timing or process death is tested on
# real hardware only, so only tests labelled "unit" run.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in aarch64-linux-gnu-g++ qemu-aarch64-static mmdebstrap; do
  if ! command -v $tool >/dev/null; then
    echo "test_aarch64: $tool is missing; run: make setup" >&2
    exit 1
  fi
done
if [ ! -d /usr/src/googletest ]; then
  echo "test_aarch64: /usr/src/googletest is missing (Debian package googletest); run: make setup" >&2
  exit 1
fi
# qemu-user keeps a table entry per page of every mapping, reserved ones too: the default window would take gigabytes.
export BATON_WINDOW=${BATON_WINDOW:-64G}
root=$PWD/build/aarch64-root
.venv/bin/python scripts/debian_root.py sysroot aarch64 "$root" >/dev/null
scripts/build.sh aarch64
# These tests loan more than the default slot of such a window (64 GiB give 1 MiB).
scripts/run_ctest.sh aarch64 --exclude-regex 'TheProgramOfTzcFigure6|AnAllocatedMessageThatIsNeverPublished|PublishInPlace|OwnCopy' "$@"

prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
log=$prefix/log
run() { "$@" >"$log" 2>&1 || { cat "$log" >&2; echo "test_aarch64: failed: $*" >&2; exit 1; }; }
run cmake --build build/aarch64 --target baton_library baton_link_program baton_real_time_check baton_standard_sets
run cmake --install build/aarch64 --prefix "$prefix/baton"
run cmake -G Ninja -S examples/external -B "$prefix/build" --toolchain "$PWD/cmake/toolchains/aarch64-linux-gnu.cmake" \
  -DCMAKE_SYSROOT="$root" \
  -Dbaton_DIR="$prefix/baton/lib/cmake/baton" -DBATON_PYTHON="$PWD/.venv/bin/python"
run cmake --build "$prefix/build"
program=$prefix/build/baton_external
[ "$(od -An -t u2 -j 18 -N 2 "$program" | tr -d ' ')" = 183 ] || { echo "test_aarch64: $program is no aarch64 program" >&2; exit 1; }
said=$(BATON_RUNTIME_DIR=$prefix/run qemu-aarch64-static -L "$root" "$program")
[ "$said" = "took front left with 1000 ticks" ] || { echo "test_aarch64: the cross-compiled project said '$said'" >&2; exit 1; }
echo "test_aarch64: a project that was cross-compiled against the installation runs"
