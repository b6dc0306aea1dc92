# SPDX-License-Identifier: Apache-2.0
"""Programs that were compiled both ways: each prints what it prints with ROS's headers, and shares with stock libraries only names without messages."""

import itertools
import re
from collections import Counter

import pytest
from linked_names import names_shared_with_libraries
from ros1_network import BUILD

EXCEPTIONS = r"tf2::\w+Exception\b"
MATH = r"tf2?::(Matrix3x3|Quaternion|Transform|Vector3)::"
ACTIONLIB = r"actionlib::(ConnectionMonitor|DestructionGuard|\w+State)\b"
SERVICE = "tf2_msgs::FrameGraph(Request|Response)_<"  # has no recompiled message inside, and is ROS's own in both
THROWN = ["LookupException", "ConnectivityException", "ExtrapolationException", "InvalidArgument"]

# The program and its arguments, how many lines it prints at least, and words of them: without these it has not come by what it is about.
SAME = {
    "cv": (50_000, []),
    "geometry": (150_000, []),
    "tf2_buffer": (100_000, THROWN),
    "tf2_convert": (10_000, ["canTransform returned after  timeout was 0.05."]),
    "tf_kdl": (5_000, []),
    "tf_transforms": (50_000, THROWN),
    "clouds convert .": (
        100_000,
        ["image: exception", "1 concatenated", "0 concatenated", "0 loaded", "-1 loaded", "left"],
    ),
    "diagnostics": (1_500, [*["came: all"] * 7, "message: Timestamps too far in future seen."]),
    "image_forms": (20, ["object: 3 mono8 camera 3000000001 whole", "all pairs came: yes", "greeted: yes"]),
}
# Of a program: its libraries, the namespaces of their names, names that the stock program shares with them, and those without a message.
SHARED = {
    "cv": (
        "cv_bridge",
        "cv_bridge",
        "cv_bridge::toCvCopy(",
        r"cv_bridge::(Exception\b|getCvType\(|rgb_colors::getRGBColor\()",
    ),
    "geometry": ("image_geometry", "image_geometry", "::fromCameraInfo(", r"image_geometry::Exception\b"),
    "tf2_buffer": ("tf2", "tf2", "tf2::BufferCore::lookupTransform(", EXCEPTIONS),
    "tf2_convert": ("tf2|tf2_ros", r"tf2\w*", "tf2_ros::Buffer::lookupTransform(", rf"{EXCEPTIONS}|{MATH}|{SERVICE}"),
    "tf_transforms": (
        "tf|tf2|tf2_ros",
        r"tf2?(_ros)?",
        "tf::TransformListener::TransformListener(",
        rf"{EXCEPTIONS}|{MATH}|{SERVICE}|tf::(resolve|strip_leading_slash)\(",
    ),
    "tf_node": (
        "tf|tf2|tf2_ros|actionlib",
        r"tf2?(_\w+)?|actionlib",
        "tf2_ros::BufferClient::BufferClient( and tf::TransformBroadcaster::sendTransform(tf::StampedTransform",
        rf"{EXCEPTIONS}|{MATH}|{SERVICE}|{ACTIONLIB}|tf::(resolve|strip_leading_slash)\(",
    ),
    "image_forms": (
        "image_transport",
        "image_transport",
        "image_transport::ImageTransport::advertise(",
        r"image_transport::(Exception|TransportLoadException|TransportHints|getCameraInfoTopic)\b",
    ),
    "camera_info": (
        "camera_info_manager|camera_calibration_parsers",
        "camera_info_manager|camera_calibration_parsers",
        "camera_info_manager::CameraInfoManager::getCameraInfo(",
        "^$",
    ),
    "diagnostics": (
        "diagnostic_updater",
        "diagnostic_updater",
        "diagnostic_updater::DiagnosticStatusWrapper::add",
        "^$",
    ),
    # What a class of the library does with a message the program has for the recompiled message.
    "action_node": ("actionlib", "actionlib", "actionlib::GoalIDGenerator::generateID()", ACTIONLIB),
}
pytestmark = pytest.mark.own_master  # topics and services with absolute names


def is_built(program):
    return (BUILD / "bin" / f"ros1_recompiled_{program}").exists()


def needs(programs):
    return f"needs the libraries that setup installs, and make build-ros1; not built: {programs}"


@pytest.mark.parametrize("words", SAME, ids=lambda words: words.split()[0])
def test_a_program_prints_what_it_prints_with_the_stock_headers(ros, tmp_path, words):
    least, expected = SAME[words]
    if not is_built(words.split()[0]):
        pytest.skip(needs(words.split()[0]))
    printed = []
    for kind in ("stock", "recompiled"):
        (tmp_path / kind).mkdir()
        program, *arguments = words.replace(".", str(tmp_path / kind)).split()
        running = ros.start(kind, program, *arguments, ROS_PACKAGE_PATH=f"{BUILD}/share:/usr/share")
        printed.append(running.until_end())
        assert running.status() == 0, running.errors
    stock, own = printed
    assert len(own) > least
    for word, count in Counter(expected).items():
        assert sum(word in line for line in own) >= count, word
    assert [pair for pair in itertools.zip_longest(stock, own) if pair[0] != pair[1]] == []


def test_programs_share_with_stock_libraries_only_names_without_messages():
    built = [program for program in SHARED if is_built(program)]
    for program in built:
        libraries, namespaces, control, allowed = SHARED[program]
        stock, own = (
            names_shared_with_libraries(kind, program, libraries, namespaces) for kind in ("stock", "recompiled")
        )
        for each in control.split(" and "):
            assert any(each in name for name in stock), (
                f"{program}: the stock program has the symbol that the recompiled one must lack"
            )
        assert [name for name in sorted(own) if not re.search(allowed, name)] == [], program
    if missing := SHARED.keys() - set(built):
        pytest.skip(needs(sorted(missing)))
