# SPDX-License-Identifier: Apache-2.0
"""How a node of your own is tested with pytest: in a directory of its own, without another thread, and without waiting."""

import baton
import pytest


class Counter:
    """The node under test: it counts what it hears, and says the count once a second."""

    def __init__(self, node):
        self.count = 0
        self.counts = node.advertise("count", "std_msgs/Int32")
        node.subscribe("words", "std_msgs/String", self.on_word)
        node.create_timer(1.0, self.on_second)

    def on_word(self, message):
        if message.data:
            self.count += 1

    def on_second(self):
        self.counts.publish({"data": self.count})


@pytest.fixture
def make_node(tmp_path):
    """make_node(name): all nodes of one test meet in its directory, and no other node of the machine is there."""
    tmp_path.chmod(0o700)
    nodes = []

    def make(name):
        nodes.append(baton.Node(name, runtime_directory=tmp_path, use_global_arguments=False))
        return nodes[-1]

    yield make
    for node in nodes:
        node.close()


def test_words_are_counted_and_empty_ones_are_not(make_node):
    node, tester = make_node("counter"), make_node("tester")
    counter = Counter(node)
    words = tester.advertise("words", "std_msgs/String")
    counts = tester.subscribe("count", "std_msgs/Int32")
    assert words.wait_for_subscriptions(1, 30) and counts.wait_for_publishers(1, 30)

    executor = baton.Executor(node)
    for text in ("one", "", "two"):
        words.publish({"data": text})
    while counter.count < 2:
        assert executor.spin_once(30), "nothing came"  # one callback; False after 30 s
    counter.on_second()  # the timer's callback is a function: a test needs no second
    assert counts.take(30).data == 2
