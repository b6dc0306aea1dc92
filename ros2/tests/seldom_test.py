# SPDX-License-Identifier: Apache-2.0
"""Topics on which each node publishes and subscribes have no connection of each with each, and no message is lost for that."""

FILE = "seldom_programs.py"


def test_nodes_that_all_subscribe_to_parameter_events_have_connections_only_for_messages(processes):
    count = 5
    members = [processes.start("baton", "member", str(count), file=FILE) for _ in range(count)]
    for each in members:
        each.says("going")
    for i, each in enumerate(members):
        each.tell()
        each.tell(str(i))
    for each in members:
        each.says("going")
    for each in members:
        each.tell()
    for each in members:
        report = processes.result(each)
        assert report["got"] == [f"mine{i}" for i in range(count)]
        assert report["matched"] == count


def test_the_last_message_of_a_node_that_ends_is_not_lost(processes):
    hearer = processes.start("baton", "hear_last_words", file=FILE).says("going")
    processes.result(processes.start("baton", "last_words", file=FILE))
    processes.result(hearer)
