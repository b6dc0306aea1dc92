# SPDX-License-Identifier: Apache-2.0
"""What the demo's drawings show."""

import io

import pytest
from baton_cli import demo_picture
from baton_cli.demo_picture import COLORS, Canvas, Footage, decades, milliseconds, spread_of, spread_out
from PIL import Image

SIZE = (64, 36)


def reports(latencies_us: list[float]) -> dict[str, dict]:
    """Of a stream of 640 x 360 pixels, whose frames have the numbers 0, 1, 2 and so on, and a box in frame 1."""
    return {
        "viewer": {"sequences": list(range(len(latencies_us))), "latencies_us": latencies_us},
        "detector": {"width": 640, "height": 360, "boxes": [[1, 320, 90, 160, 180]]},
    }


def footage() -> dict[str, Footage]:
    return {
        "baton": Footage.of(reports([50, 60, 70, 80]), 0),
        "socket": Footage.of(reports([5000, 6000, 7000, 8000]), 10),
    }


def pictures() -> demo_picture.Pictures:
    return {n: Image.new("RGB", SIZE, (10, 20 * n, 30)) for n in range(4)}


def words_of(monkeypatch) -> list[str]:
    """All texts that are written on a canvas from now on."""
    written: list[str] = []
    original = Canvas.text

    def text(self, x, y, words, *rest, **named):
        written.append(words)
        original(self, x, y, words, *rest, **named)

    monkeypatch.setattr(Canvas, "text", text)
    return written


def test_a_box_is_drawn_where_the_detector_found_it_whatever_the_size_of_the_picture() -> None:
    assert footage()["baton"].boxes == {1: (0.5, 0.25, 0.25, 0.5)}
    canvas = Canvas(400, 1)
    demo_picture.panels(canvas, 0, pictures(), footage(), 1)
    width, height = demo_picture.PANEL, demo_picture.PANEL * 36 / 64
    for left in (demo_picture.MARGIN, 2 * demo_picture.MARGIN + demo_picture.PANEL):
        corner = (round(left + width / 2) + 2, round(36 + height / 4) + 2)
        assert canvas.image.getpixel(corner) == (255, 225, 77)


def test_the_latency_in_a_frame_is_the_one_that_the_viewer_measured_for_this_frame(monkeypatch) -> None:
    words = words_of(monkeypatch)
    demo_picture.panels(Canvas(400, 1), 0, pictures(), footage(), 2)
    assert words == ["Baton: handed over, 0 copies", "0.070 ms", "Sockets: serialized, 10 copies", "7.0 ms"]


def test_a_viewer_that_has_not_got_a_frame_shows_an_older_one_with_its_own_latency(monkeypatch) -> None:
    its = footage()
    del its["socket"].latencies_ms[2]
    words = words_of(monkeypatch)
    demo_picture.panels(Canvas(400, 1), 0, pictures(), its, 2)
    assert words[-1] == "6.0 ms"


def test_the_still_picture_shows_a_frame_with_boxes_that_came_over_both_transports() -> None:
    its = footage()
    assert demo_picture.moment(pictures(), its) == 1
    del its["socket"].latencies_ms[1]
    its["socket"].boxes = {}
    assert demo_picture.moment(pictures(), its) == 2, "nearest to the medians 65 and 7000"


@pytest.mark.parametrize("scale", [1, 2])
def test_no_two_labels_of_the_picture_overlap(monkeypatch, scale) -> None:
    places: list[tuple[str, tuple[float, float, float, float]]] = []
    original = Canvas.text

    def text(self, x, y, words, size, color=demo_picture.INK, anchor="la", bold=False):
        font = demo_picture.ImageFont.load_default(size * self.scale)
        places.append((words, self.pen.textbbox((x * self.scale, y * self.scale), words, font=font, anchor=anchor)))
        original(self, x, y, words, size, color, anchor, bold)

    monkeypatch.setattr(Canvas, "text", text)
    rows = [
        spread_of(frame, transport, [value * n for n in range(1, 100)])
        for frame in ("720p, 2.8 MB", "1080p, 6.2 MB", "4k, 24.9 MB")
        for transport, value in (("baton", 1), ("socket", 2_000))
    ]
    drawn = demo_picture.picture(
        "One camera, three receivers: 1080p, 24.9 MB a frame, 30 Hz", pictures(), footage(), rows, scale
    )
    for n, (words, one) in enumerate(places):
        assert 0 <= one[0] and one[2] <= drawn.width and one[3] <= drawn.height, words
        for others, other in places[:n]:
            apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            assert apart, f"{words!r} lies on {others!r}"


def test_the_chart_has_the_median_of_each_step_in_ms(monkeypatch) -> None:
    words = words_of(monkeypatch)
    demo_picture.chart(
        Canvas(400, 1), 0, [spread_of("720p", "baton", [40, 47, 9000]), spread_of("720p", "socket", [3000])]
    )
    assert "0.047 ms" in words and "3.0 ms" in words and words.count("720p") == 1


def test_labels_of_lines_that_end_side_by_side_are_moved_apart() -> None:
    assert spread_out([100, 10, 105], 24) == [100, 10, 124]


def test_the_axis_spans_whole_powers_of_ten() -> None:
    assert decades([0.05, 38]) == [0.01, 0.1, 1, 10, 100]
    assert decades([1, 1]) == [1, 10]


def test_milliseconds_have_two_significant_digits() -> None:
    assert [milliseconds(v) for v in (0, 0.0471, 0.47, 3.21, 41.7, 190.2)] == [
        "0 ms", "0.047 ms", "0.47 ms", "3.2 ms", "42 ms", "190 ms",
    ]  # fmt: skip


@pytest.mark.parametrize("ending", demo_picture.FORMATS)
def test_an_animation_can_be_read_again_in_each_format(tmp_path, ending) -> None:
    frames = demo_picture.animation("title", pictures(), footage())
    assert len(frames) == 4
    path = tmp_path / f"demo{ending}"
    demo_picture.save_animation(frames, path, 125)
    with Image.open(io.BytesIO(path.read_bytes())) as read:
        assert read.n_frames == 4 and read.size == frames[0].size


def test_an_animation_shows_only_latencies_up_to_its_frame() -> None:
    first, *_, last = demo_picture.animation("title", pictures(), footage())
    blue = tuple(int(COLORS["baton"][n : n + 2], 16) for n in (1, 3, 5))
    below = [image.crop((150, 330, 640, 560)).getcolors(1 << 20) for image in (first, last)]
    counts = [sum(count for count, color in colors if color == blue) for colors in below]
    assert counts[0] < counts[1]
