# SPDX-License-Identifier: Apache-2.0
"""Prints the mean of every image. `frame` is a NumPy array on the memory that the camera wrote, read-only. Ctrl-C ends it."""

import baton
from baton.msg.sensor_msgs import Image


def on_image(image):
    frame = image.data.reshape(image.height, image.width, 3)
    print(f"{image.width}x{image.height} from {image.header.frame_id}, mean {frame.mean():.1f}", flush=True)


node = baton.Node("viewer")
subscription = node.subscribe("image", Image, on_image)
try:
    baton.spin(node)
except KeyboardInterrupt:
    pass
