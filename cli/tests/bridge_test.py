# SPDX-License-Identifier: Apache-2.0
"""Which program `baton bridge` starts, and how. Tests of the program itself: ros2/tests/bridge_test.py."""

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


def test_of_several_programs_of_a_checkout_the_one_that_can_run_is_chosen(monkeypatch, tmp_path):
    monkeypatch.setattr(bridge, "_CHECKOUT", tmp_path)
    for variable in ("ROS_DISTRO", "VIRTUAL_ENV"):
        monkeypatch.delenv(variable, raising=False)
    found = {name: tmp_path / f"build/release/bin/{name}/baton_bridge" for name in FOUND}
    for name in FOUND:
        (tmp_path / f".venv-ros2-{name}/lib").mkdir(parents=True)
    with pytest.raises(click.UsageError):
        bridge.choose(found, None)
    (tmp_path / ".venv-ros2-iron/lib/librmw.so").touch()  # the other one's wheels are gone
    assert bridge.choose(found, None)[0] == "iron"
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / ".venv-ros2-humble"))
    assert bridge.choose(found, None)[0] == "humble"


@pytest.mark.parametrize(
    ("found", "wanted", "said"),
    [
        ({}, None, "there is no baton_bridge: install ros-<distribution>-rmw-baton-cpp, or run `make setup build`"),
        (FOUND, None, "humble and iron: choose one with --distribution"),
        (FOUND, "foxy", "no baton_bridge for ROS 2 'foxy', but for humble and iron"),
    ],
)
def test_a_program_that_is_missing_is_named(monkeypatch, found, wanted, said):
    for variable in ("ROS_DISTRO", "VIRTUAL_ENV"):
        monkeypatch.delenv(variable, raising=False)
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
    for variable in ("ROS_DISTRO", "ROS_DOMAIN_ID", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(variable, raising=False)
    bridge.command.main(["--rmw", "rmw_zenoh_cpp", "--domain", "3", "--enclave", "/robot"], standalone_mode=False)
    [(path, arguments, environment)] = started
    assert path == program
    assert arguments == [str(program), "rmw_zenoh_cpp"]
    assert environment["BATON_DOMAIN"] == "3" and environment["ROS_SECURITY_ENCLAVE_OVERRIDE"] == "/robot"
    assert "ROS_DOMAIN_ID" not in environment
    assert environment["LD_LIBRARY_PATH"] == f"{wheels}/lib:{needs}:/own"
    assert environment["AMENT_PREFIX_PATH"].endswith(str(wheels))


def test_the_program_of_the_set_up_ros_2_comes_first_then_that_of_the_checkout(monkeypatch, tmp_path):
    def make(path):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).touch()
        return tmp_path / path

    workspace = make("workspace/lib/rmw_baton_cpp/baton_bridge")
    beside = make("usr/iron/lib/rmw_baton_cpp/baton_bridge")
    make("checkout/build/release/bin/humble/baton_bridge")
    built = make("checkout/build/release/bin/galactic/baton_bridge")
    monkeypatch.setattr(bridge, "_CHECKOUT", tmp_path / "checkout")
    monkeypatch.setattr(bridge.sys, "argv", [str(tmp_path / "usr/bin/baton")])
    monkeypatch.setenv("ROS_DISTRO", "humble")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path}/other:{tmp_path}/workspace")
    found = bridge.programs()
    assert {name: found[name] for name in ("humble", "iron", "galactic")} == {
        "humble": workspace,
        "iron": beside,
        "galactic": built,
    }
