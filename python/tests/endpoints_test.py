# SPDX-License-Identifier: Apache-2.0
"""Callbacks, polling, iteration, asyncio, timers, services, quality of service."""

import asyncio
import ctypes
import os
import select
import signal
import sys
import threading
import time

import baton
import pytest
from baton._messages import service_from_text
from baton.msg.sensor_msgs import Image
from baton.msg.std_msgs import Header, String
from baton.srv.std_srvs import SetBool
from spinning import spinning
from support.waiting import until as wait_until


@pytest.fixture
def node():
    return baton.Node("endpoints")


def connected(node, message_type=String, callback=None, qos=None, **options):
    publisher = node.advertise("topic", message_type, qos, **options)
    subscription = node.subscribe("topic", message_type, callback, qos)
    assert publisher.wait_for_subscriptions(1, 120) and subscription.wait_for_publishers(1, 120)
    return publisher, subscription


def test_holdings_have_the_messages_of_each_subscription():
    node = baton.Node("n")
    publisher = node.advertise("t", "std_msgs/String", 10)
    subscription = node.subscribe("t", "std_msgs/String", qos=10)
    assert publisher.wait_for_subscriptions(1, 120)
    for _ in range(3):
        publisher.publish({"data": "x"})
    kept = [subscription.take(120), subscription.take(120)]
    del kept[0]
    (holding,) = node.holdings(120)
    assert (holding.publisher, holding.subscription) == (publisher.gid, subscription.gid)
    assert (holding.unread, holding.held) == (1, 1)
    assert [(c.sequence, c.size_bytes) for c in holding.chunks] == [(2, baton.size_bytes(kept[0]))]
    del kept[0]
    assert node.holdings(120)[0].chunks == []


def test_an_empty_take_is_none_at_once_and_after_a_timeout(node):
    publisher, subscription = connected(node)
    assert subscription.take() is None
    assert subscription.take(0.01) is None
    publisher.publish({"data": "x"})
    assert subscription.take(120).data == "x"


def test_take_waits_without_the_gil(node):
    publisher, subscription = connected(node)
    thread = threading.Thread(target=lambda: publisher.publish({"data": "from a thread"}))
    thread.start()
    assert subscription.take(None).data == "from a thread"
    thread.join()


def test_iteration_gives_every_message_in_order(node):
    publisher, subscription = connected(node, qos=100)
    for i in range(10):
        assert publisher.publish({"data": str(i)}) == i + 1
    got = []
    for message in subscription:
        got.append((message.data, baton.info(message).sequence))
        if len(got) == 10:
            break
    assert got == [(str(i), i + 1) for i in range(10)]


def test_the_held_limit_is_an_error_that_says_so_and_ends_with_a_release(node):
    publisher, subscription = connected(node, qos=baton.QoS(10, held=2))
    for _ in range(3):
        publisher.publish({"data": "x"})
    held = [subscription.take(120), subscription.take(120)]
    with pytest.raises(baton.HeldLimit, match="held") as error:
        subscription.take(120)
    assert error.value.code == "held_limit"
    assert isinstance(error.value, baton.BatonError)
    held.pop()
    assert subscription.take(120) is not None


def test_a_held_number_that_the_publisher_can_never_grant_is_an_incompatibility_that_names_the_way_out(node):
    publisher = node.advertise("topic", String, slots=256, max_message=1 << 16)
    subscription = node.subscribe("topic", String, qos=baton.QoS(10, held=300))
    assert node.wait_for(lambda: subscription.statuses.incompatible_qos_total == 1, 120)
    assert node.wait_for(lambda: publisher.statuses.incompatible_qos_total == 1, 120)
    for end in (publisher, subscription):
        text = end.statuses.last_incompatibility
        assert "asks to hold 300 samples" in text
        assert "at most 119 of the publisher's 256 slots" in text
        assert "slots to at least 642" in text
        assert end.statuses.refused_now == 1
    (row,) = node.holdings(60)
    assert (row.standing, row.wished, row.granted, row.slots, row.shared) == ("refused", 300, 0, 256, 238)
    assert "642" in row.reason
    del publisher
    publisher = node.advertise("topic", String, slots=642, max_message=1 << 16)
    assert node.wait_for(lambda: subscription.statuses.matched_now == 1, 120)
    (row,) = node.holdings(60)
    assert (row.standing, row.wished, row.granted, row.reason) == ("connected", 300, 300, "")


