# SPDX-License-Identifier: Apache-2.0
"""Which program `baton bridge` starts, and how. What the program does: ros2/tests/bridge_test.py."""

from pathlib import Path

import click
import pytest
from baton_cli.verbs import bridge

FOUND = {"humble": Path("/j/baton_bridge"), "iron": Path("/i/baton_bridge")}


@pytest.mark.parametrize(
    ("found", "wanted", "variable", "chosen"),
    [
        (FOUND, "iron", "humble", "iron"),
        (FOUND, None, "humble", "humble"),
        ({"humble": Path("/j/baton_bridge")}, None, None, "humble"),
    ],
)
def test_the_program_of_the_ros_2_in_use_is_chosen(monkeypatch, found, wanted, variable, chosen):
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    if variable:
        monkeypatch.setenv("ROS_DISTRO", variable)
    assert bridge.choose(found, wanted) == (chosen, found[chosen])


@pytest.mark.parametrize(
    ("found", "wanted", "said"),
    [
        ({}, None, "there is no baton_bridge: run `make setup build`"),
        (FOUND, None, "humble and iron: choose one with --distribution"),
        (FOUND, "foxy", "no baton_bridge for ROS 2 'foxy', but for humble and iron"),
    ],
)
def test_a_program_that_is_missing_is_named(monkeypatch, found, wanted, said):
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    with pytest.raises(click.ClickException, match=said.replace("(", r"\(")):
        bridge.choose(found, wanted)


def test_the_arguments_and_the_libraries_of_the_wheels_reach_the_program(monkeypatch, tmp_path):
    wheels = tmp_path / ".venv-ros2-humble"
    needs = wheels / "lib/python3.11/site-packages/ros_rcl.libs"
    needs.mkdir(parents=True)
    (wheels / "lib/librmw.so").touch()
    program = tmp_path / "build/release/bin/humble/baton_bridge"
    program.parent.mkdir(parents=True)
    program.touch()
    started = []
    monkeypatch.setattr(bridge, "_CHECKOUT", tmp_path)
    monkeypatch.setattr(bridge.os, "execve", lambda *how: started.append(how))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/own")
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    bridge.command.main(["--rmw", "rmw_zenoh_cpp", "--domain", "3", "--enclave", "/robot"], standalone_mode=False)
    [(path, arguments, environment)] = started
    assert path == program
    assert arguments == [str(program), "rmw_zenoh_cpp", "--domain", "3", "--enclave", "/robot"]
    assert environment["LD_LIBRARY_PATH"] == f"{wheels}/lib:{needs}:/own"
    assert environment["AMENT_PREFIX_PATH"].endswith(str(wheels))
