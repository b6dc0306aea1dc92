# SPDX-License-Identifier: Apache-2.0
"""Every file of diagnostics/ gives exactly the errors of its .expected file: texts, places, carets, ways out.

`UPDATE=1 pytest generator/tests/diagnostics_test.py` rewrites the expected files; read the difference before committing.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from baton_generator import files
from baton_generator.canonical import Resolver
from baton_generator.diagnostics import InterfaceError
from baton_generator.model import Dialect
from baton_generator.packages import Universe

CASES = Path(__file__).parent / "diagnostics"


@pytest.mark.parametrize("case", sorted(p.name for p in CASES.iterdir() if p.suffix != ".expected"))
def test_each_error_has_its_text_and_its_place(case: str, tmp_path: Path) -> None:
    path = tmp_path / case.replace(".ros1.", ".").replace(".ros2.", ".")
    path.write_bytes((CASES / case).read_bytes())
    forced = next((d for d in Dialect if f".{d.value}." in case), None)
    expected = CASES / f"{case}.expected"
    said = _complaint(path, forced)
    if os.environ.get("UPDATE"):
        expected.write_text(said)
    assert said == expected.read_text()
    assert said != "no error\n"


def _complaint(path: Path, forced: Dialect | None) -> str:
    try:
        universe = Universe(files=[(path, "diagnostics")], dialect=forced, environment={})
        resolver = Resolver(universe)
        (resolver.service if path.suffix == ".srv" else resolver.message)(f"diagnostics/{path.stem}")
    except InterfaceError as error:
        return str(error).replace(f"{path.parent}/", "") + "\n"
    return "no error\n"


def test_every_error_names_the_way_out() -> None:
    for path in CASES.glob("*.expected"):
        text = path.read_text()
        assert text.count("error: ") <= text.count("  way out: "), path


def _error_of(universe: Universe, name: str) -> str:
    with pytest.raises(InterfaceError) as raised:
        Resolver(universe).message(name)
    return str(raised.value)


def test_a_file_that_was_not_given_but_lies_beside_is_named_with_the_line_to_add(tmp_path: Path) -> None:
    folder = tmp_path / "msg"
    folder.mkdir()
    (folder / "Outer.msg").write_text("uint8 before\nInner inner\n")
    given = [(folder / "Outer.msg", "robot")]
    assert "lies beside" not in _error_of(Universe(files=given, environment={}), "robot/Outer")
    (folder / "Inner.msg").write_text("uint8 x\n")
    text = _error_of(Universe(files=given, environment={}), "robot/Outer")
    assert f"Outer.msg:2:1: error: unknown type 'robot/Inner': '{folder}/Inner.msg' lies beside" in text
    assert f"add it to them: FILES ... msg/Inner.msg in baton_generate_messages(), or --file {folder}/Inner.msg" in text
    Resolver(Universe(files=[*given, (folder / "Inner.msg", "robot")], environment={})).message("robot/Outer")
    (tmp_path / "srv").mkdir()
    (tmp_path / "srv" / "Ask.srv").write_text("Inner inner\n---\n")
    with pytest.raises(InterfaceError) as raised:
        Resolver(Universe(files=[(tmp_path / "srv/Ask.srv", "robot")], environment={})).service("robot/Ask")
    assert "FILES ... msg/Inner.msg" in str(raised.value)


def test_a_package_that_is_there_under_another_name_is_named(tmp_path: Path) -> None:
    (tmp_path / "checkout" / "msg").mkdir(parents=True)
    (tmp_path / "checkout" / "msg" / "Pose.msg").write_text("uint8 x\n")
    universe = Universe(search=[tmp_path], environment={})
    assert "the package in" not in _error_of(universe, "something/Pose")
    assert "write checkout/Pose, rename the folder, or add a package.xml with <name>checkout2</name>" in _error_of(
        universe, "checkout2/Pose"
    )
    (tmp_path / "checkout" / "package.xml").write_text("<package><name>robot_msgs</name></package>")
    text = _error_of(Universe(search=[tmp_path], environment={}), "checkout/Pose")
    assert f"write robot_msgs/Pose: the package in '{tmp_path}/checkout' has the name 'robot_msgs'" in text
    given = [(tmp_path / "checkout" / "msg" / "Pose.msg", "my_project")]
    text = _error_of(Universe(files=given, environment={}), "robot_msgs/Pose")
    assert "its files were given as the package 'my_project': say PACKAGE robot_msgs" in text


AMENT = "<package><name>robot</name><export><build_type>ament_cmake</build_type></export></package>"
CATKIN = "<package><name>robot</name><buildtool_depend>catkin</buildtool_depend></package>"


@pytest.mark.parametrize(
    ("package_xml", "text", "read"),
    [
        (AMENT, "Header own", "robot/Header"),
        (AMENT, "builtin_interfaces/Time stamp\nHeader own", "robot/Header"),
        ("", "builtin_interfaces/Time stamp\nHeader own", "robot/Header"),
        (AMENT, "robot/Header own", "robot/Header"),
        (CATKIN, "Header own", "std_msgs/Header"),
        ("", "time stamp\nHeader own", "std_msgs/Header"),
        ("", "std_msgs/Header own", "std_msgs/Header"),
        ("", "Header own", None),
    ],
)
@pytest.mark.parametrize("given", [False, True], ids=["searched", "given"])
def test_a_header_in_a_package_with_its_own_is_the_one_that_its_ros_reads(
    package_xml: str, text: str, read: str | None, given: bool, tmp_path: Path
) -> None:
    """genmsg: always std_msgs/Header. rosidl: the package's own. The name alone says nothing of the dialect."""
    folder = tmp_path / "robot" / "msg"
    folder.mkdir(parents=True)
    (folder / "Header.msg").write_text("int32 version\n")
    (folder / "Bare.msg").write_text(text + "\n")
    if package_xml:
        (folder.parent / "package.xml").write_text(package_xml)
    files_given = [(path, "robot") for path in folder.iterdir()] if given else []
    universe = Universe(files=files_given, search=[] if given else [tmp_path], environment={})
    if read is None:
        said = _error_of(universe, "robot/Bare")
        assert "ROS 1 reads 'Header' as std_msgs/Header, ROS 2 as robot/Header" in said
        assert "write std_msgs/Header or robot/Header" in said
    else:
        assert Resolver(universe).message("robot/Bare").members[-1].type.base == read


def test_a_fifo_or_device_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "robot" / "msg"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "Pipe.msg")
    (folder / "Zero.msg").symlink_to("/dev/zero")
    (folder / "Large.msg").write_bytes(b"#" * (files.MOST_BYTES + 1))
    (folder / "Fits.msg").write_bytes(b"#" * files.MOST_BYTES)
    os.mkfifo(folder.parent / "package.xml")
    wanted = {
        "Pipe": "is not an ordinary file",
        "Zero": "is not an ordinary file",
        "Large": "has more than 1048576 bytes",
    }
    for name, why in (wanted | {"Fits": ""}).items():
        run = subprocess.run(
            [sys.executable, "-m", "baton_generator", "--output", tmp_path / "out", "--search", tmp_path, "--type", f"robot/{name}"],
            capture_output=True, text=True, timeout=120, cwd=Path(files.__file__).parents[1],
        )  # fmt: skip
        assert (run.returncode, why in run.stderr) == (1 if why else 0, True), run.stderr
        assert not why or "way out: " in run.stderr