def test_an_array_holds_its_sample(node):
    publisher, subscription = connected(node, Image, qos=baton.QoS(10, held=1))
    publisher.publish({"data": b"abc"})
    publisher.publish({"data": b"def"})
    part = subscription.take(120).data[1:]
    with pytest.raises(baton.HeldLimit):
        subscription.take(120)
    assert bytes(part) == b"bc"
    del part
    assert bytes(subscription.take(120).data) == b"def"


def test_a_view_of_a_nested_message_holds_its_sample(node):
    publisher, subscription = connected(node, Image, qos=baton.QoS(10, held=1))
    publisher.publish({"header": {"frame_id": "a"}})
    publisher.publish({"header": {"frame_id": "b"}})
    stamp = subscription.take(120).header
    with pytest.raises(baton.HeldLimit):
        subscription.take(120)
    assert stamp.frame_id == "a"
    del stamp
    assert subscription.take(120).header.frame_id == "b"


def test_a_full_keep_all_queue_refuses_and_the_loan_stays(node):
    publisher, subscription = connected(node, qos=baton.QoS(1, history="keep_all"))
    publisher.publish({"data": "first"})
    loan = publisher.loan()
    loan.data = "second"
    with pytest.raises(baton.QueueFull):
        publisher.publish(loan)
    assert subscription.take(120).data == "first"
    publisher.publish(loan)
    assert subscription.take(120).data == "second"


def test_memory_that_is_too_short_is_an_error(node):
    publisher = node.advertise("big", Image, memory_limit=1 << 20)
    image = publisher.loan()
    with pytest.raises(baton.LimitReached):
        image.data.resize(8 << 20)
    image.data.resize(1000)
    with pytest.raises(ValueError):
        node.advertise("wrong", Image, policy="no such effort")


def test_callbacks_run_in_spin_and_cancel_ends_it(node):
    got = []

    def callback(message):
        got.append(message.data)
        if len(got) == 3:
            executor.cancel()

    publisher, _ = connected(node, callback=callback, qos=10)
    executor = baton.Executor(node)
    for i in range(3):
        publisher.publish({"data": str(i)})
    executor.spin()
    assert got == ["0", "1", "2"]
    assert executor.spin_some() == 0
    assert not executor.spin_once(0)


@pytest.mark.parametrize("threads", [1, 3])
def test_an_exception_of_a_callback_ends_spin_and_is_raised_there(node, threads):
    def callback(message):
        raise KeyError(message.data)

    publisher, _ = connected(node, callback=callback)
    executor = baton.Executor(node, threads=threads)
    publisher.publish({"data": "reason"})
    with pytest.raises(KeyError, match="reason"):
        executor.spin()
    assert executor.spin_some() == 0


def test_callbacks_of_a_reentrant_group_run_in_parallel(node):
    both = threading.Barrier(2, timeout=240)

    def callback(_):
        both.wait()
        executor.cancel()

    group = baton.CallbackGroup(reentrant=True)
    publisher = node.advertise("topic", String)
    node.subscribe("topic", String, callback, group=group)
    node.subscribe("topic", String, callback, group=group)
    assert publisher.wait_for_subscriptions(2, 120)
    executor = baton.Executor(node, threads=2)
    publisher.publish({"data": "x"})
    executor.spin()
    assert not both.broken


