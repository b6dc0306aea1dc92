# SPDX-License-Identifier: Apache-2.0
"""Programs that keep the responses of their calls, as a list comprehension or asyncio.gather does."""

import asyncio

import baton
import baton.aio
import pytest
from spinning import spinning


@pytest.fixture
def server():
    node = baton.Node("server")
    node.serve("reset", "std_srvs/SetBool", lambda request, response: None)
    with spinning(node):
        yield node


def test_fifty_responses_are_kept(server):
    node = baton.Node("caller")
    client = node.client("reset", "std_srvs/SetBool")
    assert client.wait_for_service(60)
    kept = [client.call({"data": True}, timeout=60) for _ in range(50)]
    assert all(response is not None for response in kept)


def test_fifty_calls_are_gathered(server):
    node = baton.Node("caller")
    client = node.client("reset", "std_srvs/SetBool")
    assert client.wait_for_service(60)

    async def main():
        return await asyncio.gather(*[baton.aio.call(client, {"data": True}, timeout=60) for _ in range(50)])

    assert all(response is not None for response in asyncio.run(main()))


def test_the_number_is_an_option_and_the_error_says_so(server):
    node = baton.Node("caller")
    few = node.client("reset", "std_srvs/SetBool", held=2)
    assert few.wait_for_service(60)
    kept = [few.call({"data": True}, timeout=60) for _ in range(2)]
    with pytest.raises(baton.HeldLimit, match="held"):
        few.call({"data": True}, timeout=2)  # it waits that long for a response to be let go
    kept.clear()
    assert few.call({"data": True}, timeout=60) is not None
    many = node.client("reset", "std_srvs/SetBool", held=150)
    assert many.wait_for_service(60)
    assert len([many.call({"data": True}, timeout=60) for _ in range(150)]) == 150
