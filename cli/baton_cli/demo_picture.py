# SPDX-License-Identifier: Apache-2.0
"""The demo's drawings: one picture of all steps, and an animation of one step, both from the reports of processes that have ended.

Nothing is drawn while a step runs, and no process of a step does anything for a drawing: each keeps only the frame's sequence
number beside the latency that it measured, or the box that it found. The pictures come from the camera's file.

All positions are in units of an 800th of the picture's width, so that text is readable at 390 pixels (a telephone) and at 1600.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

WIDTH = 800
MARGIN = 12
PANEL = (WIDTH - 3 * MARGIN) // 2
INK, QUIET, GRID, PAPER = "#1c2530", "#5b6673", "#dde3ea", "#ffffff"
# Blue and orange: people who see red and green alike tell them apart, and neither says "bad".
COLORS = {"baton": "#0b5fae", "socket": "#b35c00"}
NAMES = {"baton": "Baton: handed over", "socket": "Sockets: serialized"}
BOX = "#ffe14d"
ROW = 36  # of the chart
FORMATS = (".webp", ".gif", ".png")
Pictures = dict[int, Image.Image]  # by the frame's sequence number
LARGEST = 1_000_000  # bytes of an animation that a README shows


@dataclass
class Footage:
    """One step of one transport, by the frame's sequence number: the detector's boxes and the viewer's latencies."""

    boxes: dict[int, tuple[float, float, float, float]]  # x, y, width, height: shares of the frame
    latencies_ms: dict[int, float]
    copies: float  # of the whole payload, per frame, all processes

    @staticmethod
    def of(reports: dict[str, dict], copies: float) -> Footage:
        """From the last reports of a step's processes."""
        viewer, detector = reports["viewer"], reports["detector"]
        width, height = detector["width"], detector["height"]
        boxes = {s: (x / width, y / height, w / width, h / height) for s, x, y, w, h in detector["boxes"]}
        times = zip(viewer["sequences"], viewer["latencies_us"], strict=True)
        return Footage(boxes, {sequence: us / 1000 for sequence, us in times}, copies)

    def shown_at(self, sequence: int) -> int | None:
        """The newest frame that the viewer has when `sequence` is the newest that was sent."""
        return max((s for s in self.latencies_ms if s <= sequence), default=None)


@dataclass(frozen=True)
class Spread:
    """One row of the picture's chart: quantiles of all receivers' latencies of a step, in ms."""

    frame: str
    transport: str
    p1: float
    p25: float
    p50: float
    p75: float
    p99: float


def milliseconds(value: float) -> str:
    """Two significant digits below ten: 0.047 ms, 3.2 ms, 41 ms."""
    if value >= 10:
        return f"{value:.0f} ms"
    digits = max(0, 1 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:.{digits}f} ms"


def decades(values: Sequence[float]) -> list[float]:
    """The powers of ten around the values, at least two."""
    low = math.floor(math.log10(max(min(values), 1e-6)))
    high = max(math.ceil(math.log10(max(max(values), 1e-6))), low + 1)
    return [10.0**power for power in range(low, high + 1)]


def spread_out(places: Sequence[float], distance: float) -> list[float]:
    """The places moved as little down as is needed for no two to be nearer than `distance`; in the order given."""
    moved = list(places)
    last = -math.inf
    for n in sorted(range(len(places)), key=lambda n: places[n]):
        moved[n] = max(places[n], last + distance)
        last = moved[n]
    return moved