def test_timers_run_until_they_are_destroyed(node):
    executor = baton.Executor(node)
    count = []
    timer = node.create_timer(0.001, lambda: count.append(1))
    while len(count) < 3:
        executor.spin_once(30)
    node.destroy(timer)
    del timer
    assert not executor.spin_once(0.01)


def test_a_timer_on_a_simulated_clock_is_called_when_its_program_moves_time(node):
    executor = baton.Executor(node)
    clock, count = baton.SimulatedClock(), []
    start = 1_700_000_000_123_456_789
    clock.set_ns(start)
    timer = node.create_timer(10, lambda: count.append(clock.now_ns - start), clock=clock)
    later = node.create_timer(0.001, lambda: clock.set_ns(clock.now_ns + 5_000_000_000))
    while len(count) < 2:
        assert executor.spin_once(30)
    assert count == [10_000_000_000, 20_000_000_000]
    node.destroy(later)
    del later
    assert not executor.spin_once(0.01)
    clock.set_ns(start - 60_000_000_000)  # back: a new period begins
    assert not executor.spin_once(0.01)
    clock.set_ns(start - 50_000_000_000)
    assert executor.spin_once(30)
    assert count[2:] == [-50_000_000_000]
    node.destroy(timer)
    with pytest.raises(TypeError):
        clock.set_ns(2**63)


def test_a_timer_is_cancelled_and_reset(node):
    executor = baton.Executor(node)
    count = []
    timer = node.create_timer(0.001, lambda: count.append(1))
    assert executor.spin_once(30)
    assert not timer.is_canceled()
    timer.cancel()
    assert timer.is_canceled()
    assert not executor.spin_once(0.01)
    assert len(count) == 1
    timer.reset()
    assert executor.spin_once(30)
    assert len(count) == 2


def test_a_client_and_a_service_take_limits_for_their_messages(node):
    text = "x" * (3 << 20)
    got = []
    Echo = service_from_text("limits/Echo", "string text\n---\nstring text\n")

    def handler(request, response):
        got.append(len(request.text))
        response.text = text

    server = baton.Node("server")
    for name, most in (("narrow", 1 << 20), ("wide", 8 << 20)):
        server.serve(name, Echo, handler, max_message=most)
    with spinning(server):
        small, large = {}, {"text": text}
        wide = node.client("wide", Echo, max_message=8 << 20)
        assert wide.wait_for_service(120)
        assert wide.call(large, 120).text == text
        narrow = node.client("wide", Echo, max_message=1 << 20)
        with pytest.raises(baton.MessageTooLarge):
            narrow.call(large, 120)
        poor = node.client("wide", Echo, max_message=8 << 20, memory_limit=1 << 20)
        with pytest.raises(baton.LimitReached):
            poor.call(large, 120)
        other = node.client("narrow", Echo)
        assert other.wait_for_service(120)
        assert other.call(small, 2) is None, "a response of 3 MiB finds no room"
        assert got == [len(text), 0]


def test_a_service_answers_in_shared_memory(node):
    def handler(request, response):
        response.success = request.data
        response.message = "was " + str(request.data)

    server = baton.Node("server")
    server.serve("switch", SetBool, handler)
    with spinning(server):
        client = node.client("switch", "std_srvs/SetBool")
        assert client.wait_for_service(120)
        response = client.call({"data": True}, 120)
        assert (response.success, response.message) == (True, "was True")
        request = client.loan()
        request.data = False
        assert client.call(request, 120).message == "was False"
    assert client.call(SetBool.Request(data=True), 0.01) is None


def served(node, handler):
    """A node that serves "switch" with this handler, and a client of `node` that has found it."""
    server = baton.Node("server")
    server.serve("switch", SetBool, handler)
    client = node.client("switch", SetBool)
    assert client.wait_for_service(120)
    return server, client


