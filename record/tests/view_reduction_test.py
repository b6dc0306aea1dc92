# SPDX-License-Identifier: Apache-2.0
"""`baton view`: images that are sent as JPEG, and clouds with fewer points."""

from __future__ import annotations

import io

import baton
import numpy as np
import pytest
from baton_record.image_pixels import ImageError
from baton_record.view_errors import ViewError
from baton_record.view_reduction import Reduction, as_jpeg, with_fewer_points
from mcap.records import Schema
from mcap_ros2.decoder import DecoderFactory
from PIL import Image
from support.build import needs_package
from support.waiting import until
from view_client import Viewer, shown
from view_messages import cloud, image

pytestmark = needs_package()
PIXELS = np.full((16, 24, 3), 200, np.uint8)
LATCHED = baton.QoS(1, durability="transient_local")


def decoded(type_name, cdr):
    cls = baton.message(type_name)
    from baton_record.view_schemas import ros2_name, ros2_schema

    schema = Schema(1, ros2_schema(cls._struct).encode(), "ros2msg", ros2_name(type_name))
    return DecoderFactory().decoder_for("cdr", schema)(cdr)


def numbers(cdr):
    message = decoded("sensor_msgs/PointCloud2", cdr)
    points = np.frombuffer(bytes(message.data), np.dtype([("x", "<f4"), ("intensity", "<u2"), ("filler", "<u2")]))
    assert len(points) == message.width * message.height
    assert message.row_step == message.width * message.point_step
    assert [(each.name, each.offset, each.datatype, each.count) for each in message.fields] == [
        ("x", 0, 7, 1),
        ("y", 0, 7, 1),
        ("z", 0, 7, 1),
        ("intensity", 4, 4, 1),
    ]
    assert (message.header.frame_id, message.header.stamp.sec, message.header.stamp.nanosec) == ("lidar", 5, 6)
    assert list(points["x"]) == list(points["intensity"])
    return (message.height, message.width), list(points["intensity"])


@pytest.mark.parametrize("pad", [0, 3])
def test_a_cloud_has_points_that_lie_evenly_in_its_order(pad):
    message = baton.message("sensor_msgs/PointCloud2")(cloud(3, 4, pad))
    assert numbers(with_fewer_points(message, 100)) == ((3, 4), list(range(12)))
    assert numbers(with_fewer_points(message, 12)) == ((3, 4), list(range(12)))
    assert numbers(with_fewer_points(message, 4)) == ((1, 4), [0, 3, 6, 9])
    assert numbers(with_fewer_points(message, 5)) == ((1, 5), [0, 2, 4, 7, 9])
    assert numbers(with_fewer_points(message, 1)) == ((1, 1), [0])
    empty = baton.message("sensor_msgs/PointCloud2")(cloud(1, 0))
    assert numbers(with_fewer_points(empty, 5)) == ((1, 0), [])


@pytest.mark.parametrize(
    "lie", [{"height": 4}, {"width": 5}, {"point_step": 0}, {"row_step": 31}, {"width": 2**32 - 1}]
)
def test_a_cloud_that_lies_about_its_size_is_refused(lie):
    with pytest.raises(ViewError, match="are not in 96 bytes"):
        with_fewer_points(baton.message("sensor_msgs/PointCloud2")(cloud(3, 4) | lie), 2)


@pytest.mark.parametrize(
    "encoding, kind", [("rgb8", np.uint8), ("mono8", np.uint8), ("16UC1", np.uint16), ("32FC1", "f4")]
)
def test_an_image_becomes_a_jpeg(encoding, kind):
    pixels = np.full((16, 24, 3) if encoding == "rgb8" else (16, 24), 200, kind)
    pixels[:, :12] = 0
    message = decoded(
        "sensor_msgs/CompressedImage", as_jpeg(baton.message("sensor_msgs/Image")(image(encoding, pixels)), 90)
    )
    assert (message.format, message.header.frame_id) == ("jpeg", "front")
    picture = Image.open(io.BytesIO(bytes(message.data)))
    assert (picture.format, picture.size) == ("JPEG", (24, 16))
    gray = np.asarray(picture.convert("L"))
    bright = 200 if kind is np.uint8 else 255
    assert abs(int(gray[8, 2])) < 10 and abs(int(gray[8, 20]) - bright) < 10


def test_a_lower_quality_is_smaller():
    pixels = np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    message = baton.message("sensor_msgs/Image")(image("rgb8", pixels))
    assert len(as_jpeg(message, 5)) < len(as_jpeg(message, 90)) / 2
    with pytest.raises(ImageError, match="no such encoding|not shown"):
        as_jpeg(baton.message("sensor_msgs/Image")(image("rgb8", pixels) | {"encoding": "nonsense"}), 90)


def test_a_frame_that_is_no_utf_8_ends_no_view():
    node = baton.Node("robot")
    images = node.advertise("camera", "sensor_msgs/Image", LATCHED)
    with shown(reduction=Reduction(jpeg=("*",))) as view, Viewer(view.port) as client:
        client.watch("/camera")
        assert images.wait_for_subscriptions(1, 60)
        images.publish(image("rgb8", PIXELS) | {"header": {"frame_id": "\udcff"}})
        until(lambda: view.said)
        assert view.said[0].startswith("/camera: a message is left out: ")
        images.publish(image("rgb8", PIXELS))
        assert client.message()[1].header.frame_id == "front"


def test_viewers_get_the_reduced_messages():
    node = baton.Node("robot")
    ends = {
        name: node.advertise(name, kind, LATCHED)
        for name, kind in (
            ("front/image", "sensor_msgs/Image"),
            ("back/image", "sensor_msgs/Image"),
            ("points", "sensor_msgs/PointCloud2"),
        )
    }
    reduction = Reduction(jpeg=("/front/*",), points=4)
    with shown(reduction=reduction) as view, Viewer(view.port) as client:
        client.watch("/front/image", "/back/image", "/points")
        schemas = {topic: each["schemaName"] for topic, each in client.channels.items()}
        assert schemas["/front/image"] == "sensor_msgs/msg/CompressedImage"
        assert schemas["/back/image"] == "sensor_msgs/msg/Image"
        for end in ends.values():
            assert end.wait_for_subscriptions(1, 60)
        ends["front/image"].publish(image("nonsense", PIXELS))
        until(lambda: view.said)
        assert view.said[0].startswith("/front/image: a message is left out: pictures of encoding 'nonsense'")
        ends["front/image"].publish(image("rgb8", PIXELS))
        ends["back/image"].publish(image("rgb8", PIXELS))
        ends["points"].publish(cloud(3, 4))
        seen = dict(client.message() for _ in range(3))
        assert seen["/front/image"].format == "jpeg"
        assert bytes(seen["/back/image"].data) == PIXELS.tobytes()
        assert (seen["/points"].height, seen["/points"].width) == (1, 4)
