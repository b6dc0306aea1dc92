# SPDX-License-Identifier: Apache-2.0
"""Writes what a stereo camera sends, serialized by genpy, for `ros1_raw source`: frames.py DIRECTORY COUNT. Debian's Python."""

import random
import struct
import sys
from io import BytesIO

import genpy
from roslib.message import get_message_class


def write(path, kind, messages):
    definition = kind._full_text.encode()
    with open(path, "wb") as file:
        file.write(f"{kind._type}\n{kind._md5sum}\n{len(definition)} {len(messages)}\n".encode() + definition)
        for message in messages:
            stream = BytesIO()
            message.serialize(stream)
            file.write(struct.pack("<I", len(stream.getvalue())) + stream.getvalue())


def camera(directory, count):
    """left and right: images in color and mono, and calibrations of a stereo camera."""
    image_kind, info_kind = get_message_class("sensor_msgs/Image"), get_message_class("sensor_msgs/CameraInfo")
    width, height, chance = 320, 240, random.Random(1)
    texture = bytes(chance.randrange(256) for _ in range(width + 16)) * height
    for side in ("left", "right"):
        images, monos, infos = [], [], []
        for number in range(count):
            image, info = image_kind(), info_kind()
            for message in (image, info):
                message.header.stamp = genpy.Time(1000 + number, 0)
                message.header.frame_id = "camera"
                message.width, message.height = width, height
            shift = 8 if side == "right" else 0
            row = width + 16
            gray = b"".join(texture[y * row + shift : y * row + shift + width] for y in range(height))
            image.encoding, image.step = "bgr8", 3 * width
            image.data = b"".join(bytes((value, 255 - value, (value + number) % 256)) for value in gray)
            mono = image_kind(image.header, height, width, "mono8", 0, width, gray)
            info.distortion_model = "plumb_bob"
            info.D = [0.01, -0.02, 0.001, 0.002, 0.0]
            info.K = [300.0, 0, width / 2, 0, 300.0, height / 2, 0, 0, 1]
            info.R = [1.0, 0, 0, 0, 1, 0, 0, 0, 1]
            info.P = [300.0, 0, width / 2, -30.0 if side == "right" else 0, 0, 300.0, height / 2, 0, 0, 0, 1, 0]
            images.append(image)
            monos.append(mono)
            infos.append(info)
        write(f"{directory}/{side}_color", image_kind, images)
        write(f"{directory}/{side}_mono", image_kind, monos)
        write(f"{directory}/{side}_info", info_kind, infos)


if __name__ == "__main__":
    camera(sys.argv[1], int(sys.argv[2]))