@pytest.mark.parametrize("error", [baton.OutOfMemory, baton.LimitReached, baton.MessageTooLarge])
def test_a_request_that_finds_no_memory_for_its_response_does_not_end_spin(node, error):
    def handler(request, response):
        if request.data:
            raise error("a client keeps its responses")
        response.message = "done"

    server, client = served(node, handler)
    with spinning(server):
        assert client.call({"data": True}, 0.01) is None
        assert client.call({"data": False}, 120).message == "done"


def test_an_exception_of_a_handler_is_raised_by_spin_and_the_client_gets_none(node):
    def handler(request, response):
        if request.data:
            raise KeyError("what the handler could not do")
        response.message = "done"

    server, client = served(node, handler)
    with spinning(server, KeyError, again=True) as raised:
        assert client.call({"data": True}, 0.2) is None
        assert client.call({"data": False}, 120).message == "done"
    assert "what the handler could not do" in str(raised[0])


def answer_of(node, handler):
    """The response that a client gets from this handler, and the exception that spin() raised."""
    server, client = served(node, handler)
    with spinning(server, TypeError) as raised:
        wrong = handler.__name__.startswith("wrong")
        response = client.call({"data": True}, 0.5 if wrong else 120)
        if wrong:
            wait_until(lambda: raised)  # the handler ends it, however late its turn comes
    return response and response.message, list(map(str, raised))


def test_a_handler_may_return_the_response_that_it_filled(node):
    def switch(request, response):
        response.message = "done"
        return response

    assert answer_of(node, switch) == ("done", [])


def test_a_handler_returns_the_response_or_nothing_and_all_else_is_refused(node):
    def wrong_new(request, response):
        return SetBool.Response(success=True, message="done")

    def wrong_bool(request, response):
        return True

    for handler, kind in ((wrong_new, "SetBool_Response"), (wrong_bool, "bool")):
        answer, (error,) = answer_of(node, handler)
        assert answer is None
        assert f"{handler.__name__} returned a " in error
        assert kind in error
        assert "fill the response that it gets" in error


async def collect(subscription, got):
    async for message in baton.aio.messages(subscription):
        got.append(message.data)


async def until(condition):
    async def wait():
        while not condition():
            await asyncio.sleep(0)

    await asyncio.wait_for(wait(), 120)


async def end(task):
    task.cancel()
    await asyncio.wait([task])


@pytest.fixture
def server():
    """A service in a thread of its own."""
    node = baton.Node("server")

    def switch(request, response):
        response.success = request.data
        response.message = "done"

    node.serve("switch", SetBool, switch)
    with spinning(node):
        yield


def test_asyncio_awaits_responses_while_other_tasks_run(node, server):
    client = node.client("switch", SetBool)
    assert client.wait_for_service(120)

    async def main():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        async def ask(question):  # keeps no response: a client may hold 8
            answer = await baton.aio.call(client, {"data": question}, 120)
            return answer.success, answer.message

        other = asyncio.create_task(tick())
        answers = await asyncio.gather(*(ask(bool(i % 2)) for i in range(20)))
        assert answers == [(bool(i % 2), "done") for i in range(20)]
        await end(other)
        assert ticks > 1

    asyncio.run(main())
    with pytest.raises(baton.AlreadyExists, match="event loop"):
        client.call({"data": True}, 1)
    asyncio.run(main_of_another_loop(client))


async def main_of_another_loop(client):
    assert (await baton.aio.call(client, {"data": True}, 120)).success


def test_an_awaited_call_ends_at_its_timeout_and_when_it_is_cancelled(node):
    client = node.client("nobody", SetBool)

    async def main():
        assert await baton.aio.call(client, {"data": True}, 0.05) is None
        waiting = asyncio.create_task(baton.aio.call(client, {"data": True}))
        await asyncio.sleep(0.05)
        await end(waiting)
        assert waiting.cancelled()
        assert await baton.aio.call(client, {"data": True}, 0.05) is None, "the client can be used again"

    asyncio.run(main())


