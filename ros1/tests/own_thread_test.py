# SPDX-License-Identifier: Apache-2.0
"""SubscribeOptions::own_thread: callbacks in a thread of the subscription, without roscpp's callback queue. In mode lotros."""

from ros1_network import LARGE, image, tcp_bytes


def test_messages_of_baton_call_back_in_order_while_nothing_spins_and_not_after_ros_shutdown(ros):
    listener, talker = ros.api_listener(LISTENER_OWN_THREAD="1"), ros.api_talker()
    talker.do("subscribers 1")
    talker.do(f"publish {LARGE} 20 1")
    assert [listener.line() for _ in range(20)] == [image(i + 1) for i in range(20)]
    talker.do("publish 10 1 0")  # what came too often would come before
    assert listener.line() == image(21, 10)
    listener.do("shutdown")
    talker.do(f"publish {LARGE} 5 1")
    assert listener.end() == 0
    assert listener.more(0) == []


def test_messages_of_stock_publishers_wait_for_a_spin(ros):
    listener, talker, stock = ros.api_listener(LISTENER_OWN_THREAD="1"), ros.talker(False), ros.listener(False)
    talker.do("subscribers 2")
    talker.do(f"publish {LARGE} 3 0")
    assert [stock.line() for _ in range(3)] == [image(i + 1) for i in range(3)]
    while tcp_bytes(listener) < 3 * LARGE:  # which fails if an image is printed
        pass
    lines = []
    while len(lines) < 3:  # one call runs only what roscpp's threads have put into the queue
        listener.tell("spin")
        while (line := listener.line()) != "done spin":
            lines.append(line)
    assert lines == [image(i + 1) for i in range(3)]


def test_a_callback_may_end_its_own_subscription(ros):
    listener, talker = ros.api_listener(LISTENER_OWN_THREAD="1", LISTENER_LAST="3"), ros.api_talker()
    talker.do("subscribers 1")
    talker.do(f"publish {LARGE} 5 1")
    assert [listener.line() for _ in range(3)] == [image(i + 1) for i in range(3)]
    talker.do("subscribers 0")
    assert listener.end() == 0
    assert listener.more(0) == []
