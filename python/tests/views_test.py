# SPDX-License-Identifier: Apache-2.0
"""Messages as views: every kind of field, in received messages, loans and private messages."""

import array
import copy
import importlib
import pathlib
import pickle
import time
import tracemalloc
import warnings

import baton
import numpy as np
import pytest
from baton.msg.diagnostic_msgs import DiagnosticArray
from baton.msg.geometry_msgs import Pose, PoseArray, Quaternion
from baton.msg.nav_msgs import Path
from baton.msg.sensor_msgs import CameraInfo, Image, JointState, PointCloud2
from baton.msg.std_msgs import Header

EVERYTHING = """
bool flag
int8 i8
uint8 u8
int16 i16
uint16 u16
int32 i32
uint32 u32
int64 i64
uint64 u64
float32 f32
float64 f64
string text
wstring wide
bool[] flags
int16[3] triple
uint64[] numbers
float32[<=4] few
string[] names
string[2] pair
geometry_msgs/Point[] points
geometry_msgs/Point[2] two
std_msgs/Header[] headers
std_msgs/Header[2] both
std_msgs/Header header
string<=5 short
"""


def everything():
    return baton.message_from_text("views_test/Everything", EVERYTHING)


VALUES = {
    "flag": True,
    "i8": -8,
    "u8": 200,
    "i16": -300,
    "u16": 60000,
    "i32": -70000,
    "u32": 4000000000,
    "i64": -(2**60),
    "u64": 2**63 + 1,
    "f32": 0.5,
    "f64": 0.1,
    "text": "größe",
    "wide": "weit 🚀",
    "flags": [True, False, True],
    "triple": [1, 2, -3],
    "numbers": [1, 2**63],
    "few": [1.5, 2.5],
    "names": ["a", "", "a longer name"],
    "pair": ["x", "yy"],
    "points": [{"x": 1.0, "y": 2.0, "z": 3.0}, {"x": 4.0, "y": 5.0, "z": 6.0}],
    "two": [{"x": 1.0}, {"z": 2.0}],
    "headers": [{"frame_id": "one", "stamp": {"sec": 1}}, {"frame_id": "two"}],
    "both": [{"frame_id": "l"}, {"frame_id": "r", "stamp": {"nanosec": 7}}],
    "header": {"frame_id": "h", "seq": 3},
    "short": "12345",
}


def check_everything(m):
    for name in ("flag", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "text", "wide", "short"):
        assert getattr(m, name) == VALUES[name], name
    for name in ("flags", "triple", "numbers", "few"):
        assert isinstance(getattr(m, name), np.ndarray)
        assert getattr(m, name).tolist() == VALUES[name], name
    assert list(m.names) == VALUES["names"]
    assert m.pair == ["x", "yy"]
    assert m.points["x"].tolist() == [1.0, 4.0]
    assert m.points["z"].tolist() == [3.0, 6.0]
    assert m.two["x"].tolist() == [1.0, 0.0]
    assert [h.frame_id for h in m.headers] == ["one", "two"]
    assert m.headers[0].stamp.sec == 1
    assert [h.frame_id for h in m.both] == ["l", "r"]
    assert m.both[-1].stamp.nanosec == 7
    assert (m.header.frame_id, m.header.seq) == ("h", 3)


@pytest.fixture
def pair():
    """make(type) -> publisher, subscription on one topic."""
    node = baton.Node("views")

    def make(message_type, **options):
        publisher = node.advertise("topic", message_type, 100)
        subscription = node.subscribe("topic", message_type, qos=baton.QoS(100, **options))
        assert publisher.wait_for_subscriptions(1, 120)
        return publisher, subscription

    return make


