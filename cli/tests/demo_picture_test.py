# SPDX-License-Identifier: Apache-2.0
"""The contents of the demo's picture."""

from baton_cli import demo_picture
from baton_cli.demo_picture import SCALE, DemoCanvas, Sightings, Spread, decades
from baton_cli.demo_steps import RECEIVERS, DemoStep
from PIL import Image

FRAME = Image.new("RGB", (64, 36), (10, 20, 30))


def step(transport: str, latencies_us: list[float], copies: int = 0, size: str = "720p") -> DemoStep:
    """Sightings of a stream of 640 x 360 pixels, whose frames have the numbers 0, 1, 2 and so on, and a box in frame 1."""
    its = {"sequences": list(range(len(latencies_us))), "latencies_us": latencies_us, "copies": 0}
    reports = {role: dict(its) for role in RECEIVERS}
    reports["detector"] |= {"width": 640, "height": 360, "boxes": [[1, 320, 90, 160, 180]]}
    reports["camera"] = {"messages": 1, "copies": copies}
    return DemoStep(size, transport, 30, reports)


def sightings() -> dict[str, Sightings]:
    return {
        "baton": Sightings.of(step("baton", [50, 60, 70, 80])),
        "socket": Sightings.of(step("socket", [5000, 6000, 7000, 8000], 10)),
    }


def words_of(monkeypatch) -> list[str]:
    """All texts that are written on a canvas from now on."""
    written: list[str] = []
    original = DemoCanvas.text

    def text(self, x, y, words, *rest, **named):
        written.append(words)
        original(self, x, y, words, *rest, **named)

    monkeypatch.setattr(DemoCanvas, "text", text)
    return written


def test_a_box_is_drawn_where_the_detector_found_it_whatever_the_size_of_the_picture() -> None:
    assert sightings()["baton"].boxes == {1: (0.5, 0.25, 0.25, 0.5)}
    canvas = DemoCanvas(400)
    demo_picture.panels(canvas, 0, FRAME, sightings(), 1)
    width, height = demo_picture.PANEL, demo_picture.PANEL * 36 / 64
    for left in (demo_picture.MARGIN, 2 * demo_picture.MARGIN + demo_picture.PANEL):
        corner = (round(SCALE * (left + width / 2 + 2)), round(SCALE * (36 + height / 4 + 2)))
        assert canvas.image.getpixel(corner) == (255, 225, 77)


def test_the_latency_in_a_frame_is_the_one_that_the_viewer_measured_for_this_frame(monkeypatch) -> None:
    words = words_of(monkeypatch)
    demo_picture.panels(DemoCanvas(400), 0, FRAME, sightings(), 2)
    assert words == ["Baton: handed over, 0 copies", "0.070 ms", "Sockets: serialized, 10 copies", "7.00 ms"]


def test_a_transport_by_which_no_such_frame_came_has_neither_frame_nor_latency(monkeypatch) -> None:
    its = sightings()
    del its["socket"].latencies_us[2]
    words = words_of(monkeypatch)
    canvas = DemoCanvas(400)
    demo_picture.panels(canvas, 0, FRAME, its, 2)
    assert words[-1] == "Sockets: serialized, 10 copies"
    middles = [SCALE * (demo_picture.MARGIN * n + demo_picture.PANEL * (n - 0.5)) for n in (1, 2)]
    colors = [canvas.image.getpixel((round(middle), SCALE * 100)) for middle in middles]
    assert colors == [(10, 20, 30), (255, 255, 255)]


def test_the_picture_shows_a_frame_with_boxes_that_came_over_both_transports() -> None:
    its = sightings()
    assert demo_picture.moment(its) == 1
    del its["socket"].latencies_us[1]
    its["socket"].boxes = {}
    assert demo_picture.moment(its) == 2, "nearest to the medians 65 and 7000"
    its["socket"].latencies_us = {9: 1.0}
    assert demo_picture.moment(its) == 0, "no frame came over both"


def test_no_two_labels_of_the_picture_overlap(monkeypatch) -> None:
    places: list[tuple[str, tuple[float, float, float, float]]] = []
    original = DemoCanvas.text

    def text(self, x, y, words, size, color=demo_picture.INK, anchor="la", bold=False):
        font = demo_picture.ImageFont.load_default(size * SCALE)
        places.append((words, self.pen.textbbox((x * SCALE, y * SCALE), words, font=font, anchor=anchor)))
        original(self, x, y, words, size, color, anchor, bold)

    monkeypatch.setattr(DemoCanvas, "text", text)
    drawn = demo_picture.picture(
        [
            step(transport, [value * n for n in range(1, 100)], copies, size)
            for size in ("720p", "1080p", "4k")
            for transport, value, copies in (("baton", 1, 0), ("socket", 2_000, 10))
        ]
    )
    assert any(words == "One camera, three receivers: 4k, 24.9 MB a frame, 30 Hz" for words, _ in places)
    for n, (words, one) in enumerate(places):
        assert 0 <= one[0] and one[2] <= drawn.width and one[3] <= drawn.height, words
        for others, other in places[:n]:
            apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            assert apart, f"{words!r} lies on {others!r}"


def test_the_chart_has_the_median_of_each_step_in_ms(monkeypatch) -> None:
    words = words_of(monkeypatch)
    rows = [Spread.of(step("baton", [40, 47, 9000])), Spread.of(step("socket", [3000]))]
    demo_picture.chart(DemoCanvas(400), 0, rows)
    assert "0.047 ms" in words and "3.00 ms" in words and words.count("720p, 2.8 MB") == 1
    assert words[:4] == ["0.01", "0.1", "1", "10 ms"]


def test_the_axis_spans_whole_powers_of_ten() -> None:
    assert decades([0.05, 38]) == [0.01, 0.1, 1, 10, 100]
    assert decades([1, 1]) == [1, 10]
