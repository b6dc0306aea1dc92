#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the raw reports of `baton demo` as a Markdown table: bench_table.py <reports.json>."""

import json
import statistics
import sys
from pathlib import Path


def quantile(values, q):
    ordered = sorted(values)
    return ordered[int(q * (len(ordered) - 1))]


def main():
    steps = json.loads(Path(sys.argv[1]).read_text())
    machine = steps[0]["machine"]
    print(
        f"{machine[0]} {machine[2]}, {machine[4]}; three receivers, latency from 'frame complete' to their callbacks\n"
    )
    print("| frame | transport | median, µs | p99, µs | max, µs | frames |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for step in steps:
        samples = [value for report in step["reports"].values() for value in report.get("latencies_us", [])]
        if samples:
            print(
                f"| {step['size']} | {step['transport']} | {statistics.median(samples):.0f} "
                f"| {quantile(samples, 0.99):.0f} | {max(samples):.0f} | {len(samples)} |"
            )


if __name__ == "__main__":
    main()
