# SPDX-License-Identifier: Apache-2.0
"""The pixels of sensor_msgs/Image and CompressedImage, as pictures of Pillow. Other processes write the messages, so each size in them is checked."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np

from .bag_errors import BagError, needed

IMAGE, COMPRESSED = "sensor_msgs/Image", "sensor_msgs/CompressedImage"
MOST_PIXELS = 1 << 26  # the most of a compressed image, and of a raw one whose colours are computed, in floats
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
} | {
    f"bayer_{order}{bits}": (f"u{bits // 8}", 1, [0]) for order in ("rggb", "bggr", "gbrg", "grbg") for bits in (8, 16)
}
# Two bytes a pixel: the places of Y, and of U and V in a pair of pixels. yuv422 is uyvy, as in ROS.
_YUV = {"yuv422": (1, 0, 2), "uyvy": (1, 0, 2), "yuv422_yuy2": (0, 1, 3), "yuyv": (0, 1, 3)}
DEPTH_FORMAT = "compressedDepth"  # in the format of a CompressedImage
_DEPTH_HEADER = struct.Struct("<iff")  # of compressed_depth_image_transport: its codec, two numbers of its scale


class ImageError(ValueError):
    """A message that cannot be shown as a picture, with the reason."""


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
    if DEPTH_FORMAT in message.format:
        return _decoded_depth(message)
    picture = _opened(bytes(message.data), message.format, ("JPEG", "PNG"))
    return picture if picture.mode in ("L", "RGB", "RGBA", "I;16") else picture.convert("RGB")


def _opened(data: bytes, form: str, forms: tuple[str, ...]) -> Any:
    images = library("Image")
    try:
        picture = images.open(io.BytesIO(data), formats=forms)
        _check_size(picture.width, picture.height)
        picture.load()
    except (ImageError, MemoryError):
        raise
    except Exception as error:  # Pillow raises errors of many classes for damaged bytes
        raise ImageError(f"the message has no {' or '.join(forms)} ({form!r}): {error}") from None
    return picture


def _check_size(width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise ImageError(f"the picture has {width} x {height} pixels, more than {MOST_PIXELS}")


def _decoded_depth(message: Any) -> Any:
    """The depth of compressed_depth_image_transport: a PNG behind a header. Floats are there as inverse depth."""
    data = bytes(message.data)
    if "rvl" in message.format.lower():
        raise ImageError(
            f"depth in RVL ({message.format!r}) is not shown, only in PNG: set the publisher's format to png"
        )
    if len(data) < _DEPTH_HEADER.size:
        raise ImageError(f"the message has no depth ({message.format!r}): {len(data)} bytes")
    _, scale, offset = _DEPTH_HEADER.unpack_from(data)
    picture = _opened(data[_DEPTH_HEADER.size :], message.format, ("PNG",))
    if not message.format.startswith("32FC1"):
        return picture if picture.mode in ("L", "I;16") else picture.convert("L")
    with np.errstate(all="ignore"):
        inverse = np.asarray(picture).astype(np.float32)
        depth = np.where(inverse == 0, np.nan, np.float32(scale) / (inverse - np.float32(offset)))
    return library("Image").fromarray(_scaled(depth))


def _raw(message: Any) -> Any:
    encoding = message.encoding
    if encoding in _YUV or encoding.startswith("bayer_"):
        _check_size(message.width, message.height)
    if encoding in _YUV:
        return library("Image").fromarray(_of_yuv(pixels_of(message, "u1", 2), *_YUV[encoding]))
    if encoding not in _ENCODINGS:
        there = ", ".join([*_ENCODINGS, *_YUV])
        raise ImageError(f"pictures of encoding {encoding!r} are not shown, only {there}")
    kind, channels, order = _ENCODINGS[encoding]
    pixels = pixels_of(message, kind, channels)[:, :, order]
    if channels == 1:
        pixels = pixels[:, :, 0]
    if encoding.startswith("bayer_"):
        pixels = _of_bayer(pixels if kind == "u1" else pixels >> 8, encoding[6:10])
    return library("Image").fromarray(np.ascontiguousarray(_scaled(pixels) if kind == "f4" else pixels))


def pixels_of(message: Any, kind: str, channels: int) -> Any:
    """A copy of the values, as rows, columns and channels."""
    width, height = message.width, message.height
    value = np.dtype(kind).newbyteorder(">" if message.is_bigendian else "<")
    row = width * channels * value.itemsize
    step = message.step or row
    data = np.asarray(message.data)
    if not row or not height or step < row or data.size < step * (height - 1) + row:
        raise ImageError(
            f"{width} x {height} pixels of {message.encoding}, {step} bytes a row, are not in {data.size} bytes"
        )
    rows = np.lib.stride_tricks.as_strided(data, (height, row), (step, 1), writeable=False)
    pixels = np.ascontiguousarray(rows).view(value).reshape(height, width, channels)
    return pixels.astype(value.newbyteorder("="))


def _of_yuv(pairs: Any, y: int, u: int, v: int) -> Any:
    """RGB of 4:2:2: two pixels share U and V. BT.601 with values from 16 to 235, as OpenCV reads it."""
    height, width = pairs.shape[:2]
    if width % 2:
        raise ImageError(f"4:2:2 has pairs of pixels, and the width is {width}")
    fours = pairs.reshape(height, width // 2, 4).astype(np.float32)
    light = fours[:, :, [y, y + 2]].reshape(height, width) * 1.164 - 16 * 1.164
    blue, red = (np.repeat(fours[:, :, place] - 128, 2, axis=1) for place in (u, v))
    parts = (light + 1.596 * red, light - 0.392 * blue - 0.813 * red, light + 2.017 * blue)
    return np.clip(np.stack(parts, axis=2) + 0.5, 0, 255).astype(np.uint8)


def _of_bayer(values: Any, order: str) -> Any:
    """RGB of a sensor that has one colour a pixel: those that are missing are the mean of the neighbours."""
    planes = []
    for colour in "rgb":
        known = np.zeros(values.shape, np.float32)
        for place in (place for place, letter in enumerate(order) if letter == colour):
            known[place // 2 :: 2, place % 2 :: 2] = 1
        total, weight = _blurred(values * known), _blurred(known)
        planes.append(np.where(known > 0, values, total / np.maximum(weight, 1e-9)))
    return np.clip(np.stack(planes, axis=2) + 0.5, 0, 255).astype(np.uint8)


def _blurred(values: Any) -> Any:
    """The sum of each pixel and its neighbours, weighted 1, 2, 1 in both directions."""
    wide = np.pad(values, 1)
    rows = wide[:-2] + 2 * wide[1:-1] + wide[2:]
    return rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]


def _scaled(values: Any) -> Any:
    """Scales values so that the least finite one is 0 and the greatest one is 255. Values that are not finite become 0."""
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
