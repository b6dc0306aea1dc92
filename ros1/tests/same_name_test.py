# SPDX-License-Identifier: Apache-2.0
"""A node hangs, and another one with its name takes over, as the master allows: the two are told apart by their processes."""

import signal

import pytest
from api_test import LARGE, image

ENDS = {
    "lotros": lambda ros, end, **words: getattr(ros, f"api_{end}")(BATON_ROS1_MODE="lotros", **words),
    "tzc": lambda ros, end, **words: getattr(ros, f"api_{end}")(BATON_ROS1_MODE="tzc", **words),
    "stock": lambda ros, end, **words: getattr(ros, end)(preload=False, **words),
    "preload": lambda ros, end, **words: getattr(ros, end)(preload=True, **words),
}
TYPES_OF_BATON = ["lotros", "tzc"]


@pytest.fixture
def hung():
    """Programs that are stopped until the test ends."""
    programs = []

    def hang(program):
        program.process.send_signal(signal.SIGSTOP)
        programs.append(program)

    yield hang
    for program in programs:
        program.process.kill()


@pytest.mark.parametrize("successor", ENDS)
@pytest.mark.parametrize("first", TYPES_OF_BATON)
@pytest.mark.parametrize("stays", TYPES_OF_BATON)
def test_a_subscriber_gets_everything_beside_a_hung_one_of_its_name(ros, hung, stays, first, successor):
    talker = ENDS[stays](ros, "talker")
    before = ENDS[first](ros, "listener", name="camera_view")
    talker.do("subscribers 1")
    talker.do(f"publish {LARGE} 1 0")
    assert before.line() == image(1)
    hung(before)
    after = ENDS[successor](ros, "listener", name="camera_view")
    talker.do("subscribers 2")
    talker.do(f"publish {LARGE} 5 5")
    assert [after.line() for _ in range(5)] == [image(i) for i in range(2, 7)]
    assert after.more(0.2) == []


@pytest.mark.parametrize("successor", ENDS)
@pytest.mark.parametrize("first", TYPES_OF_BATON)
@pytest.mark.parametrize("stays", TYPES_OF_BATON)
def test_a_publisher_is_heard_beside_a_hung_one_of_its_name(ros, hung, stays, first, successor):
    listener = ENDS[stays](ros, "listener")
    before = ENDS[first](ros, "talker", name="camera")
    before.do("subscribers 1")
    before.do(f"publish {LARGE} 1 0")
    assert listener.line() == image(1)
    hung(before)
    after = ENDS[successor](ros, "talker", name="camera")
    after.do("subscribers 1")
    after.do(f"publish {LARGE} 5 5")
    assert [listener.line() for _ in range(5)] == [image(i) for i in range(1, 6)]
    assert listener.more(0.2) == []
