# SPDX-License-Identifier: Apache-2.0
"""The pixels of sensor_msgs/Image and CompressedImage, as pictures of Pillow. Messages are of other processes: no size in them is believed."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from .bag_errors import BagError, needed

IMAGE, COMPRESSED = "sensor_msgs/Image", "sensor_msgs/CompressedImage"
MOST_PIXELS = 1 << 26  # of a compressed image; of others the message has each pixel
# Of each encoding: the type of a value, the values of a pixel, and their order as red, green, blue, alpha.
_ENCODINGS: dict[str, tuple[str, int, list[int]]] = {
    "rgb8": ("u1", 3, [0, 1, 2]),
    "bgr8": ("u1", 3, [2, 1, 0]),
    "8UC3": ("u1", 3, [2, 1, 0]),
    "rgba8": ("u1", 4, [0, 1, 2, 3]),
    "bgra8": ("u1", 4, [2, 1, 0, 3]),
    "8UC4": ("u1", 4, [2, 1, 0, 3]),
    "mono8": ("u1", 1, [0]),
    "8UC1": ("u1", 1, [0]),
    "mono16": ("u2", 1, [0]),
    "16UC1": ("u2", 1, [0]),
    "32FC1": ("f4", 1, [0]),
}


class ImageError(ValueError):
    """A message that is no picture, with the reason."""


def library(module: str) -> Any:
    """A module of Pillow."""
    try:
        return needed(f"PIL.{module}", "a picture needs", "view")
    except BagError as error:
        raise ImageError(str(error)) from None


def picture_of(message: Any) -> Any:
    """A copy of a message's pixels: 8 bits of gray, RGB or RGBA, or 16 bits of gray. Floats are scaled to 8 bits."""
    return _decoded(message) if message._struct.full_name == COMPRESSED else _raw(message)


def _decoded(message: Any) -> Any:
    images = library("Image")
    try:
        picture = images.open(io.BytesIO(bytes(message.data)), formats=("JPEG", "PNG"))
        if picture.width * picture.height > MOST_PIXELS:
            raise ImageError(f"the picture has {picture.width} x {picture.height} pixels, more than {MOST_PIXELS}")
        picture.load()
    except (OSError, SyntaxError, images.DecompressionBombError) as error:
        raise ImageError(f"the message has no JPEG or PNG ({message.format!r}): {error}") from None
    return picture if picture.mode in ("L", "RGB", "RGBA", "I;16") else picture.convert("RGB")


def _raw(message: Any) -> Any:
    width, height, encoding = message.width, message.height, message.encoding
    if encoding not in _ENCODINGS:
        raise ImageError(f"pictures of encoding {encoding!r} are not shown, only {', '.join(_ENCODINGS)}")
    kind, channels, order = _ENCODINGS[encoding]
    value = np.dtype(kind).newbyteorder(">" if message.is_bigendian else "<")
    row = width * channels * value.itemsize
    step = message.step or row
    data = np.asarray(message.data)
    if not row or not height or step < row or data.size < step * (height - 1) + row:
        raise ImageError(f"{width} x {height} pixels of {encoding}, {step} bytes a row, are not in {data.size} bytes")
    rows = np.lib.stride_tricks.as_strided(data, (height, row), (step, 1), writeable=False)
    pixels = np.ascontiguousarray(rows).view(value).reshape(height, width, channels)[:, :, order]
    pixels = pixels.astype(value.newbyteorder("="))
    if channels == 1:
        pixels = pixels[:, :, 0]
    return library("Image").fromarray(np.ascontiguousarray(_scaled(pixels) if kind == "f4" else pixels))


def _scaled(values: Any) -> Any:
    """From the least finite value, 0, to the greatest, 255. What is not finite is 0."""
    finite = np.isfinite(values)
    least, greatest = (values[finite].min(), values[finite].max()) if finite.any() else (0, 0)
    span = float(greatest) - float(least)
    with np.errstate(invalid="ignore"):
        shares = (values.astype(np.float64) - float(least)) / (span or 1.0)
    return np.where(finite, np.clip(shares * 255 + 0.5, 0, 255), 0).astype(np.uint8)


def with_eight_bits(picture: Any) -> Any:
    """The picture as RGB, for a terminal: 16 bits are scaled, transparent parts are black."""
    if picture.mode == "I;16":
        picture = library("Image").fromarray(_scaled(np.asarray(picture)))
    if picture.mode == "RGBA":
        below = library("Image").new("RGBA", picture.size, (0, 0, 0, 255))
        below.alpha_composite(picture)
        picture = below
    return picture.convert("RGB")
