#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles ordinary uses of vectors with optimisation, and with warnings as errors: gcc 12 warned of code inside of Baton's headers.

Usage: no_false_warnings.py --compiler <c++> <include dir>...
"""

import argparse
import subprocess
import sys

SOURCE = """
#include <cstdint>

#include "baton/sfm/vector.hpp"

struct Point {
  float x, y, z;
};
struct Polygon {
  baton::sfm::Vector<Point> points;
};
struct Bytes {
  baton::sfm::Vector<std::uint8_t> data;
  baton::sfm::Vector<double> values;
};

unsigned long assign_an_own_element() {
  Polygon polygon;
  Point point{1, 2, 3};
  polygon.points.assign(2, point);
  polygon.points.assign(2, polygon.points[0]);
  return polygon.points.size();
}
unsigned long assign_few(std::uint8_t x) {
  Bytes bytes;
  bytes.data.assign(2, x);
  bytes.values.assign(2, x);
  bytes.data.assign(3, bytes.data[0]);
  return bytes.data.size() + bytes.values.size();
}
Bytes assign_and_return(std::uint8_t x) {
  Bytes bytes;
  bytes.data.assign(2, x);
  Bytes other(bytes);
  other.data.assign(2, x);
  return other;
}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("dirs", nargs="+")
    args = parser.parse_args()
    includes = [f"-I{directory}" for directory in args.dirs]
    failed = 0
    for level in ("-O2", "-O3"):
        flags = ["-std=c++17", level, "-Wall", "-Wextra", "-Werror", "-x", "c++", "-", "-S", "-o", "/dev/null"]
        done = subprocess.run([args.compiler, *includes, *flags], input=SOURCE, capture_output=True, text=True)
        if done.returncode != 0:
            failed += 1
            print(f"--- with {level}:\n{done.stderr}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
