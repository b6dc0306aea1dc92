#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/results/hand-over.svg, the picture of README.md, from the table of the field in docs/results/measured.md.
tests/house/documents_match_test.py says when it is to be run again."""

import math
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PICTURE = "docs/results/measured.md", "docs/results/hand-over.svg"
SHOWN = {  # row of the table: (label, colour)
    "**Baton**": ("Baton", "#0b5fae"),
    "iceoryx2, event": ("iceoryx2", "#4a9a6f"),
    "zenoh, shm": ("Zenoh, shared memory", "#8a63b8"),
    "fastdds, data_sharing": ("Fast DDS, data sharing", "#c08a1e"),
    "unix_socket": ("Unix socket", "#7a7a7a"),
    "roscpp, tcpros": ("roscpp, TCPROS", "#b8554b"),
    "ros2, default": ("ROS 2, default RMW", "#5b4a42"),
}
WIDTH, HEIGHT = 760, 380
LEFT, RIGHT, TOP, BOTTOM = 70, 580, 50, 330
LOWEST, HIGHEST = 1, 100_000  # microseconds


def medians(page):
    """{row: {size: microseconds}} for one subscriber."""
    lines = page[page.index("| | 64 B, 1 |") :].splitlines()
    table = []
    for line in lines:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line[1:-1].split("|")])
    columns = {i: re.sub(r", 1$", "", name) for i, name in enumerate(table[0]) if name.endswith(", 1")}
    return {row[0]: {size: float(row[i]) for i, size in columns.items()} for row in table[2:]}


def height_of(microseconds):
    share = math.log(microseconds / LOWEST) / math.log(HIGHEST / LOWEST)
    return round(BOTTOM - share * (BOTTOM - TOP), 1)


def labels_at(heights, distance):
    """The heights, from the lowest place of the page to the highest, each moved up until it keeps the distance from the one before."""
    moved = []
    for height in heights:
        moved.append(min(height, moved[-1] - distance) if moved else height)
    return moved


def draw(page):
    rows = medians(page)
    sizes = list(rows["**Baton**"])
    places = [round(LEFT + i * (RIGHT - LEFT) / (len(sizes) - 1), 1) for i in range(len(sizes))]
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="26" font-size="15">Median hand-over to one sleeping subscriber, microseconds</text>',
    ]
    for power in range(int(math.log10(HIGHEST / LOWEST)) + 1):
        value = LOWEST * 10**power
        y = height_of(value)
        out.append(f'<path d="M{LEFT} {y}H{RIGHT}" stroke="#e2e2e2"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end" fill="#555555">{value:,}</text>')
    for x, size in zip(places, sizes, strict=True):
        out.append(f'<text x="{x}" y="{BOTTOM + 22}" text-anchor="middle" fill="#555555">{size}</text>')
    out.append(
        f'<text x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 42}" text-anchor="middle" fill="#555555">message size</text>'
    )
    ends = sorted(SHOWN, key=lambda name: rows[name][sizes[-1]])
    labels = dict(zip(ends, labels_at([height_of(rows[name][sizes[-1]]) for name in ends], 17), strict=True))
    for name, (label, colour) in SHOWN.items():
        points = [(x, height_of(rows[name][size])) for x, size in zip(places, sizes, strict=True)]
        line = " ".join(f"{x},{y}" for x, y in points)
        bold = 3 if name == "**Baton**" else 1.6
        weight = ' font-weight="bold"' if name == "**Baton**" else ""
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="{bold}"/>')
        out += [f'<circle cx="{x}" cy="{y}" r="{bold}" fill="{colour}"/>' for x, y in points]
        out.append(f'<text x="{RIGHT + 10}" y="{labels[name] + 4}" fill="{colour}"{weight}>{label}</text>')
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    (ROOT / PICTURE).write_text(draw((ROOT / RESULTS).read_text()))