def test_every_kind_of_field_survives_private_loan_and_received_messages(pair):
    cls = everything()
    private = cls(VALUES)
    check_everything(private)
    publisher, subscription = pair(cls)
    publisher.publish(VALUES)
    publisher.publish(private)
    loan = publisher.loan()
    for name, value in VALUES.items():
        setattr(loan, name, value)
    check_everything(loan)
    publisher.publish(loan)
    received = [subscription.take(120) for _ in range(3)]
    for message in received:
        check_everything(message)
        check_everything(cls(message))
        check_everything(baton.copy(message))
        check_everything(copy.copy(message))
        check_everything(copy.deepcopy([message])[0])
    publisher.publish(received[0])
    check_everything(subscription.take(120))
    check_everything(cls(baton.to_dict(received[0])))


def test_copies_and_pickles_of_a_received_message_are_private_and_writable(pair):
    publisher, subscription = pair(PointCloud2)
    publisher.publish(
        {"header": {"frame_id": "map"}, "fields": [{"name": "x"}, {"name": "y"}], "data": bytes(range(100))}
    )
    received = subscription.take(120)
    copies = [copy.copy(received), copy.deepcopy(received), pickle.loads(pickle.dumps(received))]
    del received
    for made in copies:
        assert type(made) is PointCloud2
        made.data[0] = 7
        assert (made.header.frame_id, [f.name for f in made.fields], bytes(made.data[:3])) == (
            "map",
            ["x", "y"],
            b"\x07\1\2",
        )


def test_stamps_take_and_give_seconds():
    header = Header(frame_id="map", stamp=12.25)
    assert (header.stamp.sec, header.stamp.nanosec, float(header.stamp)) == (12, 250_000_000, 12.25)
    header.stamp = 3
    assert (header.stamp.sec, header.stamp.nanosec) == (3, 0)
    header.stamp = -0.5
    assert (header.stamp.sec, header.stamp.nanosec, float(header.stamp)) == (-1, 500_000_000, -0.5)
    header.stamp = 1.9999999999
    assert (header.stamp.sec, header.stamp.nanosec) == (2, 0)
    now = time.time()
    header.stamp = now
    assert abs(float(header.stamp) - now) < 1e-6
    for wrong, error in ((float("nan"), ValueError), (1e300, OverflowError), (True, TypeError), ("1.0", TypeError)):
        with pytest.raises(error):
            header.stamp = wrong
    with pytest.raises(TypeError):
        Path().header = 1.0
    with pytest.raises(TypeError):
        baton.message_from_text("builtin_interfaces/Time", "int32 sec")(1.5)


def test_a_pickle_of_a_class_from_text_is_refused():
    cls = baton.message_from_text("own/Text", "int32 a")
    with pytest.raises(pickle.PicklingError, match="own"):
        pickle.dumps(cls(a=1))


def test_a_received_message_cannot_be_written(pair):
    publisher, subscription = pair(everything())
    publisher.publish(VALUES)
    message = subscription.take(120)
    for name, value in VALUES.items():
        with pytest.raises(baton.InvalidArgument, match="read-only"):
            setattr(message, name, value)
    with pytest.raises(ValueError, match="read-only"):
        message.numbers[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        message.points["x"] = 1
    with pytest.raises(baton.InvalidArgument, match="read-only"):
        message.names.append("more")
    with pytest.raises(baton.InvalidArgument, match="read-only"):
        message.headers[0].frame_id = "x"
    with pytest.raises(ValueError):
        message.numbers.flags.writeable = True
    check_everything(message)


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("u8", 256, OverflowError),
        ("u8", -1, OverflowError),
        ("i64", 2**63, OverflowError),
        ("u64", -1, OverflowError),
        ("i32", "text", TypeError),
        ("i32", 1.5, TypeError),
        ("f64", "text", TypeError),
        ("text", 5, TypeError),
        ("short", "123456", ValueError),
        ("few", [1, 2, 3, 4, 5], ValueError),
        ("triple", [1, 2], ValueError),
        ("numbers", "text", TypeError),
        ("numbers", 5, TypeError),
        ("numbers", np.array([1.5]), TypeError),
        ("points", [5], TypeError),
        ("header", 5, TypeError),
        ("header", {"nothing": 1}, TypeError),
        ("names", ["a", 5], TypeError),
        ("numbers", np.array([1, -1]), OverflowError),
        ("triple", np.array([1, 2, 2**15]), OverflowError),
        ("triple", np.array([1, 2, 2**16 - 1], np.uint16), OverflowError),
        ("flag", 2, OverflowError),
        ("flag", None, TypeError),
        ("flag", "x", TypeError),
        ("flag", 1.0, TypeError),
        ("flag", [], TypeError),
        ("flags", [True, 2], OverflowError),
        ("flags", np.array([0, 2], np.uint8), OverflowError),
        ("wide", 5, TypeError),
        ("points", np.zeros(2, [("x", "f8"), ("y", "f8")]), TypeError),
        ("points", np.ones((2, 3)), TypeError),
        ("points", np.zeros(1, [("x", "c16"), ("y", "f8"), ("z", "f8")]), TypeError),
    ],
)
def test_a_wrong_value_is_refused_by_name(field, value, error):
    message = everything()()
    names = {"header": "std_msgs/Header", "points": "Point|'points", "few": "few: 5"}
    with pytest.raises(error, match=names.get(field, f"'{field}'")):
        setattr(message, field, value)


