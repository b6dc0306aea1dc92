# SPDX-License-Identifier: Apache-2.0
"""Short stories (story.py), always the same; for others and more: story_run.py."""

import pytest
from story import story
from story_run import play


@pytest.mark.parametrize("seed", [29, 44, 112, 220, 361, 369])
def test_who_comes_goes_and_is_killed_sees_what_dds_promises(seed):
    play(story(seed, length=16))


@pytest.mark.parametrize("seed", [103, 105])
def test_who_takes_once_for_each_message_that_a_callback_told_of_sees_the_same(seed):
    play(story(seed, length=25), called=True)


def test_a_seed_is_a_story():
    assert story(1) == story(1) != story(2)
    assert {each["kind"] for each in story(1, kinds=("plain",)) if each["step"] == "start"} == {"plain"}
