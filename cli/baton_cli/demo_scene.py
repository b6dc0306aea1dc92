# SPDX-License-Identifier: Apache-2.0
"""The frames that the demo's camera sends: a scene in which something moves. They are drawn before any process is measured."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

WIDTH, HEIGHT = 640, 360
FRAMES = 120  # the first frame follows the last


@cache
def _floor() -> np.ndarray:
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    depth = HEIGHT / (y + 40.0)
    tiles = (np.floor((x - WIDTH / 2) * depth / 60) + np.floor(depth * 12)) % 2
    return np.stack([60 + 40 * tiles, 70 + 40 * tiles, 85 + 40 * tiles], axis=-1)


def frame(sequence: int) -> np.ndarray:
    """A robot's view of a floor of tiles, over which a ball rolls in a circle; RGB, HEIGHT x WIDTH x 3."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    orange, white = np.array([255, 120, 10]), np.array([250, 250, 240])
    angle = 2 * np.pi * (sequence % FRAMES) / FRAMES
    radius = 45 + 20 * np.sin(angle)
    right = x - WIDTH * (0.5 + 0.33 * np.cos(angle))
    down = y - HEIGHT * (0.52 + 0.25 * np.sin(angle))
    light = np.clip(1.3 - np.hypot(right + radius / 3, down + radius / 3) / (2 * radius), 0.3, 1)
    # The stripes turn, so that every pixel of the ball changes.
    stripes = np.floor((np.arctan2(down, right) + 12 * angle) / (np.pi / 3)) % 2
    ball = light[..., None] * np.where(stripes[..., None], orange, white)
    return np.where((np.hypot(right, down) < radius)[..., None], ball, _floor()).astype(np.uint8)


def write(path: Path) -> None:
    """Writes all frames, one after the other, for the camera's process."""
    with path.open("wb") as file:
        for n in range(FRAMES):
            file.write(frame(n).tobytes())
