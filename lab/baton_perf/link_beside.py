# SPDX-License-Identifier: Apache-2.0
"""`baton_link_beside`: a small topic beside a big one that overloads the line, over a link between two hosts. Measures the latency of the small
topic, compared with messages of the same size over a TCP connection of their own in the same queue, and how much rate the big topic loses. Prints
verdicts in the form that `baton perf accept` reads.

Each round has its own hosts. The big topic has a message ready whenever the line has carried one. Then the small topic and the TCP connection begin
at the same time, each a hundred messages a second. Times are CLOCK_MONOTONIC, which both hosts share (network.py).
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np

from .network import ADDRESSES, Network, NetworkFailed
from .peers import program_folder
from .verdicts import print_verdict

LINK = "baton_link"
PORT = 9000
SMALL_BYTES, SMALL_HZ = 64, 100
# The bytes that a link sends for such a message: its 64 bytes in a string, its chunk's header, and a frame.
WIRE_BYTES = 240
LATER_BAR, SLOWER_BAR = 1.5, 1 / 0.95
GIVE_UP_S = 120
ALONE = 4  # big messages, before the small ones begin


def say(*words: object) -> None:
    print(*words, flush=True)


# The ends. Each is a process on one of the hosts.


def send_big(size: int) -> None:
    import baton
    from baton.msg.sensor_msgs import Image

    publisher = baton.Node("big_sender").advertise("/big", Image, baton.QoS(depth=2))
    while True:
        message = publisher.loan()
        message.data.resize(size)
        publisher.publish(message)
        # Twice as often as a line of 100 Mbit/s can carry it.
        time.sleep(size / 25e6)


def receive_big(size: int) -> None:
    import baton
    from baton.msg.sensor_msgs import Image

    subscription = baton.Node("big_receiver").subscribe("/big", Image, qos=baton.QoS(depth=2))
    while subscription.take(GIVE_UP_S) is not None:
        say(time.monotonic_ns())
    sys.exit("no message of the big topic comes")


def _at_rate(seconds: float, send: Callable[[str], None]) -> None:
    begin = time.monotonic()
    for number in range(int(seconds * SMALL_HZ)):
        time.sleep(max(0.0, begin + number / SMALL_HZ - time.monotonic()))
        send(f"{time.monotonic_ns():>{SMALL_BYTES}}")


def send_small(seconds: float) -> None:
    import baton
    from baton.msg.std_msgs import String

    publisher = baton.Node("small_sender").advertise("/small", String, baton.QoS(depth=100))
    give_up = time.monotonic() + GIVE_UP_S
    while not publisher.matched:
        time.sleep(0.01)
        if time.monotonic() > give_up:
            sys.exit("the small topic has no subscription")
    say("ready")
    sys.stdin.readline()
    _at_rate(seconds, lambda text: publisher.publish(String(data=text)))
    say("done")
    sys.stdin.readline()


def receive_small(seconds: float) -> None:
    import baton
    from baton.msg.std_msgs import String

    subscription = baton.Node("small_receiver").subscribe("/small", String, qos=baton.QoS(depth=100))
    say("ready")
    late = []
    while len(late) < int(seconds * SMALL_HZ):
        message = subscription.take(GIVE_UP_S)
        if message is None:
            break
        late.append(time.monotonic_ns() - int(str(message.data)))
    say(json.dumps(late))


def send_raw(seconds: float) -> None:
    with socket.create_connection((ADDRESSES[1], PORT), timeout=GIVE_UP_S) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        say("ready")
        sys.stdin.readline()
        _at_rate(seconds, lambda text: line.sendall(text.encode().ljust(WIRE_BYTES)))
        sys.stdin.readline()


def receive_raw(seconds: float) -> None:
    with socket.create_server((ADDRESSES[1], PORT)) as listening:
        say("listens")
        line, _ = listening.accept()
        late, behind = [], b""
        while len(late) < int(seconds * SMALL_HZ):
            got = line.recv(65536)
            if not got:
                break
            behind += got
            while len(behind) >= WIRE_BYTES:
                late.append(time.monotonic_ns() - int(behind[:SMALL_BYTES]))
                behind = behind[WIRE_BYTES:]
        say(json.dumps(late))


ENDS = {each.__name__: each for each in (send_big, receive_big, send_small, receive_small, send_raw, receive_raw)}


class _End:
    """One end, or a link, as a process of a host."""

    def __init__(self, command: list[str], log: Path) -> None:
        with log.open("a") as file:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True, start_new_session=True
            )
        self._log = log

    def line(self) -> str:
        line = self._process.stdout.readline()
        if not line:
            raise NetworkFailed(f"an end has died: {self._log.read_text()[-800:]!r}")
        return line.strip()

    def go(self) -> None:
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def end(self) -> None:
        self._process.kill()  # processes inside end with the network
        self._process.wait()


def _rate(times_ns: list[int]) -> float:
    """Messages a second, of a line that is never idle."""
    return (len(times_ns) - 1) / ((times_ns[-1] - times_ns[0]) / 1e9)


def measure(programs: Path, network: str, size: int, seconds: float, directory: Path) -> dict:
    """One round: `late` and `raw_late` in ns, `lost`, and the big topic's rates `alone` and `beside`."""
    ends: list[_End] = []
    log = directory / "log"
    with Network(network) as net:

        def start(host: int, *command: str) -> _End:
            runtime = directory / f"host_{host}"
            runtime.mkdir(mode=0o700, exist_ok=True)
            ends.append(_End(net.wrap(host, ["env", f"BATON_RUNTIME_DIR={runtime}", *command]), log))
            return ends[-1]

        def end(host: int, function: Callable, value: float) -> _End:
            return start(
                host, sys.executable, "-m", "baton_perf.link_beside", "--end", function.__name__, "--value", str(value)
            )

        try:
            for host in (0, 1):
                peer = ["--peer", ADDRESSES[0]] if host == 1 else []
                start(host, str(programs / LINK), "--domain", "0", "--interface", ADDRESSES[host], *peer)
            receivers = [end(1, receive_small, seconds), end(1, receive_raw, seconds)]
            for each in receivers:
                each.line()
            senders = [end(0, send_small, seconds), end(0, send_raw, seconds)]
            for each in senders:
                each.line()
            big = end(1, receive_big, size)
            end(0, send_big, size)
            alone = [int(big.line()) for _ in range(ALONE)]
            for each in senders:
                each.go()
            began = time.monotonic_ns()
            senders[0].line()
            late, raw_late = (json.loads(each.line()) for each in receivers)
            beside = [int(big.line())]
            while beside[-1] < began or len(beside) < 2:
                beside.append(int(big.line()))
            return {
                "late": late,
                "raw_late": raw_late,
                "lost": int(seconds * SMALL_HZ) - len(late),
                "alone": _rate(alone),
                "beside": _rate([at for at in beside if at >= began] or beside),
            }
        finally:
            for each in ends:
                each.end()


