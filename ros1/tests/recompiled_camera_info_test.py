# SPDX-License-Identifier: Apache-2.0
"""Recompiled programs of camera_info_manager and camera_calibration_parsers, beside the same programs of ROS."""

import pytest
from ros1_network import BUILD, PAIRS

pytestmark = [
    pytest.mark.own_master,  # its services have absolute names
    pytest.mark.skipif(
        not (BUILD / "bin" / "ros1_recompiled_camera_info").exists(),
        reason="needs libcamera-info-manager-dev and libcamera-calibration-parsers-dev: make build-ros1",
    ),
]


def ask(program, line):
    """What it answers, between lines of its log."""
    program.tell(line)
    while not (answer := program.line()).startswith("answer "):
        pass
    return answer.removeprefix("answer ")


class Camera:
    """A camera's program, with files of its own."""

    def __init__(self, ros, kind, directory, name="front"):
        directory.mkdir(exist_ok=True)
        self.directory = directory
        prefix = "ros1_recompiled_" if kind == "recompiled" else "ros1_"
        package = directory / "packages" / "calibrations"
        package.mkdir(parents=True)
        (package / "package.xml").write_text("<package><name>calibrations</name></package>\n")
        self.program = ros.run(
            [BUILD / "bin" / f"{prefix}camera_info", name],
            preload=False,
            ROS_HOME=str(directory),
            ROS_PACKAGE_PATH=str(directory / "packages"),
        )

    def __call__(self, line):
        """The answer; DIR in both is the camera's folder."""
        return ask(self.program, line.replace("DIR", str(self.directory))).replace(str(self.directory), "DIR")


def test_calibrations_are_loaded_saved_named_parsed_and_written_as_by_the_stock_library(ros, tmp_path):
    cameras = [Camera(ros, kind, tmp_path / kind) for kind in ("stock", "recompiled")]

    def answer(line):
        """Of all of them."""
        answers = [camera(line) for camera in cameras]
        assert answers[0] == answers[1], line
        return answers[0]

    assert answer("calibrated") == "no"
    assert answer("get").startswith("0x0 ")
    for line in ("set 1", "calibrated", "get", "name rear", "get", "name not/valid", "name"):
        answer(line)
    for url in (
        "file://DIR/a.yaml",
        "file://DIR/${NAME}.ini",
        "file://${ROS_HOME}/deep/er/${NAME}.yaml",
        "package://calibrations/b.yaml",
        "package://nobody/b.yaml",
        "package://",
        "flash:///camera",
        "ftp://camera",
        "file://${NOTHING}/$x",
        "FILE:///tmp/none.yaml",
        "",
    ):
        answer(f"validate {url}")
        answer(f"resolve {url} my_camera")
        answer(f"load {url}")
        answer("calibrated")
        answer("get")
    assert answer("write DIR/rear.ini 3") == "written"
    assert answer("load file://DIR/${NAME}.ini") == "yes"
    assert answer("get").startswith("643x480 plumb_bob ")
    assert answer("calibrated") == "yes"
    assert answer("write DIR/packages/calibrations/b.yaml 5") == "written"
    assert answer("load package://calibrations/b.yaml") == "yes"
    assert answer("get").startswith("645x480 plumb_bob ")
    assert answer("load file://DIR/none.yaml") == "no"
    assert answer("get").startswith("645x480 "), "the last one stays"
    for camera in cameras:
        (camera.directory / "broken.yaml").write_text("image_width: [\n")
        (camera.directory / "short.ini").write_text("# camera\n[image]\nwidth\n640\n")
    for number in (0, 1, 7):
        for file in ("a.ini", "a.yaml", "a.yml", "a.INI", "a.txt", "none/a.ini"):
            answer(f"write DIR/{file} {number}")
            answer(f"content DIR/{file}")
            answer(f"read DIR/{file}")
        for form in ("ini", "yml"):
            answer(f"write_{form} DIR/b {number}")
            answer("content DIR/b")
            answer(f"print_{form} DIR/c {number}")
            for file in ("b", "c", "broken.yaml", "short.ini", "none"):
                for how in ("read", "scan"):
                    answer(f"{how}_{form} DIR/{file}")
                for how in ("parse", "parse_ini", "parse_other"):
                    answer(f"{how} DIR/{file}")
    assert answer("write DIR/a.yaml 7") == "written"
    assert answer("read DIR/a.yaml").startswith("read camera_7 647x480 plumb_bob frame 2 5 ")
    assert answer("write DIR/a.txt 7") == "not written"


def test_the_service_set_camera_info_of_every_pair_stores_the_calibration(ros, tmp_path):
    for camera, caller in ros.each(PAIRS):
        serves = Camera(ros, camera, folder := tmp_path / f"{camera}-{caller}")
        assert serves("get").startswith("0x0 ")  # it is there, before another one has its service
        calls = ros.run(
            [
                BUILD / "bin" / f"ros1_{'recompiled_' if caller == 'recompiled' else ''}camera_info",
                "other",
                "camera:=else",
            ],
            preload=False,
        )
        assert ask(calls, "call /camera/set_camera_info 4") == "yes yes "
        assert serves("get").startswith("644x480 plumb_bob frame 2 5 ")
        assert serves("calibrated") == "yes"
        assert serves("read DIR/camera_info/front.yaml").startswith("read front 644x480 plumb_bob ")
        (folder / "file").touch()
        assert serves("load file://DIR/file/no/folder.yaml") == "no"
        assert ask(calls, "call /camera/set_camera_info 5") == "yes no Error storing camera calibration."