def test_asyncio_waits_on_the_descriptor(node):
    publisher, subscription = connected(node, qos=100)

    async def main():
        got = []
        consumer = asyncio.create_task(collect(subscription, got))
        for i in range(5):
            await asyncio.sleep(0.001)
            publisher.publish({"data": str(i)})
        await until(lambda: len(got) == 5)
        await end(consumer)
        return got

    assert asyncio.run(main()) == ["0", "1", "2", "3", "4"]


def test_tasks_that_share_a_subscription_share_its_messages(node):
    publisher, subscription = connected(node, qos=100)

    async def main():
        got = []
        first, second = (asyncio.create_task(collect(subscription, got)) for _ in range(2))
        publisher.publish({"data": "for both"})
        await until(lambda: got)
        await end(second)
        publisher.publish({"data": "for the first"})
        await until(lambda: len(got) == 2)
        await end(first)
        return got

    assert asyncio.run(main()) == ["for both", "for the first"]


def test_after_a_wait_the_descriptor_may_be_used_and_then_waiting_is_refused_at_once(node):
    publisher, subscription = connected(node)
    assert subscription.take(0.001) is None
    publisher.publish({"data": "x"})
    assert select.select([subscription], [], [], 120)[0] == [subscription]
    with pytest.raises(baton.AlreadyExists, match="polled by its descriptor"):
        subscription.take(120)
    assert subscription.take().data == "x"


def test_threads_that_wait_for_one_subscription_get_each_message_once(node):
    publisher, subscription = connected(node, qos=100)
    got = []

    def take():
        while (message := subscription.take(120)).data != "end":
            got.append(message.data)
            del message

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for i in range(50):
        publisher.publish({"data": str(i)})
    for _ in threads:
        publisher.publish({"data": "end"})
    for thread in threads:
        thread.join()
    assert sorted(got, key=int) == [str(i) for i in range(50)]


def test_the_descriptor_becomes_readable(node):
    publisher, subscription = connected(node)
    assert select.select([subscription], [], [], 0) == ([], [], [])
    publisher.publish({"data": "x"})
    assert select.select([subscription], [], [], 120)[0] == [subscription]
    assert subscription.take().data == "x"


def test_a_subscription_with_a_callback_does_not_wait(node):
    _, subscription = connected(node, callback=print)
    with pytest.raises(TypeError, match="callback"):
        subscription.take(1)


def test_the_graph_is_known(node):
    publisher, subscription = connected(node, qos=baton.QoS(3, reliability="best_effort"))
    assert ("endpoints", __import__("os").getpid()) in node.nodes()
    assert node.topics() == {"/topic": ["std_msgs/String"]}
    kinds = {e.gid: e for e in node.endpoints()}
    assert kinds[publisher.gid].is_publisher
    assert not kinds[subscription.gid].is_publisher
    assert kinds[publisher.gid].qos.reliability == "best_effort"
    assert (publisher.topic, subscription.topic, publisher.message_type) == ("/topic", "/topic", String)
    assert (publisher.matched, subscription.matched) == (1, 1)


def test_incompatible_quality_of_service_is_reported(node):
    publisher = node.advertise("topic", String, baton.QoS(reliability="best_effort"))
    node.subscribe("topic", String)
    assert node.wait_for(lambda: publisher.statuses.incompatible_qos_total == 1, 120)
    assert "reliability" in publisher.statuses.last_incompatibility
    with pytest.raises(ValueError, match="'reliable' or 'best_effort'"):
        baton.QoS(reliability="perfect")


def test_a_callback_that_keeps_every_message_is_reported_and_counted():
    kept, heard = [], []
    node = baton.Node("keeper", on_diagnostic=heard.append)
    subscription = node.subscribe("topic", String, kept.append, baton.QoS(10, held=2))
    publisher = node.advertise("topic", String)
    assert publisher.wait_for_subscriptions(1, 120)
    node.create_timer(0.02, lambda: publisher.publish({"data": "x"}))
    executor = baton.Executor()
    executor.add(node)

    def spin_until(done):
        wait_until(
            lambda: done() or executor.spin_once(0.1) and done(), lambda: (subscription.statuses, heard), every_s=0
        )

    spin_until(lambda: subscription.statuses.held_limit_total == 1 and heard)
    assert (len(kept), subscription.statuses.held_limit_now) == (2, 1)
    assert [("as many as its QoS 'held' allows" in each.text) for each in heard] == [True]
    kept.clear()
    spin_until(lambda: kept)


