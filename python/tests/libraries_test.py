# SPDX-License-Identifier: Apache-2.0
"""Libraries that take arrays take a message's fields without a copy: NumPy's DLPack always, the others where they are installed."""

import warnings

import baton
import numpy as np
import pytest
from baton.msg.sensor_msgs import Image

WIDTH, HEIGHT = 64, 48
PIXELS = WIDTH * HEIGHT


@pytest.fixture
def pair():
    node = baton.Node("n")
    publisher = node.advertise("image", Image)
    subscription = node.subscribe("image", Image)
    assert publisher.wait_for_subscriptions(1, 120)
    return publisher, subscription


@pytest.fixture
def received(pair):
    """A grey gradient in shared memory, read-only."""
    publisher, subscription = pair
    with publisher.loan() as image:
        image.data.resize(PIXELS)
        image.data[:] = np.arange(PIXELS) % 256
    return subscription.take(120)


def test_numpy_by_dlpack_is_the_same_memory_and_keeps_it(received):
    data = received.data
    shared = np.from_dlpack(data)
    assert shared.ctypes.data == data.ctypes.data
    assert not shared.flags.writeable
    assert baton.in_shared_memory(data.ctypes.data)
    del data, received
    assert shared[255] == 255


def test_opencv_reads_a_received_image_and_writes_into_a_loan(pair, received):
    cv2 = pytest.importorskip("cv2")
    publisher, subscription = pair
    grey = received.data.reshape(HEIGHT, WIDTH)
    assert cv2.mean(grey)[0] == pytest.approx(float(grey.mean()))
    with warnings.catch_warnings():
        warnings.simplefilter("error", baton.CopyWarning)
        with publisher.loan() as image:
            image.data.resize(PIXELS * 3)
            target = image.data.reshape(HEIGHT, WIDTH, 3)
            result = cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR, dst=target)
            assert result.ctypes.data == target.ctypes.data
            del target, result
    assert subscription.take(120).data[: 3 * 256 : 3].tolist() == list(range(256))


def test_pillow_shows_the_memory_of_a_message(received):
    pillow = pytest.importorskip("PIL.Image")
    image = pillow.frombuffer("L", (WIDTH, HEIGHT), received.data, "raw", "L", 0, 1)
    assert image.getpixel((10, 1)) == WIDTH + 10
    message = Image(data=bytes(PIXELS))
    live = pillow.frombuffer("L", (WIDTH, HEIGHT), message.data, "raw", "L", 0, 1)
    message.data[3] = 7
    assert live.getpixel((3, 0)) == 7
    del message
    assert live.getpixel((3, 0)) == 7


def test_pytorch_shares_memory_by_dlpack_and_by_buffer(received):
    torch = pytest.importorskip("torch")
    message = Image(data=bytes(PIXELS))
    for tensor in (torch.from_dlpack(message.data), torch.frombuffer(message.data, dtype=torch.uint8)):
        assert tensor.data_ptr() == message.data.ctypes.data
        assert tensor.shape == (PIXELS,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch knows no read-only tensors
        shared = torch.frombuffer(received.data, dtype=torch.uint8)
    assert shared.data_ptr() == received.data.ctypes.data
    del received
    assert int(shared[255]) == 255


def test_jax_takes_a_field_by_dlpack():
    jax = pytest.importorskip("jax")
    message = Image(data=bytes(range(256)))
    array = jax.dlpack.from_dlpack(message.data)
    del message
    assert int(array[200]) == 200
