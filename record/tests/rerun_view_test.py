# SPDX-License-Identifier: Apache-2.0
"""`baton view --rerun-save`: files that the SDK reads back. rerun-sdk is large, so these tests are a part of nightly."""

from __future__ import annotations

import io
import sys
import threading
from contextlib import contextmanager

import baton
import numpy as np
import pytest
from baton_record.rerun_convert import converter
from baton_record.verbs.view import command
from baton_record.view_errors import ViewError
from baton_record.view_reduction import Reduction
from click.testing import CliRunner
from PIL import Image
from support import processes
from support.build import needs_package
from support.processes import LOG, Programs
from support.waiting import until
from view_messages import cloud, image

rerun = pytest.importorskip("rerun", reason="no rerun-sdk: scripts/setup.sh viewers")
pytestmark = needs_package()
PIXELS = np.arange(16 * 24 * 3, dtype=np.uint32).astype(np.uint8).reshape(16, 24, 3)


@contextmanager
def saved(path, **options):
    """A view that writes a file while the block runs."""
    from baton_record.rerun_view import RerunView

    view = RerunView(baton.Node("baton_view"), save=path, say=(said := []).append, **options)
    view.said = said
    thread = threading.Thread(target=view.run)
    thread.start()
    try:
        yield view
    finally:
        view.stop()
        thread.join()
        view.close()


def columns(path):
    """The values of all rows of a file, by the entity's path and the component."""
    found: dict[tuple[str, str], list] = {}
    for chunk in rerun.chunk.RrdReader(path).stream():
        batch = chunk.to_record_batch()
        for name in batch.schema.names:
            column = batch.column(name)
            column = column.cast("int64") if str(column.type).startswith("timestamp") else column  # its nanoseconds
            found.setdefault((chunk.entity_path, name), []).extend(column.to_pylist())
    return found


def values(path, entity, component):
    return [each for each in columns(path)[entity, component] if each is not None]


def publish(publisher, *messages):
    """Each is taken before the next, so none gives its place to a newer one."""
    node = baton.Node("publishes")
    ours = [each.gid for each in node.endpoints() if each.is_publisher and each.topic == publisher.topic]
    assert publisher.wait_for_subscriptions(1, 60)
    for message in messages:
        publisher.publish(message)
        until(lambda: [each.unread for each in node.holdings(10) if each.publisher in ours] == [0])


def test_a_file_has_images_clouds_transforms_numbers_and_texts(tmp_path):
    node = baton.Node("robot")
    names = {
        "camera": "sensor_msgs/Image",
        "depth": "sensor_msgs/Image",
        "photo": "sensor_msgs/CompressedImage",
        "points": "sensor_msgs/PointCloud2",
        "tf": "tf2_msgs/TFMessage",
        "cmd_vel": "geometry_msgs/Twist",
        "text": "std_msgs/String",
    }
    ends = {
        name: node.advertise(name, kind, baton.QoS(10, durability="transient_local")) for name, kind in names.items()
    }
    file = io.BytesIO()
    Image.fromarray(PIXELS).save(file, "PNG")
    turn = {"x": 0.0, "y": 0.0, "z": 1.0, "w": 0.0}
    transform = {"translation": {"x": 1.0, "y": 2.0, "z": 3.0}, "rotation": turn}
    step = {"header": {"frame_id": "map"}, "child_frame_id": "base", "transform": transform}
    path = tmp_path / "a.rrd"
    with saved(path) as view:
        publish(ends["camera"], image("bgr8", PIXELS))
        publish(ends["depth"], image("16UC1", PIXELS[:, :, 0].astype(np.uint16) * 100))
        publish(ends["photo"], {"format": "png", "data": file.getvalue()})
        publish(ends["points"], cloud(3, 4))
        publish(ends["tf"], {"transforms": [step]})
        publish(ends["cmd_vel"], *({"linear": {"x": float(number)}} for number in range(5)))
        publish(ends["text"], {"data": "hello"})
    assert view.said == []
    assert bytes(values(path, "/camera", "Image:buffer")[0][0]) == PIXELS[:, :, ::-1].tobytes()
    assert values(path, "/depth", "DepthImage:meter") == [[1000.0]]
    assert bytes(values(path, "/photo", "EncodedImage:blob")[0][0]) == file.getvalue()
    positions = np.array(values(path, "/points", "Points3D:positions")[0])
    assert list(positions[:, 0]) == list(range(12))
    assert values(path, "/points", "CoordinateFrame:frame") == [["lidar"]]
    assert values(path, "/tf/base", "Transform3D:translation") == [[[1.0, 2.0, 3.0]]]
    assert values(path, "/tf/base", "Transform3D:parent_frame") == [["map"]]
    assert values(path, "/tf/base", "Transform3D:child_frame") == [["base"]]
    assert [each[0] for each in values(path, "/cmd_vel/linear/x", "Scalars:scalars")] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert values(path, "/text", "TextLog:text") == [["hello"]]
    times = columns(path)["/cmd_vel/linear/x", "time"]
    assert times == sorted(times) and len(set(times)) == 5


