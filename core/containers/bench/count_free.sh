#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Instructions per unrelated malloc+free and new+delete, without and with libbaton_heap.so, counted by callgrind (exact, the same on
# every run): count_free.sh [build directory].
set -euo pipefail
build=${1:-build/release}
few=10000 many=110000
instructions() { # <LD_PRELOAD> <what> <rounds>
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --trace-children=yes env LD_PRELOAD="$1" "$build/bin/heap_free_bench" "$2" "$3" 2>&1 |
    sed -n 's/.*Collected : //p' | tail -1
}
for what in free delete; do
  for library in "" "$(realpath "$build")/lib/libbaton_heap.so"; do
    a=$(instructions "$library" $what $few)
    b=$(instructions "$library" $what $many)
    awk -v a="$a" -v b="$b" -v n=$((many - few)) -v what=$what -v with="${library:+with libbaton_heap.so}" \
      'BEGIN { printf "%-6s %-24s %.2f instructions per pair\n", what, with == "" ? "plain" : with, (b - a) / n }'
  done
done
