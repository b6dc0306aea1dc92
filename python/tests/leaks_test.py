# SPDX-License-Identifier: Apache-2.0
"""Nothing is left behind: Python's own count of blocks, and the C library's of bytes, after thousands of messages."""

import ctypes
import gc
import sys

import baton
import numpy as np
import pytest
from baton.msg.diagnostic_msgs import DiagnosticArray
from baton.msg.geometry_msgs import PoseArray
from baton.msg.sensor_msgs import Image, JointState

TREE = {"status": [{"name": "a" * 50, "values": [{"key": "k", "value": "v" * 100}] * 3}] * 4}


class Mallinfo2(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


def in_use():
    gc.collect()
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = Mallinfo2
    info = libc.mallinfo2()
    return sys.getallocatedblocks(), info.uordblks + info.hblkhd


@pytest.fixture
def ends():
    node = baton.Node("leaks")

    def make(message_type):
        publisher = node.advertise("topic", message_type)
        subscription = node.subscribe("topic", message_type)
        assert publisher.wait_for_subscriptions(1, 120)
        return publisher, subscription

    return make


def loans(ends):
    publisher, subscription = ends(Image)
    frame = np.arange(3000, dtype=np.uint8)

    def run():
        with publisher.loan() as image:
            image.header.frame_id = "camera"
            image.data = frame
            image.data.resize(6000)
            image.data[3000:] = 1
        got = subscription.take(120)
        view = got.data[10:]
        assert got.header.frame_id == "camera" and view[0] == 10
        baton.info(got)

    return run


def trees(ends):
    publisher, subscription = ends(DiagnosticArray)

    def run():
        publisher.publish(TREE)
        got = subscription.take(120)
        private = baton.copy(got)
        private.status.append({"name": "b"})
        element = private.status[0]
        private.status.resize(100)
        del element
        publisher.publish(private)
        assert subscription.take(120).status[4].name == "b"
        str(private), repr(private), baton.to_dict(got)
        assert [s.name for s in got.status][0][0] == "a"

    return run


def structured(ends):
    publisher, subscription = ends(PoseArray)
    poses = np.zeros(100, PoseArray(poses=[{}]).poses.dtype)

    def run():
        publisher.publish({"poses": poses})
        assert subscription.take(120).poses["position"]["x"].sum() == 0

    return run


def errors(ends):
    publisher, subscription = ends(JointState)

    def run():
        for wrong in ({"nothing": 1}, {"position": "text"}, {"name": [5]}, {"position": [1, "x"]}, 5):
            with pytest.raises((TypeError, ValueError, AttributeError)):
                publisher.publish(wrong)
        with pytest.raises(KeyError), publisher.loan() as message:
            message.name = ["a", "b"]
            raise KeyError
        assert subscription.take() is None

    return run


def kept_arrays(ends):
    publisher, subscription = ends(Image)

    def run():
        image = publisher.loan()
        image.data = bytes(5000)
        data = image.data
        image.data.resize(10000)
        with pytest.warns(baton.CopyWarning):
            publisher.publish(image)
        data[:] = 1
        assert len(subscription.take(120).data) == 10000

    return run


@pytest.mark.parametrize("what", [loans, trees, structured, errors, kept_arrays])
def test_memory_stays_the_same(ends, what):
    run = what(ends)
    for _ in range(200):
        run()
    # A leak grows in every window. What the rest of the process, which has run other tests, takes or gives back meanwhile does not.
    for window in range(3):
        before = in_use()
        for _ in range(1000):
            run()
        after = in_use()
        blocks, size = after[0] - before[0], after[1] - before[1]
        if blocks < 200 and size < 100_000:  # less than one block in five rounds, and less than 100 bytes a round
            return
        print(f"window {window}: {blocks} blocks and {size} bytes more")
    pytest.fail("memory grows with every 1000 rounds")
