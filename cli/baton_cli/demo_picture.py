# SPDX-License-Identifier: Apache-2.0
"""The demo's picture: a frame that both transports carried, and the latencies of all steps, from the reports of processes that have ended.

No process of a step does anything for the picture: each keeps only the frame's sequence number beside the latency that it measured, or the
box that it found. The frame is drawn again.

All positions are in units of an 800th of the picture's width, so that text is readable at 390 pixels (a telephone) and at 1600.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from . import demo_scene
from .demo_steps import TRANSPORTS, DemoStep, milliseconds

WIDTH = 800
SCALE = 2  # pixels of a unit
MARGIN = 12
PANEL = (WIDTH - 3 * MARGIN) // 2
INK, QUIET, GRID, PAPER = "#1c2530", "#5b6673", "#dde3ea", "#ffffff"
# Blue and orange: people who are blind to red and green can tell these two apart, and neither colour means "bad".
COLORS = {"baton": "#0b5fae", "socket": "#b35c00"}
NAMES = {"baton": "Baton: handed over", "socket": "Sockets: serialized"}
BOX = "#ffe14d"
ROW = 36  # of the chart


@dataclass
class Sightings:
    """The arrivals of one step, by the frame's sequence number: the detector's boxes and the viewer's latencies."""

    boxes: dict[int, tuple[float, float, float, float]]  # x, y, width, height: shares of the frame
    latencies_us: dict[int, float]
    copies: float  # copies of the whole payload per frame, in all processes together

    @staticmethod
    def of(step: DemoStep) -> Sightings:
        """The sightings in the last reports of the step's processes."""
        viewer, detector = step.reports["viewer"], step.reports["detector"]
        width, height = detector["width"], detector["height"]
        boxes = {s: (x / width, y / height, w / width, h / height) for s, x, y, w, h in detector["boxes"]}
        latencies = dict(zip(viewer["sequences"], viewer["latencies_us"], strict=True))
        return Sightings(boxes, latencies, step.copies_per_message())


@dataclass(frozen=True)
class Spread:
    """One row of the picture's chart: quantiles of all receivers' latencies of a step, in µs."""

    frame: str
    transport: str
    p1: float
    p25: float
    p50: float
    p75: float
    p99: float

    @staticmethod
    def of(step: DemoStep) -> Spread:
        ordered = sorted(value for report in step.receivers() for value in report["latencies_us"])
        quantiles = (ordered[round(q * (len(ordered) - 1))] for q in (0.01, 0.25, 0.5, 0.75, 0.99))
        return Spread(step.frame(), step.transport, *quantiles)


def decades(values: Sequence[float]) -> list[float]:
    """The powers of ten around the values, at least two."""
    low = math.floor(math.log10(max(min(values), 1e-6)))
    high = max(math.ceil(math.log10(max(max(values), 1e-6))), low + 1)
    return [10.0**power for power in range(low, high + 1)]


class DemoCanvas:
    """An image with drawing functions in the units above."""

    def __init__(self, height: float):
        self.image = Image.new("RGB", (WIDTH * SCALE, round(height * SCALE)), PAPER)
        self.pen = ImageDraw.Draw(self.image)

    def _at(self, *numbers: float) -> list[float]:
        return [number * SCALE for number in numbers]

    def text(
        self, x: float, y: float, words: str, size: float, color: str = INK, anchor: str = "la", bold: bool = False
    ):
        font = ImageFont.load_default(size * SCALE)
        weight = 0.4 * SCALE if bold else 0
        self.pen.text(self._at(x, y), words, fill=color, font=font, anchor=anchor, stroke_width=weight)

    def width_of(self, words: str, size: float) -> float:
        return ImageFont.load_default(size * SCALE).getlength(words) / SCALE

    def line(self, points: Sequence[tuple[float, float]], color: str, width: float = 1):
        flat = [number for point in points for number in self._at(*point)]
        self.pen.line(flat, fill=color, width=round(width * SCALE))

    def box(self, x0: float, y0: float, x1: float, y1: float, color: str | None, outline: str | None = None, width=0.0):
        edge = round(width * SCALE)
        self.pen.rectangle(self._at(x0, y0, x1, y1), fill=color, outline=outline, width=edge)

    def paste(self, x: float, y: float, width: float, height: float, picture: Image.Image):
        size = (round(width * SCALE), round(height * SCALE))
        self.image.paste(picture.resize(size, Image.Resampling.LANCZOS), tuple(round(n) for n in self._at(x, y)))