def test_integers_of_other_types_are_taken_where_they_fit():
    message = everything()(numbers=np.array([1, 2**40]), triple=np.array([1, 2, -3]), flags=np.array([0, 1]))
    assert (message.numbers.tolist(), message.triple.tolist()) == ([1, 2**40], [1, 2, -3])
    assert message.flags.tolist() == [False, True]
    message.triple = np.array([2**15 - 1, 0, 1], np.uint64)
    assert message.triple[0] == 2**15 - 1
    message.flag = np.True_
    assert message.flag is True
    message.flag = 0
    assert message.flag is False
    assert baton.message_from_text("views_test/Signed", "int8[] data")(data=b"\x01\xff").data.tolist() == [1, -1]


def test_fields_of_structured_arrays_are_matched_by_name():
    points = np.zeros(2, [("z", "f4"), ("x", "f8"), ("y", "i4")])
    points["x"], points["z"] = [1, 2], [3, 4]
    message = everything()(points=points, two=points)
    for field in (message.points, message.two):
        assert (field["x"].tolist(), field["z"].tolist()) == ([1, 2], [3, 4])
    assert baton.message("geometry_msgs/Point")(points[1]).z == 4


def test_unknown_fields_are_refused():
    with pytest.raises(TypeError, match="no field 'colour'"):
        Image(colour=1)
    with pytest.raises(AttributeError):
        Image().colour = 1


@pytest.mark.parametrize(
    "value",
    [
        b"\x01\x02\x03",
        bytearray(b"\x01\x02\x03"),
        memoryview(b"\x01\x02\x03"),
        array.array("B", [1, 2, 3]),
        np.array([1, 2, 3], np.uint8),
        np.array([1, 9, 2, 9, 3], np.uint8)[::2],
        np.array([[1], [2], [3]], np.uint8),
        [1, 2, 3],
        (1, 2, 3),
        range(1, 4),
    ],
    ids=lambda v: type(v).__name__,
)
def test_bytes_come_from_anything_that_holds_bytes(value):
    message = Image(data=value)
    assert message.data.tolist() == [1, 2, 3]
    assert message.data.dtype == np.uint8


def test_numbers_are_converted_only_where_no_more_than_precision_is_lost():
    message = JointState(position=np.array([1, 2], np.float32))
    assert message.position.tolist() == [1.0, 2.0]
    message.position = np.array([1, 2], ">f8")
    assert message.position.tolist() == [1.0, 2.0]
    with pytest.raises(TypeError):
        Image(data=np.array([1.5]))


