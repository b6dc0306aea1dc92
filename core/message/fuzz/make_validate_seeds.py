# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of validate_fuzz.cpp from the vectors in tests/vectors/sfm: one byte that names the type, then the message."""

import pathlib
import re

ORDER = ["Image", "Header", "PointCloud", "Scalars", "Strings", "Sequences", "Monster", "Empty"]  # kEntries
ROOT = pathlib.Path(__file__).resolve().parents[3]


def main() -> None:
    out = ROOT / "core/message/fuzz/seeds/validate"
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted((ROOT / "tests/vectors/sfm").glob("*.hex")):
        text = path.read_text()
        name = re.search(r"^type: test/(\w+)$", text, re.M).group(1)
        lines = (line.split("#")[0] for line in text.splitlines() if ": " not in line.split("#")[0])
        (out / path.stem).write_bytes(bytes([ORDER.index(name)]) + bytes.fromhex(" ".join(lines)))


if __name__ == "__main__":
    main()
