# SPDX-License-Identifier: Apache-2.0
"""Makes the picture of docs/guides/record.md, `baton view` in a browser: PYTHONPATH=tests .venv/bin/python record/tests/view_picture.py FILE.png.
Needs `scripts/setup.sh viewers`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import baton
import numpy as np
from baton_record.view_reduction import Reduction
from PIL import Image, ImageDraw
from support.waiting import until
from view_browser_test import PAGE, opened
from view_client import shown
from view_messages import image


def road() -> np.ndarray:
    """A picture like that of a camera in front of a car."""
    picture = Image.new("RGB", (480, 270), (126, 176, 222))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 150, 480, 270), fill=(92, 128, 72))
    draw.polygon([(225, 150), (255, 150), (430, 270), (50, 270)], fill=(84, 84, 90))
    for near, far in ((270, 240), (225, 205), (195, 182), (176, 168)):
        half = (near - 150) / 30
        draw.polygon([(240 - half, near), (240 + half, near), (240 + half / 2, far), (240 - half / 2, far)], "white")
    draw.rounded_rectangle((262, 150, 318, 190), 8, fill=(176, 42, 38))
    draw.rectangle((270, 155, 310, 166), fill=(40, 48, 60))
    draw.ellipse((400, 24, 444, 68), fill=(250, 226, 120))
    return np.asarray(picture)


def main(file: Path) -> None:
    node, latched = baton.Node("robot"), baton.QoS(1, durability="transient_local")
    types = {"/odom": "nav_msgs/Odometry", "/scan": "sensor_msgs/LaserScan", "/tf": "tf2_msgs/TFMessage"}
    others = [node.advertise(name, kind) for name, kind in types.items()]
    camera = node.advertise("/camera/image", "sensor_msgs/Image", latched)
    camera.publish(image("rgb8", road()))
    with shown(reduction=Reduction(jpeg=("*",), quality=90)) as view, tempfile.TemporaryDirectory() as folder:
        with opened(Path(folder), f"{PAGE.as_uri()}#{view.port}/camera/image") as page:
            until(lambda: page.title() == "1")
            until(lambda: page.has_text("topics", *types))
            page.screenshot().crop((0, 0, 500, 380)).quantize(128).save(file, optimize=True)
    del others


if __name__ == "__main__":
    main(Path(sys.argv[1]))