def test_structured_arrays_go_in_and_out_as_one_block(pair):
    publisher, subscription = pair(PoseArray)
    with publisher.loan() as message:
        message.poses.resize(2000)
        message.poses["position"]["x"] = np.arange(2000)
        assert message.poses["orientation"]["w"].tolist() == [1.0] * 2000  # ROS 2's default
    received = subscription.take(120)
    poses = received.poses
    assert poses.dtype == Pose.dtype
    assert poses["position"]["x"][1999] == 1999
    again = PoseArray(poses=poses)
    assert np.array_equal(again.poses, poses)
    assert PoseArray(poses=poses[::2]).poses["position"]["x"][1] == 2
    assert Pose(poses[7]).position.x == 7


def test_defaults_of_the_definition_are_there_from_the_start(pair):
    assert Quaternion().w == 1.0
    cls = baton.message_from_text(
        "views_test/Defaults",
        'string name "bob"\nint32[] list [1, 2]\nint8[2] two [3, 4]\ngeometry_msgs/Pose pose\nint32 n 7',
    )
    publisher, subscription = pair(cls)
    with publisher.loan():
        pass
    for message in (cls(), subscription.take(120)):
        assert (message.name, message.n, message.pose.orientation.w) == ("bob", 7, 1.0)
        assert (message.list.tolist(), message.two.tolist()) == ([1, 2], [3, 4])
    outer = baton.message_from_text("views_test/Outer", "geometry_msgs/PoseStamped[] poses")(poses=[{}])
    assert outer.poses[0].pose.orientation.w == 1.0


def test_fields_have_the_names_of_both_ros_generations():
    info = CameraInfo(D=[1.0], k=range(9))
    assert info.d.tolist() == [1.0]
    assert info.K.tolist() == list(range(9))
    header = Header(stamp={"secs": 4, "nsec": 5})
    assert (header.stamp.sec, header.stamp.nsec, header.stamp.nanosec) == (4, 5, 5)


@pytest.mark.parametrize("where", ["private", "loan"])
def test_sequences_grow_shrink_and_keep_their_values(pair, where):
    publisher, subscription = pair(DiagnosticArray)
    message = publisher.loan() if where == "loan" else DiagnosticArray()
    for i in range(50):
        message.status.append({"name": f"component {i}", "values": [{"key": "k" * i, "value": str(i)}]})
    message.status.resize(40)
    message.status.resize(45)
    message.status[-1].name = "new"
    message.status[0] = {"name": "first"}
    with pytest.raises(IndexError):
        message.status[45]
    with pytest.raises(TypeError):
        message.status.append(5)
    assert len(message.status) == 45
    publisher.publish(message)
    received = subscription.take(120)
    assert [s.name for s in received.status[:3]] == ["first", "component 1", "component 2"]
    assert received.status[39].values[0].key == "k" * 39
    assert received.status[40].name == ""
    assert received.status[-1].name == "new"


@pytest.mark.parametrize("where", ["private", "loan"])
def test_arrays_taken_before_a_resize_stay_valid_but_are_left_behind(pair, where):
    publisher, _ = pair(PointCloud2)
    message = publisher.loan() if where == "loan" else PointCloud2()
    message.data = range(100)
    before = message.data
    message.fields.resize(3)  # something behind it, so that it must move
    message.data.resize(100_000)
    assert before.tolist() == list(range(100))
    before[:] = 0
    assert message.data[:100].tolist() == list(range(100))
    message.data = []
    message.data.resize(10)
    assert before.tolist() == [0] * 100


@pytest.mark.parametrize("where", ["private", "loan"])
def test_an_array_inside_an_element_keeps_the_element_that_is_left_behind(where):
    part = "=" * 80 + "\nMSG: test_msgs/Part\nstring name\nfloat64[36] numbers\n"
    kind = baton.message_from_text("test_msgs/Parts", "test_msgs/Part[] parts\n" + part)
    publisher = baton.Node("parts").advertise("parts", kind)
    message = kind() if where == "private" else publisher.loan()
    message.parts.resize(1)
    message.parts[0].numbers[:] = 7
    array = message.parts[0].numbers
    message.parts.resize(3000)  # moves
    others = [kind() for _ in range(50)]
    for each in [*others, message]:  # takes memory that was freed
        each.parts.resize(max(1, len(each.parts)))
        for one in each.parts:
            one.numbers[:] = 0
    assert array.tolist() == [7.0] * 36
    array[0] = 5
    assert all(each.parts[0].numbers[0] == 0 for each in others) and message.parts[0].numbers[0] == 0


