#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cross-builds for 64-bit Arm and runs the unit tests under qemu-user.
# qemu-user emulates the instruction set, not the kernel: what depends on futex timing or process death is tested on
# real hardware only, so only tests labelled "unit" run.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in aarch64-linux-gnu-g++ qemu-aarch64-static; do
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
scripts/build.sh aarch64
# Two tests of node/ loan more than the default slot of such a window (64 GiB give 1 MiB).
scripts/run_ctest.sh aarch64 --exclude-regex 'TheProgramOfTzcFigure6|AnAllocatedMessageThatIsNeverPublished' "$@"
