# SPDX-License-Identifier: Apache-2.0
"""Recompiled servers and clients of actionlib, beside stock ones."""

import re

import pytest
from ros1_network import BUILD, PAIRS, named

pytestmark = [
    pytest.mark.own_master,  # its topics have absolute names
    pytest.mark.skipif(
        not (BUILD / "bin" / "ros1_recompiled_action_node").exists(),
        reason="needs libactionlib-dev: make build-ros1",
    ),
]
# Feedback and result are two topics, so feedback may come after the result.
COUNTED = {"active", "feedback 1", "feedback 2", "feedback 3", "done SUCCEEDED 'counted' 6"}


def pairs(ros):
    """A server and a client of each pair."""
    for server, client in ros.each(PAIRS):
        yield ros.start(server, "action_node"), ros.start(client, "action_node", *named("asks"))


def test_a_client_of_every_pair_waits_for_its_server_and_gets_feedbacks_and_results_and_cancels_its_goals(ros):
    for server, client in pairs(ros):
        assert client.ask("client", 0.2) == "not there"
        assert server.ask("serve") == "serving"
        assert client.ask("client") == "there"
        assert client.ask("call", 4) == "SUCCEEDED 'counted' 8"
        assert client.ask("call", 0) == "ABORTED 'aborted' -1"
        client.tell("send 3")
        assert {client.line() for _ in COUNTED} == COUNTED
        assert client.ask("results", 60) == "60 good"
        assert client.ask("call", -5, 300) == "PREEMPTED 'preempted' -5", "it waits for 300 ms"
        assert client.ask("send", -6) == "active"
        assert client.ask("cancel") == "done PREEMPTED 'preempted' -6"
        assert client.ask("send", -7) == "active"
        assert client.ask("call", 2) == "SUCCEEDED 'counted' 4"
        assert server.end() == 0
        ros.start("recompiled", "action_node").ask("serve")  # in its place
        assert client.ask("client", 60) == "there"
        assert client.ask("call", 1) == "SUCCEEDED 'counted' 2"
        assert client.end() == 0


def test_goal_handles_of_every_pair_go_through_their_states(ros):
    for server, client in pairs(ros):
        assert server.ask("serve", "plain") == "serving"
        client.tell("plain 11")
        word, number, identifier = server.line().split()
        assert (word, number) == ("goal", "11")
        assert re.fullmatch(r"/asks-1-\d+\.\d+", identifier)
        assert client.line() == "PENDING"
        assert server.ask("accept") == "done"
        assert client.line() == "ACTIVE"
        assert server.ask("succeed", 12) == "done"
        rest = [client.line() for _ in range(3)]
        assert set(rest) == {"feedback 3", "WAITING_FOR_RESULT", "DONE SUCCEEDED 12"}, rest

        client.tell("plain 13")
        assert server.line().startswith("goal 13 /asks-2-")
        assert client.line() == "PENDING"
        server.ask("reject")
        assert [client.line() for _ in range(2)] == ["WAITING_FOR_RESULT", "DONE REJECTED -7"]

        client.tell("plain 14")
        assert server.line().startswith("goal 14 /asks-3-")
        assert client.line() == "PENDING"
        server.ask("accept")
        assert client.line() == "ACTIVE"
        assert client.ask("cancel", "plain") == "WAITING_FOR_CANCEL_ACK"
        assert server.line() == "asked to cancel 14"
        assert server.ask("cancelled") == "done"
        states = [client.line()]
        while not states[-1].startswith("DONE"):
            states.append(client.line())
        assert states[-1] == "DONE PREEMPTED -8"
        assert set(states[:-1]) <= {"PREEMPTING", "WAITING_FOR_RESULT"}
