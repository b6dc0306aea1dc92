# SPDX-License-Identifier: Apache-2.0
"""Samples that outlive their subscription and node, in a process that lives on."""

import baton
import pytest
from baton.msg.sensor_msgs import Image

KEPT = 4
MORE = 200
BYTES = 100_000

# Keeps four samples, ends their subscription and node, and looks at the samples whenever it is asked.
READER = """
    import baton, gc, sys
    node = baton.Node("reader")
    subscription = node.subscribe("images", "sensor_msgs/Image", qos=baton.QoS(10, held=8))
    print("ready", flush=True)
    kept = [subscription.take(120) for _ in range(4)]
    data = [each.data for each in kept]
    {end}
    gc.collect()
    print("kept", flush=True)
    while sys.stdin.readline() == "look\\n":
        numbers = [each.height for each in kept]
        intact = all((array == number % 256).all() for number, array in zip(numbers, data))
        print(*numbers, "intact" if intact else "overwritten", flush=True)
"""

ENDS = {
    "subscription": "del subscription",
    "node": "node.close(); del subscription, node",
}


@pytest.mark.parametrize("what", ENDS)
def test_kept_samples_stay_as_they_are_when_the_subscription_and_the_node_have_ended(programs, what):
    node = baton.Node("writer")
    publisher = node.advertise("images", Image, 10)
    reader = programs.python(READER.format(end=ENDS[what])).says("ready")
    assert publisher.wait_for_subscriptions(1, 120)

    def publish(number):
        with publisher.loan() as image:
            image.height = number
            image.data.resize(BYTES)
            image.data[:] = number % 256

    for number in range(1, KEPT + 1):
        publish(number)
    reader.says("kept")
    assert node.wait_for(lambda: publisher.matched == 0, 120)
    for number in range(KEPT + 1, KEPT + 1 + MORE):
        publish(number)
    reader.tell("look")
    reader.says("1 2 3 4 intact")
    assert publisher.memory.published_slots == KEPT  # pinned: alive, though disconnected
    # The samples return to the publisher when the process has ended.
    reader.tell("end")
    assert reader.wait(120) == 0
    assert node.wait_for(lambda: publish(0) or publisher.memory.published_slots == 0, 120)