@click.command(help=(__doc__ or "").partition("\n\n")[0])
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1, 100))
@click.option("--network", default="100mbit", show_default=True, help="What lies between the hosts.")
@click.option(
    "--mb", default=16.0, show_default=True, type=click.FloatRange(0.1, 100), help="A message of the big topic."
)
@click.option("--seconds", default=15.0, show_default=True, type=click.FloatRange(1, 600), help="Of the small topic.")
@click.option("--end", "the_end", type=click.Choice(sorted(ENDS)), hidden=True)
@click.option("--value", type=float, default=0.0, hidden=True)
def main(rounds: int, network: str, mb: float, seconds: float, the_end: str | None, value: float) -> None:
    if the_end is not None:
        end = ENDS[the_end]
        end(int(value) if end in (send_big, receive_big) else value)
        return
    programs = program_folder()
    if programs is None or not (programs / LINK).is_file():
        print(f"baton_link_beside: {LINK} is not built: make build-lab", file=sys.stderr)
        sys.exit(2)
    done = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="baton-beside-") as directory:
            try:
                done.append(measure(programs, network, int(mb * 1e6), seconds, Path(directory)))
            except NetworkFailed as problem:
                print(f"baton_link_beside: {problem}", file=sys.stderr)
                sys.exit(2)
    what = f"{SMALL_BYTES} B at {SMALL_HZ} Hz beside {mb:g} MB, {network}"

    def later(percent: int) -> bool:
        both = [[np.percentile(run[key], percent) / 1e6 for run in done] for key in ("late", "raw_late")]
        return print_verdict(
            f"{what}: p{percent}",
            [topic / raw for topic, raw in zip(*both, strict=True)],
            "x",
            LATER_BAR,
            f"{np.median(both[0]):.1f} ms, a TCP connection of its own {np.median(both[1]):.1f} ms",
        )

    passed = [
        later(50),
        later(99),
        print_verdict(
            f"{what}: the big topic's slowdown",
            [run["alone"] / run["beside"] for run in done],
            "x",
            SLOWER_BAR,
            f"{np.median([run['beside'] for run in done]) * mb:.2f} MB/s beside the small ones",
        ),
        print_verdict(f"{what}: lost", [run["lost"] for run in done], "", 0, "small messages, depth 100"),
    ]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
