# SPDX-License-Identifier: Apache-2.0
"""The README's camera in Python, beside a subscription that keeps all its messages."""

import baton
import numpy as np

FRAME_BYTES = 620 * 1024  # a tenth of a frame of 6.2 MB, of a tenth of the default memory
MEMORY = 100 << 20

GREEDY = """
    import baton
    node = baton.Node('greedy')
    kept = []
    subscription = node.subscribe('image', 'sensor_msgs/Image', kept.append, qos=baton.QoS(10, held=252))
    print('ready', flush=True)
    baton.spin(node)
    """
VIEWER = """
    import baton
    node = baton.Node('viewer')
    seen = node.advertise('seen', 'std_msgs/String')
    subscription = node.subscribe('image', 'sensor_msgs/Image', lambda image: seen.publish({'data': str(image.header.frame_id)}), qos=4)
    print('ready', flush=True)
    baton.spin(node)
    """


def test_a_subscription_that_keeps_its_frames_ends_neither_the_camera_nor_the_viewer(programs):
    for code in (GREEDY, VIEWER):
        programs.python(code, ready="ready")
    node = baton.Node("camera")
    publisher = node.advertise("image", "sensor_msgs/Image", 10, memory_limit=MEMORY)
    frames = last_seen = 0

    def on_timer():
        nonlocal frames
        frames += 1
        image = publisher.loan()
        image.header.frame_id = str(frames)
        image.data = np.full(FRAME_BYTES, frames % 256, np.uint8)
        publisher.publish(image)

    def on_seen(message):
        nonlocal last_seen
        last_seen = int(message.data)

    node.subscribe("seen", "std_msgs/String", on_seen)
    assert publisher.wait_for_subscriptions(2, 60)
    node.create_timer(0.005, on_timer)
    executor = baton.Executor()
    executor.add(node)
    while frames < 340:  # twice as many as the memory holds
        assert executor.spin_once(60)
    last = frames
    while last_seen < last:  # then the viewer still sees the newest
        assert executor.spin_once(60)
    assert publisher.statuses.dropped_total == 0
    assert publisher.matched == 1
    assert "asks to hold 252 samples" in publisher.statuses.last_refusal
    executor.cancel()
