# SPDX-License-Identifier: Apache-2.0
"""Fleets: robots and an operator behind NATs that a router joins, a cut of a minute, a robot that reboots, and twenty robots. Minutes long."""

from __future__ import annotations

import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import baton
import pytest
from support.claims import Ports
from support.waiting import LIMIT_S, until

pytest.importorskip("zenoh", reason="no eclipse-zenoh (make setup)")
from nat_network import Internet
from zenoh_hosts import ZenohHost

CUT_S = 60
LATCHED = baton.QoS(1, durability="transient_local")


class Robot:
    """What runs on a robot: its state at 10 Hz, a map, a service, and a list of the commands that it got."""

    def __init__(self, host: ZenohHost) -> None:
        self.host, self.commands = host, []
        name = host.name
        self.node = host.node("driver")
        self.state = self.node.advertise(f"/{name}/state", "std_msgs/String", 10)
        self.map = self.node.advertise(f"/{name}/map", "std_msgs/String", LATCHED)
        self.map.publish({"data": f"map of {name}"})
        self.node.subscribe(f"/{name}/command", "std_msgs/String", lambda message: self.commands.append(message.data))
        self.node.serve(f"/{name}/stop", "std_srvs/Trigger", self._stop)
        self._number = 0
        self.node.create_timer(0.1, self._say)
        self._executor = baton.Executor(self.node)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()

    def _say(self) -> None:
        self._number += 1
        self.state.publish({"data": str(self._number)})

    def _stop(self, request: Any, response: Any) -> None:
        response.success = True
        response.message = f"{self.host.name} has stopped"

    def power_off(self) -> None:
        """Without a word to anybody."""
        for bridge in self.host.bridges:
            bridge.send_signal(signal.SIGKILL)
            bridge.wait(LIMIT_S)
        self.end()
        del self.state, self.map, self.node

    def end(self) -> None:
        self._executor.cancel()
        self._thread.join()
        self._executor.remove(self.node)
        self.node.close()
        self.host.kept.clear()


class Operator:
    def __init__(self, host: ZenohHost, names: list[str]) -> None:
        self.node = host.node("console")
        subscribe = self.node.subscribe
        self.states = {name: subscribe(f"/{name}/state", "std_msgs/String", qos=100) for name in names}
        self.maps = {name: subscribe(f"/{name}/map", "std_msgs/String", qos=LATCHED) for name in names}
        self.commands = {name: self.node.advertise(f"/{name}/command", "std_msgs/String") for name in names}
        self.stops = {name: self.node.client(f"/{name}/stop", "std_srvs/Trigger") for name in names}

    def hears(self, name: str) -> bytes:
        """The gid of a publisher of which a message comes that was published now."""
        since, gids = time.time_ns(), []

        def new() -> bool:
            while (message := self.states[name].take()) is not None:
                info = baton.info(message)
                if info.source_time_ns > since:
                    gids.append(info.publisher)
            return bool(gids)

        until(new, f"nothing comes from {name}")
        return gids[-1]

    def checks(self, robot: Robot) -> None:
        """Topics, latched ones too, and a service, both ways."""
        name = robot.host.name
        assert self.hears(name) == robot.state.gid
        assert self.stops[name].wait_for_service(LIMIT_S)
        assert self.stops[name].call({}, LIMIT_S).message == f"{name} has stopped"
        assert self.commands[name].wait_for_subscriptions(1, LIMIT_S)
        text = f"go {time.monotonic()}"
        self.commands[name].publish({"data": text})
        until(lambda: text in robot.commands, f"{name} does not get its command")


@pytest.fixture
def internet() -> Iterator[Internet]:
    if shutil.which("nft") is None:
        pytest.skip("no nft for a NAT (make setup)")
    made = Internet()
    yield made
    made.end()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Callable[..., ZenohHost]]:
    made: list[ZenohHost] = []

    def make(name: str, router: str, space: str = "") -> ZenohHost:
        made.append(ZenohHost(name, tmp_path / name, router, space))
        return made[-1]

    yield make
    for each in made:
        each.end()


def test_two_robots_and_an_operator_behind_nats(internet, host):
    router = f"tcp/{internet.address}:7447"
    cloud = host("cloud", "", internet.cloud)
    cloud.bridge("--listen", "tcp/0.0.0.0:7447")
    sites = {name: internet.site() for name in ("robot1", "robot2", "operator")}
    hosts = {name: host(name, router, space) for name, (space, _) in sites.items()}
    robots = {name: Robot(hosts[name]) for name in ("robot1", "robot2")}
    operator = Operator(hosts["operator"], list(robots))
    for each in hosts.values():
        each.bridge()
    for name, robot in robots.items():
        operator.checks(robot)
        assert operator.maps[name].take(LIMIT_S).data == f"map of {name}"

    internet.cut(sites["robot1"][1])
    cut = time.monotonic()
    until(lambda: operator.states["robot1"].matched == 0, "the robot stays there without a line")
    operator.checks(robots["robot2"])
    while time.monotonic() - cut < CUT_S:
        assert operator.hears("robot2")
    internet.join(sites["robot1"][1])
    operator.checks(robots["robot1"])

    before = robots["robot2"].state.gid
    internet.cut(sites["robot2"][1])
    robots["robot2"].power_off()
    internet.join(sites["robot2"][1])
    robots["robot2"] = Robot(hosts["robot2"])
    hosts["robot2"].bridge()
    operator.checks(robots["robot2"])
    assert robots["robot2"].state.gid != before
    until(lambda: operator.states["robot2"].matched == 1, "the robot of before stays there")
    for robot in robots.values():
        robot.end()


def test_twenty_robots(host):
    names = [f"robot{i}" for i in range(20)]
    with Ports(1) as (port,):
        router = f"tcp/127.0.0.1:{port}"
        cloud = host("cloud", "")
        cloud.bridge("--listen", router)
        robots = [Robot(host(name, router)) for name in names]
        console = host("operator", router)
        operator = Operator(console, names)
        for each in (console, *(robot.host for robot in robots)):
            each.bridge(ready=False)
        for robot in robots:
            operator.checks(robot)
        for robot in robots:
            robot.end()
