# SPDX-License-Identifier: Apache-2.0
"""C++ and Python share one copy of an image."""

import baton
import numpy as np
from baton.msg.sensor_msgs import Image
from places import place_of

SIZE = 1920 * 1080 * 3


def test_an_image_from_a_cpp_publisher_is_the_same_memory_in_a_python_callback(programs):
    node = baton.Node("python")
    seen = []
    node.subscribe("image", Image, lambda image: seen.append((place_of(image.data), image)), 100)
    peer = programs.peer("publish", "image", 3, SIZE)
    executor = baton.Executor(node)
    while len(seen) < 3:  # spin_once() may also wake up without a message to take
        executor.spin_once(1)
        assert peer.poll() is None
    for number, (place, image) in enumerate(seen):
        word, index, inode, offset = peer.stdout.readline().split()
        assert (word, int(index)) == ("image", number)
        assert place == (inode, int(offset))
        assert baton.in_shared_memory(image.data.ctypes.data)
        assert image.header.frame_id == f"camera {number}"
        assert image.data.shape == (SIZE,)
        assert np.array_equal(image.data[:300], (np.arange(300) + number) % 256)
        assert not image.data.flags.writeable


def test_an_image_that_python_filled_in_a_loan_is_the_same_memory_in_a_cpp_subscriber(programs):
    peer = programs.peer("subscribe", "image", 3).says("ready")
    node = baton.Node("python")
    publisher = node.advertise("image", Image, 100)
    assert publisher.wait_for_subscriptions(1, 120)
    for number in range(3):
        with publisher.loan() as image:
            image.encoding = "mono8"
            image.data.resize(SIZE)
            image.data[:] = number + 1
            place = place_of(image.data)
        word, index, inode, offset, total, age = peer.stdout.readline().split()
        assert (word, int(index)) == ("image", number)
        assert (inode, int(offset)) == place
        assert int(total) == SIZE * (number + 1)
        assert int(age) > 0
    assert (publisher.counters.published, publisher.counters.copied_messages) == (3, 0)
    assert peer.wait(120) == 0


def test_arrays_outlive_the_sample_the_node_and_the_publisher_process(programs):
    node = baton.Node("python")
    subscription = node.subscribe("image", Image, qos=10)
    peer = programs.peer("publish", "image", 1, SIZE)
    image = subscription.take(120)
    data = image.data
    view = data[10:20]
    del image, data, subscription, node
    peer.kill()
    peer.wait(120)
    assert view.tolist() == list(range(10, 20))


def test_a_python_client_calls_a_cpp_service(programs):
    programs.peer("serve", "switch").says("ready")
    client = baton.Node("python").client("switch", "std_srvs/SetBool")
    assert client.wait_for_service(120)
    response = client.call({"data": True}, 120)
    assert (response.success, response.message) == (False, "from C++")


def test_a_cpp_client_calls_a_python_service(programs):
    node = baton.Node("python")

    calls = []

    def handler(request, response):
        calls.append(request.data)
        response.success, response.message = request.data, "from Python"

    node.serve("switch", "std_srvs/SetBool", handler)
    executor = baton.Executor(node)
    peer = programs.peer("call", "switch")
    while not calls:
        executor.spin_once(1)
        assert peer.poll() is None or calls
    peer.says("true from Python")
    assert peer.wait(120) == 0
