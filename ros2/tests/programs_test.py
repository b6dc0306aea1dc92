# SPDX-License-Identifier: Apache-2.0
"""Unmodified rclpy programs in processes of their own, over rmw_baton_cpp, and over the stock RMW, which shows that a test asks for no
more than ROS 2 promises. What crosses between the two is in bridge_test.py."""

import struct

import pytest

IDENTIFIER = {"plain": "rmw_fastrtps_cpp", "baton": "rmw_baton_cpp"}


@pytest.mark.parametrize("kind", ["default", "best_effort", "durable"])
@pytest.mark.parametrize("rmw", IDENTIFIER)
def test_a_listener_hears_a_talker_in_order(processes, rmw, kind):
    count = 1 if kind == "best_effort" else 20
    talker = processes.start(rmw, "talk", kind, "300" if kind == "best_effort" else "20", "1")
    heard = processes.result(processes.start(rmw, "listen", kind, str(count)))
    said = processes.result(talker)
    every = [f"hello {i}" for i in range(300 if kind == "best_effort" else 20)]
    if kind == "best_effort":
        assert heard["got"] and set(heard["got"]) <= set(every)
    else:
        assert heard["got"] == every
    assert said["rmw"] == heard["rmw"] == IDENTIFIER[rmw]


@pytest.mark.parametrize("rmw", IDENTIFIER)
def test_a_serialized_take_gives_the_bytes_of_dds(processes, rmw):
    listener = processes.start(rmw, "listen_raw", "11")
    talker = processes.start(rmw, "talk", "default", "11", "1")
    raw = processes.result(listener)["got"]
    processes.result(talker)
    # Little-endian CDR, which DDS fills up to four bytes; the last text needs that.
    texts = [f"hello {i}".encode() for i in range(11)]
    cdr = [b"\0\1\0\0" + struct.pack("<I", len(each) + 1) + each + b"\0" for each in texts]
    assert [bytes.fromhex(each) for each in raw] == [each + b"\0" * (-len(each) % 4) for each in cdr]


@pytest.mark.parametrize("rmw", IDENTIFIER)
def test_services_and_parameters_answer(processes, rmw):
    serving = processes.start(rmw, "serve")
    answer = processes.result(processes.start(rmw, "call"))
    assert (answer["value"], answer["text"], answer["color"]) == (42, "notab", "red")
    assert processes.result(serving)["stopped"]


@pytest.mark.parametrize("rmw", IDENTIFIER)
def test_two_subscriptions_of_the_publishers_own_process_hear_it(processes, rmw):
    heard = processes.result(processes.start(rmw, "hear_own"))
    assert heard["got"] == heard["others"] == list(range(10)) and heard["acked"]
