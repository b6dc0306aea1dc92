# SPDX-License-Identifier: Apache-2.0
"""Messages that are made smaller on their way to viewers: images as JPEG, point clouds with fewer points."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from baton_cli import live

from .image_pixels import COMPRESSED, IMAGE, library, picture_of, with_eight_bits
from .view_errors import ViewError

CLOUD = "sensor_msgs/PointCloud2"


@dataclass(frozen=True)
class Reduced:
    """`type_name`: the type that viewers get. `cdr`: converts a message to the CDR of this type."""

    type_name: str
    cdr: Callable[[Any], bytes]


@dataclass(frozen=True)
class Reduction:
    """`jpeg`: patterns of topics whose images become JPEG of this `quality` (1 to 95). `points`: a cloud keeps at most so many; None: all."""

    jpeg: tuple[str, ...] = ()
    quality: int = 75
    points: int | None = None

    def is_jpeg(self, topic: str) -> bool:
        return any(fnmatchcase(topic, pattern) for pattern in self.jpeg)

    def of(self, topic: str, type_name: str) -> Reduced | None:
        """How the messages of a topic are made smaller; None: they stay as they are."""
        if type_name == IMAGE and self.is_jpeg(topic):
            library("Image")  # raises now if Pillow is missing, not at the first message
            return Reduced(COMPRESSED, lambda message: as_jpeg(message, self.quality))
        if type_name == CLOUD and self.points is not None:
            most = self.points
            return Reduced(CLOUD, lambda message: with_fewer_points(message, most))
        return None


@functools.cache
def _types() -> Any:
    """ROS 2's messages in rosbags, whose codec writes the reduced messages."""
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_HUMBLE)


def _cdr(name: str, header: Any, **fields: Any) -> bytes:
    types = _types().types
    stamp = types["builtin_interfaces/msg/Time"](sec=header.stamp.sec, nanosec=header.stamp.nanosec)
    header = types["std_msgs/msg/Header"](stamp=stamp, frame_id=str(header.frame_id))
    return bytes(_types().serialize_cdr(types[name](header=header, **fields), name))


def jpeg_of(message: Any, quality: int) -> bytes:
    """A sensor_msgs/Image as JPEG. 16 bits and floats are scaled to 8 bits, as `baton image` shows them."""
    picture = picture_of(message)
    file = io.BytesIO()
    (picture if picture.mode == "L" else with_eight_bits(picture)).save(file, "JPEG", quality=quality)
    return file.getvalue()


def as_jpeg(message: Any, quality: int) -> bytes:
    """A sensor_msgs/Image as the CDR of a CompressedImage."""
    data = np.frombuffer(jpeg_of(message, quality), np.uint8)
    return _cdr("sensor_msgs/msg/CompressedImage", message.header, format="jpeg", data=data)


def points_of(message: Any, most: int | None) -> Any:
    """The bytes of the points of a sensor_msgs/PointCloud2, a row for each point. Of a larger cloud `most` points, evenly spaced."""
    width, height, step, row = message.width, message.height, message.point_step, message.row_step
    data = np.asarray(message.data)
    row = row or width * step
    if width * height and (not step or row < width * step or data.size < row * (height - 1) + width * step):
        raise ViewError(f"{width} x {height} points of {step} bytes, {row} bytes a row, are not in {data.size} bytes")
    count = width * height
    if not count:
        return np.empty((0, step), np.uint8)
    rows = np.lib.stride_tricks.as_strided(data, (height, width, step), (row, step, 1), writeable=False)
    if most is None or count <= most:
        return rows.reshape(count, step).copy()
    chosen = np.arange(most) * count // most
    return rows[chosen // width, chosen % width]


def with_fewer_points(message: Any, most: int) -> bytes:
    """A cloud of at most `most` points of a sensor_msgs/PointCloud2, as CDR."""
    points = points_of(message, most)
    whole = len(points) == message.width * message.height
    field = _types().types["sensor_msgs/msg/PointField"]
    return _cdr(
        "sensor_msgs/msg/PointCloud2",
        message.header,
        height=message.height if whole else 1,
        width=message.width if whole else len(points),
        fields=[
            field(name=str(each.name), offset=each.offset, datatype=each.datatype, count=each.count)
            for each in message.fields
        ],
        is_bigendian=bool(message.is_bigendian),
        point_step=message.point_step,
        row_step=(message.width if whole else len(points)) * message.point_step,
        data=np.ascontiguousarray(points).reshape(-1),
        is_dense=bool(message.is_dense),
    )


def reduced_class(reduced: Reduced) -> Any:
    return live.message_class(reduced.type_name)
