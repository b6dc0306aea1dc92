# SPDX-License-Identifier: Apache-2.0
"""Events and diagnostics reach Python callbacks, which never hold the background thread up."""

import gc
import queue
import threading
import weakref

import baton
from baton.msg.std_msgs import String


def test_events_of_both_ends_are_called_by_name():
    node = baton.Node("n")
    publisher = node.advertise("t", String, baton.QoS(reliability="best_effort"))
    offered, requested = queue.Queue(), queue.Queue()
    publisher.on_event(lambda event: offered.put((event, threading.current_thread().name)))
    refused = node.subscribe("t", String)  # asks for more than is offered
    refused.on_event(requested.put)
    assert offered.get(timeout=240) == ("incompatible_qos", "baton news")
    fits = node.subscribe("t", String, qos=baton.QoS(reliability="best_effort"))
    assert offered.get(timeout=240)[0] == "matched"
    assert fits.matched == 1 or fits.wait_for_publishers(1, 120)
    late = node.subscribe("t", String, qos=baton.QoS(1, reliability="best_effort"))
    lost = queue.Queue()
    late.on_event(lost.put)
    assert late.wait_for_publishers(1, 120)
    for _ in range(5):
        publisher.publish({"data": "x"})
    assert late.take(120).data == "x"
    while lost.get(timeout=240) != "message_lost":
        pass


def test_none_as_callback_ends_the_calls_and_releases_the_callback():
    node = baton.Node("n")
    publisher = node.advertise("t", String)
    seen = queue.Queue()

    class Callback:
        def __call__(self, event):
            seen.put(event)

    callback = Callback()
    gone = threading.Event()
    weakref.finalize(callback, gone.set)
    publisher.on_event(callback)
    first = node.subscribe("t", String)
    assert seen.get(timeout=240) == "matched"
    publisher.on_event(None)
    del callback
    gc.collect()
    assert gone.wait(120)
    assert first.wait_for_publishers(1, 120)  # its side comes after the publisher's


def test_an_exception_in_a_callback_is_reported_and_the_next_is_called(monkeypatch):
    reported = queue.Queue()
    monkeypatch.setattr(threading, "excepthook", lambda args: reported.put(args.exc_type))
    node = baton.Node("n")
    publisher = node.advertise("t", String)

    def wrong(event):
        raise KeyError(event)

    publisher.on_event(wrong)
    subscriptions = []
    for _ in range(2):  # one after the other: events of one kind that wait are one call
        subscriptions.append(node.subscribe("t", String))
        assert reported.get(timeout=240) is KeyError


def test_diagnostics_reach_the_node_that_asked_for_them(programs):
    told = queue.Queue()
    node = baton.Node("n", on_diagnostic=told.put)
    publisher = node.advertise("t", String)
    other = programs.python("""
        import baton
        node = baton.Node('other')
        strange = baton.message_from_text('std_msgs/String', 'uint8[] data')
        subscription = node.subscribe('t', strange)
        input()
    """)
    diagnostic = told.get(timeout=240)
    assert isinstance(diagnostic, baton.Diagnostic)
    assert diagnostic.level == "error"
    assert diagnostic.code
    assert "std_msgs/String" in diagnostic.text
    assert publisher.matched == 0
    assert other.poll() is None


def test_the_interpreter_ends_and_forks_with_callbacks(programs):
    process = programs.python("""
        import baton, os
        node = baton.Node('n', on_diagnostic=print)
        publisher = node.advertise('t', 'std_msgs/String')
        publisher.on_event(lambda event: None)
        child = os.fork()
        if child == 0:
            import threading
            own = baton.Node('child').advertise('child', 'std_msgs/String')
            heard = threading.Event()
            own.on_event(lambda event: heard.set())
            mine = baton.Node('other').subscribe('child', 'std_msgs/String')
            os._exit(0 if heard.wait(120) else 1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        subscription = node.subscribe('t', 'std_msgs/String')
        raise SystemExit(code)
    """)
    assert process.ends()[1] == ""


def test_events_that_wait_for_a_callback_are_one_call_of_each_kind():
    node = baton.Node("n")
    publisher = node.advertise("t", String)
    called, go = queue.Queue(), threading.Event()
    publisher.on_event(lambda event: (called.put(event), go.wait(240)))
    for _ in range(50):
        subscription = node.subscribe("t", String)
        assert publisher.wait_for_subscriptions(1, 120)
        del subscription
        assert node.wait_for(lambda: publisher.matched == 0, 120)
    assert publisher.statuses.matched_total == 50
    go.set()
    last = queue.Queue()
    node.advertise("end", String).on_event(last.put)  # the calls have one order
    other = node.advertise("end", String)
    other.on_event(last.put)
    end = node.subscribe("end", String)
    assert last.get(timeout=240) == "matched" and end.topic == "/end"
    assert called.qsize() <= 4, "the first ones, and those that waited together"
