# SPDX-License-Identifier: Apache-2.0
"""Every file of diagnostics/ gives exactly the errors of its .expected file: texts, places, carets, ways out.

`UPDATE=1 pytest generator/tests/diagnostics_test.py` rewrites the expected files; read the difference before committing.
"""

import os
from pathlib import Path

import pytest
from baton_generator.canonical import Resolver
from baton_generator.diagnostics import InterfaceError
from baton_generator.model import Dialect
from baton_generator.packages import Universe

CASES = Path(__file__).parent / "diagnostics"


@pytest.mark.parametrize("case", sorted(p.name for p in CASES.iterdir() if p.suffix != ".expected"))
def test_says_what_is_wrong_and_where(case: str, tmp_path: Path) -> None:
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