def panels(canvas: DemoCanvas, top: float, frame: Image.Image, seen: dict[str, Sightings], sequence: int) -> float:
    """The frame over each transport, side by side, with the detector's box and the viewer's latency. Returns the lower edge."""
    y, height = top + 36, PANEL * frame.height / frame.width
    for n, (transport, its) in enumerate(seen.items()):
        left = MARGIN + n * (PANEL + MARGIN)
        canvas.text(left, top, f"{NAMES[transport]}, {its.copies:.0f} copies", 23, COLORS[transport], bold=True)
        if sequence not in its.latencies_us:
            continue
        canvas.paste(left, y, PANEL, height, frame)
        if sequence in its.boxes:
            bx, by, bw, bh = its.boxes[sequence]
            corners = (left + bx * PANEL, y + by * height, left + (bx + bw) * PANEL, y + (by + bh) * height)
            canvas.box(*corners, None, "#000000", 5)
            canvas.box(corners[0] + 1, corners[1] + 1, corners[2] - 1, corners[3] - 1, None, BOX, 3)
        words = milliseconds(its.latencies_us[sequence]) + " ms"
        canvas.box(left, y + height - 54, left + canvas.width_of(words, 40) + 24, y + height, COLORS[transport])
        canvas.text(left + 12, y + height - 27, words, 40, "#ffffff", "lm", bold=True)
    return y + height


def chart(canvas: DemoCanvas, top: float, rows: Sequence[Spread]) -> None:
    """A row for each step: 1st to 99th percentile, quartiles and median, on a logarithmic axis in ms. Names stand on the left of
    all rows and medians on the right, so that no label meets another."""
    left, right = 290, WIDTH - 130
    bottom = top + ROW * len(rows)
    ticks = decades([value for row in rows for value in (row.p1, row.p99)])

    def x_of(value: float) -> float:
        return left + math.log(max(value, ticks[0]) / ticks[0]) / math.log(ticks[-1] / ticks[0]) * (right - left)

    for tick in ticks:
        canvas.line([(x_of(tick), top), (x_of(tick), bottom)], GRID)
        canvas.text(x_of(tick), bottom + 6, f"{tick / 1000:g}" + " ms" * (tick == ticks[-1]), 20, QUIET, "ma")
    named = None
    for n, row in enumerate(rows):
        y = top + ROW * (n + 0.5)
        if row.frame != named:
            if named is not None:
                canvas.line([(MARGIN, y - ROW / 2), (WIDTH - MARGIN, y - ROW / 2)], GRID)
            canvas.text(MARGIN, y, row.frame, 22, INK, "lm")
            named = row.frame
        color = COLORS[row.transport]
        canvas.text(left - 16, y, NAMES[row.transport].partition(":")[0], 22, color, "rm", bold=True)
        canvas.line([(x_of(row.p1), y), (x_of(row.p99), y)], color, 2)
        canvas.box(x_of(row.p25), y - 9, max(x_of(row.p75), x_of(row.p25) + 2), y + 9, color)
        canvas.box(x_of(row.p50) - 1.5, y - 9, x_of(row.p50) + 1.5, y + 9, PAPER, color, 0.5)
        canvas.text(WIDTH - MARGIN, y, milliseconds(row.p50) + " ms", 22, color, "rm", bold=True)


def moment(seen: dict[str, Sightings]) -> int:
    """The number of the frame for the picture. It arrived over all transports, with boxes if there is such a frame. Of several, it is the
    frame whose latencies are nearest to the medians. If no frame arrived over all transports, it is the first."""
    arrived = set.intersection(*(set(its.latencies_us) for its in seen.values()))
    boxed = [s for s in arrived if all(s in its.boxes for its in seen.values())]
    medians = {transport: statistics.median(its.latencies_us.values()) for transport, its in seen.items()}

    def strangeness(sequence: int) -> float:
        pairs = [(its.latencies_us[sequence], medians[transport]) for transport, its in seen.items()]
        return sum(abs(math.log(max(value, 1e-3) / max(median, 1e-3))) for value, median in pairs)

    return min(boxed or arrived, key=strangeness, default=0)


def picture(steps: list[DemoStep]) -> Image.Image:
    """A frame of the last size over each transport, and the latencies of every step."""
    pair = steps[-len(TRANSPORTS) :]
    seen = {step.transport: Sightings.of(step) for step in pair}
    sequence = moment(seen)
    canvas = DemoCanvas(1000)  # cut to its contents below
    canvas.text(MARGIN, 10, f"One camera, three receivers: {pair[0].frame()} a frame, {pair[0].rate:g} Hz", 25)
    y = panels(canvas, 52, Image.fromarray(demo_scene.frame(sequence)), seen, sequence) + 22
    canvas.text(MARGIN, y, "Latency: frame complete to the receiver's callback", 25)
    canvas.text(
        MARGIN, y + 34, "line: 1st to 99th percentile; bar: half of all frames; on the right: median", 20, QUIET
    )
    chart(canvas, y + 68, [Spread.of(step) for step in steps])
    height = y + 68 + ROW * len(steps) + 40
    return canvas.image.crop((0, 0, canvas.image.width, round(height * SCALE)))
