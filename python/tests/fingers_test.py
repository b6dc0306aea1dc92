# SPDX-License-Identifier: Apache-2.0
"""What fingers of rclpy and rospy write by mistake is refused with the way out, where it is written."""

import copy
import dataclasses
import pickle

import baton
import numpy as np
import pytest

Image = baton.message("sensor_msgs/Image")
Path = baton.message("nav_msgs/Path")
PoseStamped = baton.message("geometry_msgs/PoseStamped")


@pytest.fixture
def node(tmp_path):
    with baton.Node("fingers", runtime_directory=tmp_path) as made:
        yield made


def test_messages_are_equal_if_their_contents_are():
    one = Image(width=3, encoding="mono8", data=np.arange(6, dtype=np.uint8))
    same = Image(width=3, encoding="mono8", data=np.arange(6, dtype=np.uint8))
    assert one == same == copy.copy(one) == copy.deepcopy(one) == pickle.loads(pickle.dumps(one))
    same.data[5] = 0
    assert one != same
    assert one != Image(width=3, encoding="mono8", data=np.arange(5, dtype=np.uint8))
    assert one != "an image"
    assert one != PoseStamped()
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_messages_in_messages_are_compared_too():
    def path(z):
        return Path(poses=[PoseStamped(), PoseStamped(pose={"position": {"z": z}})])

    assert path(1.0) == path(1.0)
    assert path(1.0) != path(2.0)
    assert path(1.0) != Path()


def test_a_received_message_equals_the_one_that_was_published(node):
    publisher, subscription = node.advertise("image", Image), node.subscribe("image", Image)
    assert publisher.wait_for_subscriptions(1, 10)
    sent = Image(width=2, data=[1, 2])
    publisher.publish(sent)
    assert subscription.take(10) == sent


def test_statuses_memory_and_counters_are_dataclasses(node):
    publisher, subscription = node.advertise("image", Image), node.subscribe("image", Image)
    for record in (publisher.statuses, publisher.counters, publisher.memory, subscription.statuses, node.memory):
        assert dataclasses.is_dataclass(record)
        assert dataclasses.replace(record) == record
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, dataclasses.fields(record)[0].name, 1)
    assert repr(publisher.counters) == "PublisherCounters(published=0, copied_messages=0, copied_bytes=0)"
    assert type(publisher.counters).__module__ == "baton"
    assert {field.name: field.type for field in dataclasses.fields(publisher.statuses)}["last_refusal"] is str


@pytest.mark.parametrize("value", [2.0, 2, "text", True])
def test_a_value_in_the_place_of_a_parameter_s_type_is_refused(value):
    with pytest.raises(TypeError, match="write Parameter\\('gain', value="):
        baton.Parameter("gain", value)


def test_a_queue_length_in_the_place_of_the_callback_is_refused(node):
    with pytest.raises(TypeError, match="subscribe\\('image'\\): the callback 10 cannot be called; write qos=10"):
        node.subscribe("image", Image, 10)
    with pytest.raises(TypeError, match="cannot be called; pass a function"):
        node.subscribe("image", Image, "on_image")


def test_a_coroutine_function_as_a_callback_is_refused(node):
    async def on_image(message): ...

    for make in (
        lambda: node.subscribe("image", Image, on_image),
        lambda: node.create_timer(0.1, on_image),
        lambda: node.serve("switch", "std_srvs/SetBool", on_image),
    ):
        with pytest.raises(TypeError, match="cannot await the coroutine function 'on_image'"):
            make()


def test_the_order_of_rclpy_s_arguments_is_refused(node):
    with pytest.raises(TypeError, match="the topic comes first, then the type: advertise\\('topic', Image\\)"):
        node.advertise(Image, "image", 10)
    with pytest.raises(TypeError, match="subscribe\\('topic', Image\\)"):
        node.subscribe(Image, "image", print, 10)


def test_a_period_that_is_no_number_is_refused(node):
    with pytest.raises(TypeError, match="the period '0.1' is no number of seconds"):
        node.create_timer("0.1", print)


def test_the_names_of_other_apis_are_answered_with_baton_s(node):
    with pytest.raises(AttributeError, match="a node has no 'create_publisher'; write advertise"):
        node.create_publisher(Image, "image", 10)
    with pytest.raises(AttributeError, match="a node has no 'nonsense'$"):
        _ = node.nonsense
    assert not hasattr(node, "create_subscription")


def test_a_node_s_repr_has_its_name_and_domain(tmp_path):
    node = baton.Node("left", namespace="/arm", domain=7, runtime_directory=tmp_path)
    assert repr(node) == "Node('/arm/left', domain=7)"
