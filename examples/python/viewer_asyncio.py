# SPDX-License-Identifier: Apache-2.0
"""The viewer for a program that has an event loop already: no executor, no thread. Ends after three images."""

import asyncio

import baton
import baton.aio
from baton.msg.sensor_msgs import Image


async def main():
    node = baton.Node("viewer_asyncio")
    subscription = node.subscribe("image", Image, qos=4)
    seen = 0
    async for image in baton.aio.messages(subscription):
        print(f"{image.width}x{image.height}, {image.data.nbytes} bytes", flush=True)
        seen += 1
        if seen == 3:
            break


asyncio.run(main())
