# SPDX-License-Identifier: Apache-2.0
"""Services by which other nodes control a recorder or a player: rosbag2's names, below the node's own, and rosbag2's types.

Thread rules: the handlers run in a thread of their own; close() may be called by any other thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import baton

from .bag_errors import BagError

if TYPE_CHECKING:  # imported late: a recorder does not need the libraries of a player
    from .play_player import Player
    from .record_process import Recorder

PACKAGE = "rosbag2_interfaces"
_SNAPSHOT_S = 60.0  # how long a snapshot may take; afterwards the response says that there is none
_SECOND_NS = 10**9

_Handlers = Mapping[str, tuple[str, Callable[[Any, Any], object]]]  # by service: its type and its handler


class Services:
    """Serves until close(), or the end of `with`."""

    def __init__(self, node: baton.Node, handlers: _Handlers) -> None:
        self._node = node
        self._kept = [
            node.serve(f"~/{name}", f"{PACKAGE}/{type_name}", handler)
            for name, (type_name, handler) in handlers.items()
        ]
        self._executor = baton.Executor(node)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._executor.cancel()
        self._thread.join()
        self._executor.remove(self._node)
        for service in self._kept:
            self._node.destroy(service)
        self._kept.clear()

    def __enter__(self) -> Services:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _fills(field: str, value: Callable[[], object]) -> Callable[[Any, Any], None]:
    """A handler that answers with what `value` returns."""
    return lambda _, response: setattr(response, field, value())


def _does(action: Callable[[], object]) -> Callable[[Any, Any], None]:
    """A handler whose response is empty."""

    def handle(_: Any, __: Any) -> None:
        action()

    return handle


def of_recorder(recorder: Recorder) -> _Handlers:
    """A recorder's services. Each responds after its command is obeyed. So messages that a client publishes after the response of `resume` are in the
    bag, and those after the response of `pause` are not."""

    def toggle() -> None:
        recorder.resume() if recorder.state().paused else recorder.pause()

    return {
        "pause": ("Pause", _does(recorder.pause)),
        "resume": ("Resume", _does(recorder.resume)),
        "toggle_paused": ("TogglePaused", _does(toggle)),
        "is_paused": ("IsPaused", _fills("paused", lambda: recorder.state().paused)),
        "split_bagfile": ("SplitBagfile", _does(recorder.split)),
        "snapshot": ("Snapshot", _fills("success", lambda: recorder.snapshot(_SNAPSHOT_S))),
        "stop": ("Stop", _does(recorder.end)),
    }


def of_player(player: Player) -> _Handlers:
    def toggle() -> None:
        player.resume() if player.paused else player.pause()

    def set_rate(request: Any, response: Any) -> None:
        try:
            player.rate = request.rate
            response.success = True
        except BagError:
            response.success = False

    def seek(request: Any, response: Any) -> None:
        moment_ns = request.time.sec * _SECOND_NS + request.time.nanosec
        response.success = player.start_ns <= moment_ns <= player.end_ns
        if response.success:
            player.seek((moment_ns - player.bag.start_ns) / _SECOND_NS)

    def burst(request: Any, response: Any) -> None:
        response.actually_burst = player.burst(request.num_messages)

    return {
        "pause": ("Pause", _does(player.pause)),
        "resume": ("Resume", _does(player.resume)),
        "toggle_paused": ("TogglePaused", _does(toggle)),
        "is_paused": ("IsPaused", _fills("paused", lambda: player.paused)),
        "get_rate": ("GetRate", _fills("rate", lambda: player.rate)),
        "set_rate": ("SetRate", set_rate),
        "play_next": ("PlayNext", _fills("success", lambda: player.burst(1) == 1)),
        "burst": ("Burst", burst),
        "seek": ("Seek", seek),
        "stop": ("Stop", _does(player.stop)),
    }
