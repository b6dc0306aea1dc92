# SPDX-License-Identifier: Apache-2.0
"""A node of Baton: prints the images of the C++ camera, and the messages of the ROS 2 node about them."""

import baton
from baton.msg.sensor_msgs import Image
from baton.msg.std_msgs import String

seen = set()


def say(what):
    if what not in seen:
        seen.add(what)
        print(what, flush=True)


node = baton.Node("viewer")
images = node.subscribe("image", Image, lambda image: say(f"image of {image.data.nbytes} bytes from the camera"))
words = node.subscribe("seen", String, lambda message: say(f"ROS 2 says: {message.data}"))
try:
    baton.spin(node)
except KeyboardInterrupt:
    pass
