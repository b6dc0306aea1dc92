# SPDX-License-Identifier: Apache-2.0
"""Serialized messages: CDR and ROS 1's wire straight into loans, and from received messages."""

import baton
import pytest
from baton import _core

CDR = b"\0\1\0\0" + b"\6\0\0\0hello\0"
BIG_ENDIAN = b"\0\0\0\0" + b"\0\0\0\6hello\0"
ROS1 = b"\5\0\0\0hello"


@pytest.fixture
def ends():
    node = baton.Node("n")
    publisher, subscription = node.advertise("t", "std_msgs/String"), node.subscribe("t", "std_msgs/String")
    assert publisher.wait_for_subscriptions(1, 120) and subscription.wait_for_publishers(1, 120)
    return publisher, subscription


@pytest.mark.parametrize(
    ("wire", "cdr"), [(CDR, True), (BIG_ENDIAN, True), (ROS1, False), (memoryview(CDR), True), (bytearray(ROS1), False)]
)
def test_a_wire_is_published_as_a_message_and_a_message_gives_each_wire(ends, wire, cdr):
    publisher, subscription = ends
    assert _core._publish_serialized(publisher, wire, cdr) == 1
    message = subscription.take(120)
    assert message.data == "hello"
    assert (_core._serialized(message, True), _core._serialized(message, False)) == (CDR, ROS1)


@pytest.mark.parametrize("wire", [b"", CDR[:7], CDR[:-1], b"\0\7" + CDR[2:], b"\0\1\0\0\xff\xff\xff\xff"])
def test_malformed_bytes_are_refused_and_keep_no_loan(ends, wire):
    publisher, subscription = ends
    with pytest.raises((baton.MalformedMessage, baton.Unsupported)):
        _core._publish_serialized(publisher, wire, True)
    assert publisher.memory.loaned_slots == 0
    _core._publish_serialized(publisher, CDR, True)
    assert subscription.take(120).data == "hello"


def test_a_loan_is_filled_from_a_wire_in_place_of_its_values(ends):
    publisher, subscription = ends
    for wire, cdr in ((CDR, True), (ROS1, False)):
        loan = publisher.loan()
        loan.data = "before"
        _core._fill_from_serialized(loan, wire, cdr)
        assert loan.data == "hello"
        publisher.publish(loan)
        assert subscription.take(120).data == "hello"
    loan = publisher.loan()
    with pytest.raises(baton.MalformedMessage):
        _core._fill_from_serialized(loan, CDR[:-1], True)
    del loan
    assert publisher.memory.loaned_slots == 0


def test_only_a_whole_loan_without_arrays_in_use_is_filled(ends):
    publisher, _ = ends
    loan = publisher.loan()
    publisher.publish(loan)
    with pytest.raises(baton.InvalidArgument, match="published or given back"):
        _core._fill_from_serialized(loan, CDR, True)
    with pytest.raises(ValueError, match="only a whole loan"):
        _core._fill_from_serialized(baton.message("std_msgs/String")(data="x"), CDR, True)
    images = baton.Node("other").advertise("image", "sensor_msgs/Image")
    image = images.loan()
    with pytest.raises(ValueError, match="only a whole loan"):
        _core._fill_from_serialized(image.header, CDR, True)
    image.data = [1, 2]
    array = image.data
    with pytest.raises(ValueError, match="only a whole loan"):
        _core._fill_from_serialized(image, CDR, True)
    assert list(array) == [1, 2]


def test_one_wire_becomes_the_other_by_the_class():
    cls = baton.message("std_msgs/String")
    assert _core._reserialized(cls, BIG_ENDIAN, True, True) == CDR
    assert _core._reserialized(cls, CDR, True, False) == ROS1
    assert _core._reserialized(cls, ROS1, False, True) == CDR
    with pytest.raises(baton.MalformedMessage):
        _core._reserialized(cls, ROS1[:-1], False, True)
    wide = baton.message_from_text("a/Wide", "wstring data")
    with pytest.raises(baton.Unsupported, match="no wide strings, and a/Wide has one"):
        _core._reserialized(wide, b"\0\1\0\0\0\0\0\0", True, False)


def test_other_objects_are_refused(ends):
    publisher, _ = ends
    for wrong in ("text", 5, None):
        with pytest.raises(TypeError):
            _core._publish_serialized(publisher, wrong, True)
        with pytest.raises(TypeError):
            _core._serialized(wrong, True)
        with pytest.raises(TypeError):
            _core._fill_from_serialized(wrong, CDR, True)
        with pytest.raises(TypeError):
            _core._reserialized(wrong, CDR, True, True)
    with pytest.raises(ValueError, match="only whole received messages"):
        _core._serialized(baton.message("std_msgs/String")(data="x"), True)


def test_a_message_inside_another_is_not_serialized_alone():
    node = baton.Node("n")
    publisher, subscription = node.advertise("scan", "sensor_msgs/Image"), node.subscribe("scan", "sensor_msgs/Image")
    assert publisher.wait_for_subscriptions(1, 120) and subscription.wait_for_publishers(1, 120)
    publisher.publish({"header": {"frame_id": "front"}})
    with pytest.raises(ValueError, match="only whole received messages"):
        _core._serialized(subscription.take(120).header, True)
