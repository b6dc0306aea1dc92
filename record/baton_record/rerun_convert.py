# SPDX-License-Identifier: Apache-2.0
"""Messages as Rerun's archetypes: images, clouds, transforms, texts, and the numbers of all others. Messages are of other processes: no size in
them is believed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .image_pixels import COMPRESSED, DEPTH_FORMAT, IMAGE, picture_of, pixels_of
from .plot_fields import field, numbers
from .view_errors import ViewError
from .view_reduction import CLOUD, Reduction, jpeg_of, points_of

TRANSFORMS, TEXT = "tf2_msgs/TFMessage", "std_msgs/String"
MOST_NUMBERS = 64  # of a message
_DEPTHS = {"16UC1": 1000.0, "32FC1": 1.0}  # of REP 118: the units of a metre
# By the numbers of sensor_msgs/PointField
_VALUES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}

# The archetypes that are logged for a message, each with its path below the topic.
Logged = Iterator[tuple[str, Any]]


def converter(rerun: Any, topic: str, cls: Any, reduction: Reduction) -> Callable[[Any], Logged] | None:
    """The function that converts messages of a topic; None: Rerun cannot show this type."""
    name = cls._struct.full_name
    if name == IMAGE and reduction.is_jpeg(topic):
        return lambda message: _jpeg(rerun, message, reduction.quality)
    if name in (IMAGE, COMPRESSED):
        return lambda message: _image(rerun, message)
    if name == CLOUD:
        return lambda message: _cloud(rerun, message, reduction.points)
    if name == TRANSFORMS:
        return lambda message: _transforms(rerun, message)
    if name == TEXT:
        return lambda message: iter([("", rerun.TextLog(str(message.data)))])
    fields = [
        field(topic, path, cls._struct) for path in numbers(cls._struct) if "[" not in path and path != "header.stamp"
    ]
    if not fields:
        return None
    return lambda message: _scalars(rerun, fields[:MOST_NUMBERS], message)


def _framed(rerun: Any, message: Any, archetype: Any) -> Logged:
    if frame := str(message.header.frame_id):
        yield "", rerun.CoordinateFrame(frame.lstrip("/"))
    yield "", archetype


def _jpeg(rerun: Any, message: Any, quality: int) -> Logged:
    return iter([("", rerun.EncodedImage(contents=jpeg_of(message, quality), media_type="image/jpeg"))])


def _image(rerun: Any, message: Any) -> Logged:
    if message._struct.full_name == COMPRESSED and DEPTH_FORMAT not in message.format:
        data = bytes(message.data)
        kind = "image/jpeg" if data.startswith(b"\xff\xd8") else "image/png" if data.startswith(b"\x89PNG") else None
        if kind is None:
            raise ViewError(f"the message has no JPEG or PNG ({message.format!r})")
        return iter([("", rerun.EncodedImage(contents=data, media_type=kind))])
    if message._struct.full_name == IMAGE and (metre := _DEPTHS.get(message.encoding)):
        kind = "u2" if message.encoding == "16UC1" else "f4"
        return iter([("", rerun.DepthImage(pixels_of(message, kind, 1)[:, :, 0], meter=metre))])
    picture = np.asarray(picture_of(message))
    if picture.dtype == np.uint16 and message._struct.full_name == COMPRESSED:
        return iter([("", rerun.DepthImage(picture, meter=_DEPTHS["16UC1"]))])
    return iter([("", rerun.Image(picture))])


def _cloud(rerun: Any, message: Any, most: int | None) -> Logged:
    fields = {str(each.name): each for each in message.fields}
    if missing := [name for name in "xyz" if name not in fields]:
        raise ViewError(f"the cloud has no {', '.join(missing)}")
    points = points_of(message, most)
    big = bool(message.is_bigendian)
    positions = np.stack([_column(points, fields[name], big) for name in "xyz"], axis=1).astype(np.float32)
    known = np.isfinite(positions).all(axis=1)
    colours = None
    if colour := fields.get("rgb") or fields.get("rgba"):
        packed = _column(points, colour, big, "u4")
        colours = np.stack([packed >> 16 & 255, packed >> 8 & 255, packed & 255], axis=1).astype(np.uint8)[known]
    return _framed(rerun, message, rerun.Points3D(positions[known], colors=colours))


def _column(points: Any, of: Any, big: bool, as_kind: str | None = None) -> Any:
    """A field of all points."""
    kind = as_kind or _VALUES.get(of.datatype)
    if kind is None:
        raise ViewError(f"field {of.name} has the unknown datatype {of.datatype}")
    value = np.dtype(kind).newbyteorder(">" if big else "<")
    if of.offset + value.itemsize > points.shape[1]:
        raise ViewError(f"field {of.name} lies at {of.offset}, and a point has {points.shape[1]} bytes")
    return np.ascontiguousarray(points[:, of.offset : of.offset + value.itemsize]).view(value)[:, 0]


def _transforms(rerun: Any, message: Any) -> Logged:
    for each in message.transforms:
        move, turn = each.transform.translation, each.transform.rotation
        child, parent = str(each.child_frame_id).lstrip("/"), str(each.header.frame_id).lstrip("/")
        values = [move.x, move.y, move.z, turn.x, turn.y, turn.z, turn.w]
        if child and parent and all(map(math.isfinite, values)):
            yield (
                child,
                rerun.Transform3D(
                    translation=values[:3],
                    quaternion=rerun.Quaternion(xyzw=values[3:]),
                    child_frame=child,
                    parent_frame=parent,
                ),
            )


def _scalars(rerun: Any, fields: list[Any], message: Any) -> Logged:
    for each in fields:
        yield each.path.replace(".", "/"), rerun.Scalars(each.of(message))
