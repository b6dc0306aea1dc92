# SPDX-License-Identifier: Apache-2.0
"""The frames that the demo's camera sends: drawn, or decoded from a film."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from baton_cli import demo_video
from baton_cli.demo_video import FRAME_BYTES, HEIGHT, WIDTH
from click import ClickException

needs_decoder = pytest.mark.skipif(importlib.util.find_spec("av") is None, reason="needs PyAV (make setup)")


def film(path: Path, frames: int) -> Path:
    """Each frame is of one grey, 10 brighter than the frame before."""
    import av

    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=30)
        stream.width, stream.height = 320, 240
        for n in range(frames):
            pixels = np.full((240, 320, 3), 10 + 10 * n, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def test_the_drawn_scene_has_frames_of_the_right_size_and_ends_where_it_begins() -> None:
    frames = list(demo_video.drawn())
    assert len(frames) == demo_video.DRAWN_FRAMES
    assert {(frame.shape, frame.dtype) for frame in frames} == {((HEIGHT, WIDTH, 3), np.dtype(np.uint8))}

    def change(before: np.ndarray, after: np.ndarray) -> float:
        return float(np.mean(np.abs(before.astype(int) - after)))

    steps = [change(before, after) for before, after in zip(frames, frames[1:], strict=False)]
    assert min(steps) > 0
    assert change(frames[-1], frames[0]) <= max(steps)


def test_the_file_starts_over_at_its_end(tmp_path) -> None:
    frames = [np.full((HEIGHT, WIDTH, 3), n, np.uint8) for n in (7, 8, 9)]
    path = tmp_path / "frames"
    assert demo_video.write(iter(frames), path) == 3
    assert path.stat().st_size == 3 * FRAME_BYTES
    assert [set(demo_video.read(path, sequence)) for sequence in (0, 2, 3, 301)] == [{7}, {9}, {7}, {8}]


@needs_decoder
def test_a_film_of_another_size_is_scaled(tmp_path) -> None:
    frames = list(demo_video.decoded(film(tmp_path / "film.mp4", 5)))
    assert [frame.shape for frame in frames] == [(HEIGHT, WIDTH, 3)] * 5
    assert [abs(float(frame.mean()) - (10 + 10 * n)) < 4 for n, frame in enumerate(frames)] == [True] * 5


@needs_decoder
def test_of_a_long_film_the_first_frames_are_kept(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(demo_video, "MOST_FRAMES", 3)
    assert len(list(demo_video.decoded(film(tmp_path / "film.mp4", 9)))) == 3


@needs_decoder
def test_a_file_that_is_no_film_is_named(tmp_path) -> None:
    path = tmp_path / "notes.mp4"
    path.write_text("no film")
    with pytest.raises(ClickException, match="notes.mp4 cannot be decoded"):
        list(demo_video.decoded(path))


def test_a_film_without_a_decoder_is_refused_with_the_way_to_get_one(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(ClickException, match=r"film.mp4 is decoded with PyAV: pip install 'baton-ipc\[view\]'"):
        list(demo_video.decoded(Path("film.mp4")))