def test_transient_local_history_reaches_late_joiners(node):
    qos = baton.QoS(5, durability="transient_local")
    publisher = node.advertise("map", String, qos)
    publisher.publish({"data": "early"})
    assert node.subscribe("map", String, qos=qos).take(120).data == "early"


@pytest.mark.parametrize("name", ["", "two words", "line\nfeed", "\x1b[31mred", "größe", "n" * 256])
def test_a_node_name_that_would_spoil_a_list_is_refused(name):
    with pytest.raises(baton.InvalidArgument, match="name"):
        baton.Node(name)
    assert baton.Node("n" * 255).name == "n" * 255


@pytest.mark.parametrize("name", ["my-node", "a.b", "1st"])
def test_a_node_name_that_ros_refuses_is_refused_when_the_node_is_made(name):
    with pytest.raises(baton.InvalidArgument, match=f"'{name}' is no name of a node: use letters, digits and '_'"):
        baton.Node(name)


def test_the_metadata_of_a_message_can_be_read(node):
    publisher, subscription = connected(node)
    publisher.publish({"data": "x"})
    text = repr(baton.info(subscription.take(120)))
    assert text.startswith("<MessageInfo: number 1, published at ")
    assert text.endswith(", high>")


def test_the_reception_time_is_that_of_the_take(node):
    publisher, subscription = connected(node)
    publisher.publish({"data": "x"})
    before = time.time_ns()
    message = subscription.take(120)
    after = time.time_ns()
    assert before <= baton.info(message).reception_time_ns <= after
    assert baton.info(message).reception_time_ns == baton.info(message).reception_time_ns


def test_the_reception_time_of_a_callback_is_that_of_the_take_though_a_thread_keeps_the_gil(node):
    keep_gil = ctypes.PyDLL(None).usleep
    ages = []
    subscription = node.subscribe(
        "t",
        "std_msgs/String",
        callback=lambda m: ages.append(baton.info(m).reception_time_ns - baton.info(m).source_time_ns),
    )
    publisher = node.advertise("t", "std_msgs/String")
    assert subscription.wait_for_publishers(1, 60)
    with spinning(node):
        time.sleep(0.1)  # mostly, the executor sleeps by then
        interval = sys.getswitchinterval()
        sys.setswitchinterval(10)
        try:
            publisher.publish({"data": "x"})
            keep_gil(500_000)
        finally:
            sys.setswitchinterval(interval)
        while not ages:
            time.sleep(0.01)
    assert ages[0] < 400_000_000


def test_types_are_classes_or_names_and_nothing_else(node):
    assert node.advertise("a", "std_msgs/Header").message_type is Header
    with pytest.raises(TypeError, match="no message type"):
        node.advertise("b", int)
    with pytest.raises(baton.InvalidArgument, match="name of a topic"):
        node.advertise("two words", String)


def test_a_signal_handler_that_calls_again_is_refused_and_the_first_call_goes_on():
    client = baton.Node("client").client("nobody", "std_srvs/SetBool")
    said = []

    def again(*_):
        try:
            client.call({"data": True}, timeout=0.01)  # allowed if the signal came between two calls
        except RuntimeError as error:
            said.append(str(error))

    before = signal.signal(signal.SIGUSR1, again)
    try:
        while not said:
            sender = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
            sender.start()
            assert client.call({"data": True}, timeout=0.5) is None
            sender.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert "is waiting for a response in another call" in said[0]
    assert client.call({"data": True}, timeout=0.01) is None