def test_views_of_elements_that_were_left_behind_say_so():
    message = DiagnosticArray(status=[{"name": "a"}])
    element = message.status[0]
    message.status.resize(1000)
    with pytest.raises(baton.InvalidArgument, match="resized"):
        element.name  # noqa: B018
    assert message.status[0].name == "a"


def test_only_the_field_itself_can_be_resized():
    message = Image(data=range(10))
    with pytest.raises(ValueError, match="resize the field"):
        message.data[2:].resize(5)


def test_a_loan_is_over_when_it_was_published(pair):
    publisher, subscription = pair(Image)
    image = publisher.loan()
    header = image.header
    publisher.publish(image)
    for use in (lambda: image.width, lambda: header.frame_id, lambda: publisher.publish(image), lambda: str(image)):
        with pytest.raises(baton.InvalidArgument, match="published"):
            use()
    assert subscription.take(120) is not None


def test_an_exception_gives_the_loan_back(pair):
    publisher, subscription = pair(Image)
    with pytest.raises(KeyError), publisher.loan() as image:
        raise KeyError
    with pytest.raises(baton.InvalidArgument):
        image.width  # noqa: B018
    assert subscription.take() is None
    assert publisher.memory.loaned_slots == 0


def test_an_array_kept_beyond_publishing_cannot_change_what_readers_see(pair):
    publisher, subscription = pair(Image)
    image = publisher.loan()
    image.data = range(100)
    data = image.data
    with pytest.warns(baton.CopyWarning):
        publisher.publish(image)
    data[:] = 0
    assert subscription.take(120).data.tolist() == list(range(100))
    assert publisher.counters.copied_messages == 1
    assert publisher.memory.loaned_slots == 1
    del data
    del image
    assert publisher.memory.loaned_slots == 0


def test_filling_through_temporary_arrays_copies_nothing(pair):
    publisher, subscription = pair(Image)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with publisher.loan() as image:
            image.data.resize(12)
            image.data.reshape(2, 2, 3)[:, :, 1] = 5
    assert subscription.take(120).data[1::3].tolist() == [5] * 4
    assert publisher.counters.copied_messages == 0


