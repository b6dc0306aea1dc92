# SPDX-License-Identifier: Apache-2.0
"""Habits of rclpy and rospy that are mistakes in Baton are refused at the call, and the error names the way out."""

import copy
import dataclasses
import pickle
import time

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
    assert publisher.wait_for_subscriptions(1, 120)
    sent = Image(width=2, data=[1, 2])
    publisher.publish(sent)
    assert subscription.take(120) == sent


def test_records_are_copied_and_pickled_and_do_not_change(node):
    publisher, subscription = node.advertise("image", Image), node.subscribe("image", Image)
    assert subscription.wait_for_publishers(1, 120)
    publisher.publish(Image())
    statuses = [publisher.statuses, subscription.statuses]
    records = [*statuses, publisher.counters, publisher.memory, subscription.losses, node.memory]
    for record in [*records, *node.endpoints()]:
        assert pickle.loads(pickle.dumps(record)) == copy.copy(record) == copy.deepcopy(record) == record
        assert dataclasses.asdict(record) == {
            each.name: getattr(record, each.name) for each in dataclasses.fields(record)
        }
        assert hash(pickle.loads(pickle.dumps(record))) == hash(record)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, dataclasses.fields(record)[0].name, 1)
    assert baton.Statuses is type(subscription.statuses) and type(publisher.counters).__module__ == "baton"
    assert repr(publisher.counters).startswith("PublisherCounters(published=1, copied_messages=1, copied_bytes=")
    assert publisher.memory.published_slots == 1 and node.memory.process_backed_bytes > 0
    assert {field.name: field.type for field in dataclasses.fields(publisher.statuses)}["last_refusal"] is str


def test_qualities_of_service_are_equal_if_all_their_policies_are():
    quality = baton.QoS(
        3, history="keep_all", durability="transient_local", deadline=0.1, lifespan=2, lease=None, held=2
    )
    same = pickle.loads(pickle.dumps(quality))
    assert same == copy.deepcopy(quality) == quality and hash(same) == hash(quality)
    assert (same.depth, same.history, same.deadline, same.lifespan, same.lease) == (3, "keep_all", 0.1, 2.0, None)
    assert quality != baton.QoS(3) != "a quality" and baton.QoS(3) == baton.QoS(3)


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


@pytest.mark.parametrize(
    ("make", "way"),
    [
        (
            lambda: baton.Publisher("image", Image, queue_size=10),
            "a Publisher is made by a node: write node.advertise(",
        ),
        (lambda: baton.Subscription("image", Image), "a Subscription is made by a node: write node.subscribe("),
        (lambda: baton.Service("switch", "std_srvs/SetBool", print), "a Service is made by a node: write node.serve("),
        (lambda: baton.Client("switch"), "a Client is made by a node: write node.client("),
        (lambda: baton.Timer(0.1, print), "a Timer is made by a node: write node.create_timer("),
    ],
    ids=["Publisher", "Subscription", "Service", "Client", "Timer"],
)
def test_an_object_that_a_node_makes_has_no_constructor(make, way):
    with pytest.raises(TypeError) as refused:
        make()
    assert way in str(refused.value)


def test_a_callback_with_other_arguments_is_refused_where_it_is_given(node):
    def on_timer(event): ...

    def on_switch(request): ...

    def on_image(message, info): ...

    with pytest.raises(TypeError, match="on_timer\\(event\\)' cannot be called with no argument"):
        node.create_timer(0.1, on_timer)
    with pytest.raises(TypeError, match="on_switch\\(request\\)' cannot be called with the request and the response"):
        node.serve("switch", "std_srvs/SetBool", on_switch)
    with pytest.raises(TypeError, match="on_image\\(message, info\\)' cannot be called with the message alone"):
        node.subscribe("image", Image, on_image)
    node.subscribe("image", Image, lambda message, more=1: None)
    node.subscribe("image", Image, [].append)


def test_the_order_of_rclpy_s_arguments_of_a_service_is_refused(node):
    SetBool = baton.service("std_srvs/SetBool")
    with pytest.raises(TypeError, match="serve\\(\\): the name comes first, then the type: serve\\('name', SetBool\\)"):
        node.serve(SetBool, "switch", lambda request, response: None)
    with pytest.raises(TypeError, match="client\\(\\): the name comes first"):
        node.client(SetBool, "switch")