class Canvas:
    """An image that is drawn on in the units above."""

    def __init__(self, height: float, scale: float):
        self.scale = scale
        self.image = Image.new("RGB", (round(WIDTH * scale), round(height * scale)), PAPER)
        self.pen = ImageDraw.Draw(self.image)

    def _at(self, *numbers: float) -> list[float]:
        return [number * self.scale for number in numbers]

    def text(
        self, x: float, y: float, words: str, size: float, color: str = INK, anchor: str = "la", bold: bool = False
    ):
        font = ImageFont.load_default(size * self.scale)
        weight = 0.4 * self.scale if bold else 0
        self.pen.text(self._at(x, y), words, fill=color, font=font, anchor=anchor, stroke_width=weight)

    def width_of(self, words: str, size: float) -> float:
        return ImageFont.load_default(size * self.scale).getlength(words) / self.scale

    def line(self, points: Sequence[tuple[float, float]], color: str, width: float = 1):
        flat = [number for point in points for number in self._at(*point)]
        self.pen.line(flat, fill=color, width=max(1, round(width * self.scale)), joint="curve")

    def box(self, x0: float, y0: float, x1: float, y1: float, color: str | None, outline: str | None = None, width=0.0):
        edge = max(1, round(width * self.scale)) if outline else 0
        self.pen.rectangle(self._at(x0, y0, x1, y1), fill=color, outline=outline, width=edge)

    def dot(self, x: float, y: float, radius: float, color: str):
        self.pen.ellipse(self._at(x - radius, y - radius, x + radius, y + radius), fill=color)

    def paste(self, x: float, y: float, width: float, height: float, picture: Image.Image):
        size = (round(width * self.scale), round(height * self.scale))
        self.image.paste(picture.resize(size, Image.Resampling.LANCZOS), tuple(round(n) for n in self._at(x, y)))


def panels(canvas: Canvas, top: float, pictures: Pictures, footage: dict[str, Footage], sequence: int) -> float:
    """Both transports' frames side by side, with the detector's box and the viewer's latency; returns where they end."""
    bottom = top
    for n, (transport, its) in enumerate(footage.items()):
        left = MARGIN + n * (PANEL + MARGIN)
        canvas.text(left, top, f"{NAMES[transport]}, {its.copies:.0f} copies", 23, COLORS[transport], bold=True)
        shown = its.shown_at(sequence)
        if shown is None or shown not in pictures:
            continue  # the frame before is no picture of this moment
        picture = pictures[shown]
        height = PANEL * picture.height / picture.width
        y = top + 36
        canvas.paste(left, y, PANEL, height, picture)
        if shown in its.boxes:
            bx, by, bw, bh = its.boxes[shown]
            corners = (left + bx * PANEL, y + by * height, left + (bx + bw) * PANEL, y + (by + bh) * height)
            canvas.box(*corners, None, "#000000", 5)
            canvas.box(corners[0] + 1, corners[1] + 1, corners[2] - 1, corners[3] - 1, None, BOX, 3)
        words = milliseconds(its.latencies_ms[shown])
        canvas.box(left, y + height - 54, left + canvas.width_of(words, 40) + 24, y + height, COLORS[transport])
        canvas.text(left + 12, y + height - 27, words, 40, "#ffffff", "lm", bold=True)
        bottom = max(bottom, y + height)
    return bottom


def strip(canvas: Canvas, top: float, height: float, footage: dict[str, Footage], upto: int, last: int) -> None:
    """The viewer's latency of every frame until `upto`, on a logarithmic axis in ms."""
    canvas.text(MARGIN, top, "Latency of each frame at the viewer, in ms", 22)
    top, bottom, left, right = top + 44, top + height - 16, 84, WIDTH - 118
    ticks = decades([value for its in footage.values() for value in its.latencies_ms.values()])

    def y_of(value: float) -> float:
        share = math.log(max(value, ticks[0]) / ticks[0]) / math.log(ticks[-1] / ticks[0])
        return bottom - share * (bottom - top)

    for tick in ticks:
        canvas.line([(left, y_of(tick)), (right, y_of(tick))], GRID)
        canvas.text(left - 10, y_of(tick), f"{tick:g}", 20, QUIET, "rm")
    ends = []
    for transport, its in footage.items():
        points = [
            (left + (right - left) * s / max(1, last), y_of(v))
            for s, v in sorted(its.latencies_ms.items())
            if s <= upto
        ]
        if len(points) > 1:
            canvas.line(points, COLORS[transport], 2)
        for point in points:
            canvas.dot(*point, 3, COLORS[transport])
        if points:
            ends.append((transport, points[-1]))
    places = spread_out([point[1] for _, point in ends], 24)
    for (transport, point), place in zip(ends, places, strict=True):
        canvas.text(point[0] + 10, place, NAMES[transport].partition(":")[0], 22, COLORS[transport], "lm", bold=True)


