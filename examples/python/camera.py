# SPDX-License-Identifier: Apache-2.0
"""Publishes an image 30 times a second. The image is written once, into shared memory. Ctrl-C ends it."""

import baton
from baton.msg.sensor_msgs import Image

node = baton.Node("camera")
publisher = node.advertise("image", Image)
frames = 0


def tick():
    global frames
    frames += 1
    with publisher.loan() as image:  # published at the end of the block
        image.header.frame_id = "camera"
        image.width, image.height, image.encoding = 640, 480, "rgb8"
        image.step = 640 * 3  # bytes of a row
        image.data.resize(640 * 480 * 3)  # new numbers are unspecified, as in numpy.empty
        image.data[:] = frames % 256  # written once, into shared memory


timer = node.create_timer(1 / 30, tick)
try:
    baton.spin(node)
except KeyboardInterrupt:
    pass