def test_stamps_are_subtracted_added_and_compared_to_the_nanosecond():
    Header = baton.message("std_msgs/Header")
    Time, Duration = baton.message("builtin_interfaces/Time"), baton.message("builtin_interfaces/Duration")
    early = Header(stamp={"sec": 1_700_000_000, "nanosec": 999_999_999}).stamp
    late = Time(sec=1_700_000_002, nanosec=1)
    assert late - early == 1.000000002
    assert early - late == -1.000000002
    assert early + 0.000000002 == Time(sec=1_700_000_001, nanosec=1)
    assert (
        1 + early == early + Duration(sec=1) == Duration(sec=1) + early == Time(sec=1_700_000_001, nanosec=999_999_999)
    )
    assert late - 0.5 == late - Duration(nanosec=500_000_000) == Time(sec=1_700_000_001, nanosec=500_000_001)
    assert early < late and late > early and early <= late and not early >= late and late >= late
    assert Duration(sec=-1, nanosec=500_000_000) < Duration() < 0.1
    assert (early.to_sec(), early.to_nsec()) == (float(early), 1_700_000_000_999_999_999)
    assert (early.secs, early.nsecs, early.is_zero(), Time().is_zero()) == (1_700_000_000, 999_999_999, False, True)
    header = Header(stamp=early)
    header.stamp += 1.5
    assert header.stamp - early == 1.5
    header.stamp.secs, header.stamp.nsecs = 5, 6
    assert header.stamp == Time(sec=5, nanosec=6)
    before = time.time()
    header.stamp = before
    assert 0 <= time.time() - header.stamp < 3600
    assert header.stamp < time.time() + 1
    for wrong in (
        lambda: late + early,
        lambda: late - "1",
        lambda: late < "1",
        lambda: late < Duration(),
        lambda: late + float("nan"),
        lambda: late + True,
        lambda: "1" - late,
    ):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(OverflowError):
        _ = late + 1e10


def test_a_node_s_repr_has_its_name_and_domain(tmp_path):
    node = baton.Node("left", namespace="/arm", domain=7, runtime_directory=tmp_path)
    assert repr(node) == "Node('/arm/left', domain=7)"


def test_a_line_of_rospy_s_logger_with_arguments_names_the_way(node):
    with pytest.raises(TypeError, match=r"write logger\.info\(f'\{x\} frames'\)"):
        node.get_logger().info("%d frames", 3)
    with pytest.raises(TypeError, match="a line has one text, and 2 more arguments came"):
        node.get_logger().debug("%d of %d", 3, 4)  # also where the level is off


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        (lambda node: node.advertise("q", "std_msgs/Int32", qos="10"), TypeError, r"advertise\('q'\): qos is a queue length.*not '10'"),
        (lambda node: node.subscribe("q", "std_msgs/Int32", qos=2.5), TypeError, r"subscribe\('q'\): qos is a queue length.*not 2.5"),
        (lambda _: baton.QoS(reliabilty="best_effort"), TypeError, "no argument 'reliabilty'; did you mean reliability"),
        (lambda _: baton.QoS(xyz=1), TypeError, "no argument 'xyz'$"),
        (lambda _: baton.QoS(0), baton.InvalidArgument, 'QoS depth must be 1 to 65536, not 0.*history="keep_all"'),
        (lambda _: baton.QoS(-1), baton.InvalidArgument, "QoS depth must be 1 to 65536, not -1"),
        (lambda _: baton.QoS(held=65537), baton.InvalidArgument, "QoS held must be 1 to 65536, not 65537"),
        (lambda node: node.advertise("q", "std_msgs/Int32", 0), baton.InvalidArgument, "QoS depth must be 1 to 65536, not 0"),
    ],
)  # fmt: skip
def test_a_wrong_quality_of_service_is_refused_at_the_call(node, wrong, error, said):
    with pytest.raises(error, match=said) as refused:
        wrong(node)
    assert "arg0" not in str(refused.value)


def test_every_policy_of_a_qos_has_a_value_between_its_bounds():
    assert (baton.QoS(1).depth, baton.QoS(65536, held=1).depth, baton.QoS(held=65536).held) == (1, 65536, 65536)