def test_reduced_messages_are_small_in_the_file(tmp_path):
    node = baton.Node("robot")
    latched = baton.QoS(1, durability="transient_local")
    images, points = (
        node.advertise("camera", "sensor_msgs/Image", latched),
        node.advertise("points", "sensor_msgs/PointCloud2"),
    )
    path = tmp_path / "a.rrd"
    with saved(path, topics=["/*"], reduction=Reduction(jpeg=("*",), points=4)):
        publish(images, image("rgb8", PIXELS))
        publish(points, cloud(3, 4))
    assert Image.open(io.BytesIO(bytes(values(path, "/camera", "EncodedImage:blob")[0][0]))).format == "JPEG"
    assert [each[0] for each in values(path, "/points", "Points3D:positions")[0]] == [0.0, 3.0, 6.0, 9.0]


def test_messages_that_cannot_be_shown_are_reported_and_the_view_goes_on(tmp_path):
    node = baton.Node("robot")
    images, numbers = node.advertise("camera", "sensor_msgs/Image"), node.advertise("number", "std_msgs/Float64")
    nothing = node.advertise("nothing", "std_msgs/Empty")
    path = tmp_path / "a.rrd"
    with saved(path) as view:
        publish(images, image("nonsense", PIXELS), {"encoding": "16UC1", "width": 9, "height": 9})
        publish(numbers, {"data": 2.5})
        until(lambda: len(view.said) == 3)
    assert sorted(each.split(":")[0] for each in view.said) == ["/camera", "/camera", "/nothing is not shown"]
    assert values(path, "/number/data", "Scalars:scalars") == [[2.5]]
    assert nothing.matched == 0


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        ({"point_step": 3}, "are not in|lies at"),
        ({"fields": [{"name": "x", "offset": 0, "datatype": 7, "count": 1}]}, "has no y, z"),
        ({"fields": [{"name": n, "offset": 0, "datatype": 99, "count": 1} for n in "xyz"]}, "unknown datatype 99"),
        (
            {"fields": [{"name": n, "offset": 2**32 - 1, "datatype": 7, "count": 1} for n in "xyz"]},
            "lies at 4294967295",
        ),
    ],
)
def test_a_cloud_that_lies_is_refused(lie, said):
    cls = baton.message("sensor_msgs/PointCloud2")
    log = converter(rerun, "/points", cls, Reduction())
    with pytest.raises(ViewError, match=said):
        list(log(cls(cloud(3, 4) | lie)))


def test_colours_of_points_and_points_without_a_place(tmp_path):
    points = np.zeros(3, np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("rgb", "<u4")]))
    points["x"], points["rgb"] = [1, np.nan, 3], [0xFF8000, 0, 0x0000FF]
    fields = [{"name": n, "offset": 4 * i, "datatype": 7, "count": 1} for i, n in enumerate(("x", "y", "z", "rgb"))]
    cls = baton.message("sensor_msgs/PointCloud2")
    message = cls(
        {"height": 1, "width": 3, "fields": fields, "point_step": 16, "row_step": 48, "data": list(points.tobytes())}
    )
    ((_, shown),) = converter(rerun, "/points", cls, Reduction())(message)
    assert shown.positions.as_arrow_array().to_pylist() == [[1.0, 0.0, 0.0], [3.0, 0.0, 0.0]]
    assert shown.colors.as_arrow_array().to_pylist() == [0xFF8000FF, 0x0000FFFF]


def test_the_verb_writes_a_file_until_ctrl_c_and_overwrites_none(runtime_directory, tmp_path):
    numbers = baton.Node("robot").advertise("number", "std_msgs/Float64")
    path = tmp_path / "a.rrd"
    with Programs(processes.environment(runtime_directory)) as programs:
        view = programs.start([sys.executable, "-m", "baton_cli", "view", "--rerun-save", path], stderr=LOG)
        assert view.stdout.readline().split() == ["into", str(path)]
        publish(numbers, {"data": 2.5}, {"data": 3.5})  # when the second one is taken, the first one is logged
        assert view.interrupted() == ("", "")
    assert values(path, "/number/data", "Scalars:scalars")[0] == [2.5]
    result = CliRunner().invoke(command, ["--rerun-save", str(path)])
    assert (result.exit_code, "exists already" in result.output) == (1, True)


def test_options_of_the_other_viewers_are_refused():
    for option in (["--publish", "/a"], ["--port", "1"], ["--call", "*"], ["--set", "*"], ["--host", "::1"]):
        result = CliRunner().invoke(command, ["--rerun-save", "a.rrd", *option])
        assert result.exit_code == 2
        assert f"{option[0]} is for viewers that connect" in " ".join(result.output.split())


def test_an_unreachable_viewer_is_an_error(tmp_path):
    from baton_record.rerun_view import RerunView

    with pytest.raises(ViewError, match="nonsense"):
        RerunView(baton.Node("baton_view"), connect="nonsense")
