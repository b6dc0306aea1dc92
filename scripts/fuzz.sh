#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzzer: fuzz.sh <seconds in total> | fuzz.sh --each <CPU seconds per fuzzer>.
# C++ fuzzers are libFuzzer programs in build/fuzz/bin/fuzz, seeded from the test vectors; Python ones are
# <room>/*_fuzz.py that take the number of seconds. New findings land in out/fuzz/<name>/.
set -euo pipefail
cd "$(dirname "$0")/.."
each=""
if [ "${1:-}" = --each ]; then each=${2:?seconds}; else total=${1:-60}; fi

scripts/build.sh fuzz
mapfile -t programs < <(find build/fuzz/bin/fuzz -maxdepth 1 -type f -perm -u+x 2>/dev/null | sort)
mapfile -t scripts < <(git ls-files '*_fuzz.py' | sort)
count=$((${#programs[@]} + ${#scripts[@]}))
if [ "$count" -eq 0 ]; then
  echo "fuzz: no fuzzer was built" >&2
  exit 1
fi
seconds=${each:-$((total / count > 0 ? total / count : 1))}
echo "fuzz: $count fuzzers, $seconds s each"

failed=0
for program in ${programs[@]+"${programs[@]}"}; do
  name=$(basename "$program")
  corpus=out/fuzz/$name/corpus
  mkdir -p "$corpus"
  seeds=()
  if [ -f "$program.seeds" ] && [ -d "$(cat "$program.seeds")" ]; then seeds=("$(cat "$program.seeds")"); fi
  log=out/fuzz/$name/log.txt
  if "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
      -artifact_prefix="out/fuzz/$name/" "$corpus" ${seeds[@]+"${seeds[@]}"} >"$log" 2>&1 </dev/null; then
    runs=$(sed -nE 's/^stat::number_of_executed_units: +//p' "$log")
    covered=$(grep -oE 'cov: [0-9]+' "$log" | tail -n 1 | cut -d' ' -f2)
    edges=$(sed -nE 's/^INFO: Loaded [0-9]+ modules? +\(([0-9]+) inline 8-bit counters.*/\1/p' "$log" | head -n 1)
    echo "PASS $name: ${runs:-?} runs, ${covered:-?} of ${edges:-?} edges covered"
  else
    echo "FAIL $name: see $log"
    tail -n 30 "$log"
    failed=1
  fi
done
for script in ${scripts[@]+"${scripts[@]}"}; do
  if .venv/bin/python "$script" "$seconds" </dev/null; then echo "PASS $script"; else echo "FAIL $script"; failed=1; fi
done
exit $failed
