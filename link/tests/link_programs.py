# SPDX-License-Identifier: Apache-2.0
"""Programs of several tests of this folder, and functions that wait for them. A talker stays until its input ends, so that its last messages arrive:
lines_of() ends it."""

from __future__ import annotations

from support.processes import Process

TALK = """
import baton, sys, time
from baton.msg.std_msgs import String
count, durability = int(sys.argv[1]), sys.argv[2]
node = baton.Node("talker")
publisher = node.advertise("chatter", String, baton.QoS(int(sys.argv[3]), durability=durability))
if durability == "volatile":
    assert publisher.wait_for_subscriptions(1, 90)
print("begins", flush=True)
for i in range(count):
    with publisher.loan() as message:
        message.data = f"message {i}"
    time.sleep(0.005)
print("all", flush=True)
sys.stdin.read()
"""

HEAR = """
import baton, json, sys, time
from baton.msg.std_msgs import String
until, durability = sys.argv[1], sys.argv[2]
node = baton.Node("listener")
subscription = node.subscribe("chatter", String, qos=baton.QoS(1000, durability=durability))
print("ready", flush=True)
got = []
while (message := subscription.take(90)) is not None:
    info = baton.info(message)
    got.append((str(message.data), info.sequence))
    if message.data == until:
        break
time.sleep(0.3)
while (message := subscription.take(0)) is not None:
    got.append((str(message.data), baton.info(message).sequence))
print(json.dumps(got), flush=True)
"""

IMAGE_TALK = """
import baton, sys, time
import numpy as np
from baton.msg.sensor_msgs import Image
node = baton.Node("camera")
publisher = node.advertise("image", Image, baton.QoS(10))
assert publisher.wait_for_subscriptions(1, 90)
for i in range(5):
    with publisher.loan() as image:
        image.height, image.width, image.encoding = 1080, 1920, "rgb8"
        image.data.resize(1920 * 1080 * 3 + i)
        image.data[:] = np.arange(len(image.data), dtype=np.uint32).astype(np.uint8) ^ i
    time.sleep(0.1)
sys.stdin.read()
"""

IMAGE_HEAR = """
import baton, sys
import numpy as np
from baton.msg.sensor_msgs import Image
node = baton.Node("viewer")
subscription = node.subscribe("image", Image, qos=baton.QoS(10))
for i in range(5):
    image = subscription.take(90)
    assert image is not None, i
    assert image.encoding == "rgb8" and len(image.data) == 1920 * 1080 * 3 + i
    assert (image.data == (np.arange(len(image.data), dtype=np.uint32).astype(np.uint8) ^ i)).all()
print("5 images", flush=True)
"""

# Until a line comes.
FLOW = """
import baton, sys, threading, time
from baton.msg.std_msgs import String
node = baton.Node("talker")
publisher = node.advertise("chatter", String, baton.QoS(1000))
assert publisher.wait_for_subscriptions(1, 90)
print("begins", flush=True)
ends = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), ends.set()), daemon=True).start()
i = 0
while not ends.is_set():
    with publisher.loan() as message:
        message.data = f"message {i}"
    i += 1
    time.sleep(0.005)
print(f"message {i - 1}", flush=True)
sys.stdin.read()
"""


def lines_of(process: Process) -> str:
    """The last line that a program has printed, once it has ended."""
    out, _ = process.ends()
    return out.splitlines()[-1] if out else ""


def ready(process: Process) -> Process:
    """A program that has printed its first line."""
    assert process.stdout.readline(), process.stderr.read()
    return process


def expected(count: int) -> list[list]:
    return [[f"message {i}", i + 1] for i in range(count)]