def test_views_of_elements_kept_beyond_publishing_are_no_reason_to_copy_and_raise(pair):
    publisher, subscription = pair(Path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with publisher.loan() as path:
            path.poses.resize(2)
            path.poses[0].header.frame_id = "map"
            element = path.poses[1]
            element.header.frame_id = "map"
            poses = path.poses
            poses.resize(3)
    assert publisher.counters.copied_messages == 0
    for use in (
        lambda: element.header,
        lambda: poses[0],
        lambda: poses.resize(1),
        lambda: setattr(element, "header", {}),
    ):
        with pytest.raises(baton.InvalidArgument):
            use()
    assert [p.header.frame_id for p in subscription.take(120).poses] == ["map", "map", ""]
    given_back = publisher.loan()
    given_back.poses.resize(1)
    pose = given_back.poses[0]
    del given_back
    assert publisher.memory.loaned_slots == 1  # `pose` still needs it
    del pose
    assert publisher.memory.loaned_slots == 0


def test_how_the_publisher_came_by_a_message_travels_with_it(pair):
    publisher, subscription = pair(Image)
    with publisher.loan() as image:
        image.width = 1
    publisher.publish({"width": 2})
    publisher.publish(Image(width=3))
    samples = [subscription.take(120) for _ in range(3)]
    assert [baton.info(s).selection for s in samples] == ["in place", "high", "in place"]


def test_dlpack_and_the_buffer_protocol_share_the_memory(pair):
    publisher, subscription = pair(Image)
    publisher.publish({"data": b"abc"})
    data = subscription.take(120).data
    assert bytes(memoryview(data)) == b"abc"
    shared = np.from_dlpack(Image(data=b"abc").data)
    assert shared.tolist() == [97, 98, 99]


def test_text_and_dict_show_the_message():
    message = Path(poses=[{"header": {"frame_id": "map"}}])
    assert "frame_id: map" in str(message)
    assert str(everything()(numbers=[1, 2], names=["a"])).count("numbers: [1, 2]\nfew: []\nnames: [a]\n") == 1
    assert len(str(Image(data=bytes(10000))).splitlines()) < 20
    assert baton.to_dict(message)["poses"][0]["header"]["frame_id"] == "map"
    assert "nav_msgs/Path" in repr(message)


def test_strings_that_are_no_utf8_survive(pair):
    publisher, subscription = pair(Header)
    publisher.publish({"frame_id": b"\xff\xfe"})
    text = subscription.take(120).frame_id
    assert text.encode("utf-8", "surrogateescape") == b"\xff\xfe"
    assert Header(frame_id=text).frame_id == text


def test_a_message_that_is_too_large_is_refused_before_memory_is_taken():
    part = "=" * 80 + "\nMSG: test_msgs/Part\nuint8 number 7\nuint8[63] rest\n"
    tracemalloc.start()
    try:
        for text in (
            "uint8[2147483000] a",
            "uint8[268435457] a",
            "float64 x\nuint8[2147480000] a\nstring b\n",
            "test_msgs/Part[4194305] parts\n" + part,
            "test_msgs/Part[33554431] parts\n" + part,
        ):
            with pytest.raises(baton.InterfaceError, match="268435456 are possible") as refused:
                baton.message_from_text("test_msgs/Large", text)
            assert "a sequence" in str(refused.value)
        largest = baton.message_from_text("test_msgs/Largest", "uint8[268435456] a")
        assert largest.dtype.itemsize == 1 << 28
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_one_definition_is_one_class():
    assert baton.message("sensor_msgs/Image") is Image
    assert baton.message("sensor_msgs/msg/Image") is Image
    assert baton.msg.sensor_msgs.Image is Image
    with pytest.raises(ImportError):
        importlib.import_module("baton.msg.no_such_package")
    with pytest.raises(ImportError, match="(?s)did you mean 'Image'.*baton.search"):
        from baton.msg.sensor_msgs import Imagee  # noqa: F401
    with pytest.raises(ImportError, match="Image is a class"):
        importlib.import_module("baton.msg.sensor_msgs.Image")
    with pytest.raises(ImportError, match="no package 'no_such_package'"):
        from baton.msg.no_such_package import Image as _  # noqa: F401


def test_an_unknown_package_or_type_says_how_python_finds_more():
    for name in ("nowhere_msgs", "std_msgs.Strin"):
        package, _, attribute = name.partition(".")
        with pytest.raises((ModuleNotFoundError, AttributeError), match=r"baton\.search.*BATON_MSG_PATH"):
            getattr(importlib.import_module(f"baton.msg.{package}"), attribute)


def test_a_message_where_a_service_is_wanted_is_named_as_such_and_the_reverse():
    with pytest.raises(baton.InterfaceError, match="'std_msgs/String' is a message, and a service is wanted"):
        baton.service("std_msgs/String")
    with pytest.raises(baton.InterfaceError, match="'std_srvs/SetBool' is a service, and a message is wanted"):
        baton.message("std_srvs/SetBool")
    with pytest.raises(TypeError, match="no service type"):
        baton.service(baton.msg.std_msgs.String)


def test_the_search_path_takes_directories_and_lists_of_them_and_refuses_missing_ones(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name / "msg").mkdir(parents=True)
        (tmp_path / name / "msg" / "Found.msg").write_text("int32 x\n")
    baton.search(tmp_path / "one", [str(tmp_path / "two")])
    assert [baton.message(f"{name}/Found").__name__ for name in ("one", "two")] == ["Found", "Found"]
    with pytest.raises(NotADirectoryError, match="three"):
        baton.search(tmp_path / "three")
    (tmp_path / "four").mkdir()
    with pytest.raises(baton.InterfaceError, match="no package in or below '.*/four'"):
        baton.search(tmp_path / "four")
    with pytest.raises(TypeError):
        baton.search(3)
    assert baton.message("std_msgs/String") is baton.msg.std_msgs.String


def test_a_text_means_the_header_that_the_files_of_its_package_mean(tmp_path, monkeypatch):
    """As the generator reads files: rosidl's own Header, genmsg's std_msgs/Header, and no guess."""
    ament = "<package><name>{}</name><export><build_type>ament_cmake</build_type></export></package>"
    catkin = "<package><name>{}</name><buildtool_depend>catkin</buildtool_depend></package>"
    for package, xml in (("of_ros2", ament), ("of_ros1", catkin), ("of_none", "")):
        folder = tmp_path / package / "msg"
        folder.mkdir(parents=True)
        (folder / "Header.msg").write_text("int32 version\n")
        (folder / "Bare.msg").write_text("Header own\n")
        if xml:
            (folder.parent / "package.xml").write_text(xml.format(package))
    monkeypatch.setattr(baton._messages, "_search", [])
    monkeypatch.setattr(baton._messages, "_default", None)
    baton.search(tmp_path)
    for package, fields in (("of_ros2", ["version"]), ("of_ros1", ["seq", "stamp", "frame_id"])):
        for cls in (baton.message(f"{package}/Bare"), baton.message_from_text(f"{package}/Bare", "Header own")):
            assert list(baton.to_dict(cls().own)) == fields
    for read in (baton.message, lambda name: baton.message_from_text(name, "Header own")):
        with pytest.raises(
            baton.InterfaceError, match="ROS 1 reads 'Header' as std_msgs/Header, ROS 2 as of_none/Header"
        ):
            read("of_none/Bare")
    # A text that brings its types along says itself which one it means.
    line = "=" * 80
    brought = f"Header own\n{line}\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"
    assert list(baton.to_dict(baton.message_from_text("of_ros2/Bare", brought)().own)) == ["seq", "stamp", "frame_id"]
    brought = f"Header own\nbuiltin_interfaces/Time stamp\n{line}\nMSG: of_ros2/Header\nint32 version\n"
    assert list(baton.to_dict(baton.message_from_text("of_ros2/Bare", brought)().own)) == ["version"]


def test_the_version_is_the_distributions():
    settings = (pathlib.Path(__file__).parents[2] / "CMakeLists.txt").read_text()  # where pyproject.toml takes it from
    assert f"project(baton VERSION {baton.__version__} " in settings


def test_spin_without_nodes_is_refused_instead_of_waiting_for_ever():
    with pytest.raises(TypeError, match="needs the nodes"):
        baton.spin()


def test_repr_shows_the_fields_and_shortens_long_arrays():
    image = Image(width=3, encoding="e" * 200)
    image.header.frame_id = "map"
    image.data = np.arange(100)
    header = "Header(seq=0, stamp=Time(sec=0, nanosec=0), frame_id='map')"
    assert repr(image) == (
        f"sensor_msgs/Image(header={header}, height=0, width=3, encoding='{'e' * 100}'... of 200, is_bigendian=0, step=0, "
        "data=<uint8 of shape (100,): 0 1 2 ... 97 98 99>)"
    )
    image.data = [0, 1]
    assert "data=[0, 1])" in repr(image)
    status = DiagnosticArray(status=[{"name": str(n)} for n in range(8)])
    assert repr(status).startswith("diagnostic_msgs/DiagnosticArray(header=Header(")
    assert repr(status).count("DiagnosticStatus(") == 6 and repr(status).endswith(", ... 2 more])")
    node = baton.Node("repr")
    publisher = node.advertise("numbers", "std_msgs/UInt64")
    loan = publisher.loan()
    assert repr(loan) == "std_msgs/UInt64(data=0)"
    publisher.publish(loan)
    assert "published" in repr(loan)