def chart(canvas: Canvas, top: float, rows: Sequence[Spread]) -> None:
    """A row for each step: 1st to 99th percentile, quartiles and median, on a logarithmic axis in ms. Names stand on the left of
    all rows and medians on the right, so that no label meets another."""
    left, right = 290, WIDTH - 130
    bottom = top + ROW * len(rows)
    ticks = decades([value for row in rows for value in (row.p1, row.p99)])

    def x_of(value: float) -> float:
        return left + math.log(max(value, ticks[0]) / ticks[0]) / math.log(ticks[-1] / ticks[0]) * (right - left)

    for tick in ticks:
        canvas.line([(x_of(tick), top), (x_of(tick), bottom)], GRID)
        canvas.text(x_of(tick), bottom + 6, f"{tick:g}" + " ms" * (tick == ticks[-1]), 20, QUIET, "ma")
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
        canvas.text(WIDTH - MARGIN, y, milliseconds(row.p50), 22, color, "rm", bold=True)


def moment(pictures: Pictures, footage: dict[str, Footage]) -> int:
    """The frame for the still picture: one that arrived over all transports, with boxes if there is such a frame, and of these the
    one whose latencies are nearest to the medians."""
    arrived = [s for s in pictures if all(s in its.latencies_ms for its in footage.values())]
    boxed = [s for s in arrived if all(s in its.boxes for its in footage.values())]
    medians = {transport: statistics.median(its.latencies_ms.values()) for transport, its in footage.items()}

    def strangeness(sequence: int) -> float:
        pairs = [(its.latencies_ms[sequence], medians[transport]) for transport, its in footage.items()]
        return sum(abs(math.log(max(value, 1e-6) / max(median, 1e-6))) for value, median in pairs)

    return min(boxed or arrived, key=strangeness) if arrived else next(iter(pictures))


def picture(
    title: str, pictures: Pictures, footage: dict[str, Footage], rows: Sequence[Spread], scale: float = 2
) -> Image.Image:
    """One picture: a frame of both transports, and the latencies of every step."""
    canvas = Canvas(1000, scale)  # cut to its contents below
    canvas.text(MARGIN, 10, title, 25)
    y = panels(canvas, 52, pictures, footage, moment(pictures, footage)) + 22
    canvas.text(MARGIN, y, "Latency: frame complete to the receiver's callback", 25)
    canvas.text(
        MARGIN, y + 34, "line: 1st to 99th percentile; bar: half of all frames; on the right: median", 20, QUIET
    )
    chart(canvas, y + 68, rows)
    height = y + 68 + ROW * len(rows) + 40
    return canvas.image.crop((0, 0, canvas.image.width, round(height * scale)))


def animation(title: str, pictures: Pictures, footage: dict[str, Footage], scale: float = 1) -> list[Image.Image]:
    """A frame for each picture that both viewers had received."""
    last = max(s for its in footage.values() for s in its.latencies_ms)
    frames = []
    for sequence in pictures:
        if all(sequence in its.latencies_ms for its in footage.values()):
            canvas = Canvas(560, scale)
            canvas.text(MARGIN, 10, title, 25)
            bottom = panels(canvas, 52, pictures, footage, sequence)
            strip(canvas, bottom + 14, 560 - bottom - 14, footage, sequence, last)
            frames.append(canvas.image)
    return frames


def save_animation(frames: Sequence[Image.Image], path: Path, frame_ms: float) -> None:
    """Writes WebP, GIF or PNG, by the name's ending; WebP as good as fits into a megabyte. The last frame stays for two seconds."""
    durations = [round(frame_ms)] * (len(frames) - 1) + [2000]

    def save(frames: Sequence[Image.Image], **options) -> None:
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=durations, loop=0, **options)

    if path.suffix == ".webp":
        for quality in (80, 65, 50, 35, 20):
            save(frames, quality=quality, method=4)
            if path.stat().st_size <= LARGEST:
                return
    elif path.suffix == ".gif":
        save([frame.quantize(96) for frame in frames], optimize=True)
    else:
        save(frames)


def spread_of(frame: str, transport: str, values_us: Sequence[float]) -> Spread:
    ordered = sorted(values_us)

    def quantile(q: float) -> float:
        return ordered[round(q * (len(ordered) - 1))] / 1000

    return Spread(frame, transport, *(quantile(q) for q in (0.01, 0.25, 0.5, 0.75, 0.99)))
