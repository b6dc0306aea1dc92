# SPDX-License-Identifier: Apache-2.0
"""`baton top`: its figures, its screen and its keys."""

import contextlib
import fcntl
import io
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from types import SimpleNamespace

import pytest
from baton_cli import terminal_keys, top_view
from rich.console import Console


def test_top_counts_published_messages(baton):
    baton.camera()
    lines = baton("top", "-n", "2", "-i", "3", "--json").splitlines()
    topics = {t["topic"]: t for t in json.loads(lines[-1])["topics"]}
    assert set(topics) == {"/image", "/chatter"}
    assert topics["/image"]["rate_hz"] > 0
    assert topics["/image"]["latency_s"] > 0
    assert topics["/image"]["converted"] == 0
    assert topics["/chatter"]["converted"] == 1
    assert topics["/chatter"]["subscriptions"][0].startswith("camera(")
    assert "/image" in baton("top", "-n", "1", "-i", "0.2")


def test_top_shows_the_messages_that_each_subscription_holds(baton, programs):
    baton.camera()
    code = """
import baton
node = baton.Node("hoarder")
subscription = node.subscribe("image", "sensor_msgs/Image", qos=baton.QoS(3, held=4))
held = [subscription.take(120) for _ in range(3)]
print(*(baton.info(m).sequence for m in held), flush=True)
input()
"""
    hoarder = programs.python(code)
    sequences = [int(n) for n in hoarder.stdout.readline().split()]
    shown = json.loads(baton("top", "-n", "1", "-i", "3", "--json"))["holders"]
    mine = next(h for h in shown if h["subscription"] == f"hoarder({hoarder.pid})")
    assert (mine["topic"], mine["held"]) == ("/image", 3)
    assert mine["publisher"].startswith("camera(")
    assert [c["sequence"] for c in mine["chunks"]] == sequences
    assert mine["held_bytes"] > 3_000_000
    assert "hoarder" in baton("top", "-n", "1", "-i", "3")


def test_top_counts_the_bytes_of_all_messages_that_are_held(baton, program):
    program(
        '(node := baton.Node("keeper"))',
        'node.advertise("image", "sensor_msgs/Image")',
        'node.subscribe("image", "sensor_msgs/Image", qos=baton.QoS(20, held=20))',
        "kept[2].wait_for_publishers(1, 120)",
        "[kept[1].publish({'data': bytes(100_000)}) for _ in range(20)]",
        "[kept[2].take(120) for _ in range(20)]",
    )
    (row,) = json.loads(baton("top", "-n", "1", "-i", "0.2", "--json"))["holders"]
    assert (row["held"], len(row["chunks"])) == (20, 8)
    assert row["held_bytes"] == 20 * row["chunks"][0]["bytes"] > 2_000_000


@pytest.fixture
def screen(environment):
    """screen(*arguments) runs the command on a terminal of 100 columns and 24 lines. It returns a pty and the text drawn so far."""
    running = []

    def start(*arguments):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(sys.executable, [sys.executable, "-m", "baton_cli", *arguments], {**shown, "TERM": "xterm"})
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        running.append((pid, terminal))
        return Screen(pid, terminal)

    shown = {name: value for name, value in environment.items() if name != "COLUMNS"}
    yield start
    for pid, terminal in running:
        os.close(terminal)
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


class Screen:
    def __init__(self, pid, terminal):
        self.pid, self.terminal, self.drawn = pid, terminal, ""

    def until(self, text, after=0):
        """Reads until `text` was drawn; returns the place behind it."""
        end = time.monotonic() + 60
        while text not in self.drawn[after:]:
            left = end - time.monotonic()
            assert left > 0 and select.select([self.terminal], [], [], left)[0], self.drawn[-3000:]
            self.drawn += os.read(self.terminal, 65536).decode(errors="replace")
        return self.drawn.index(text, after) + len(text)

    def type(self, text):
        os.write(self.terminal, text.encode())


def test_top_obeys_its_keys_and_leaves_with_q(baton, screen, program):
    program(
        '(node := baton.Node("many"))',
        '[node.advertise(f"/robot/sensor_{i:03}", "std_msgs/String") for i in range(40)]',
    )
    top = screen("top", "-i", "0.2", "--sort", "topic")
    seen = top.until("/robot/sensor_000")
    seen = top.until(" more", seen)
    top.type("G")
    seen = top.until("/robot/sensor_039", seen)
    seen = top.until(" above", seen)
    top.type("/sensor_02\r")
    seen = top.until("/robot/sensor_020", seen)
    seen = top.until("30 of other names", seen)
    seen = top.until("filter: sensor_02", seen)
    top.type("s")
    top.until("sort: MB/s", seen)
    top.type("q")
    assert os.waitstatus_to_exitcode(os.waitpid(top.pid, 0)[1]) == 0


def test_top_breaks_no_words_on_a_terminal_of_80_columns():
    row = {
        "topic": "/camera/image",
        "type": "sensor_msgs/Image",
        "rate_hz": 30.0,
        "bytes_per_s": 186.6e6,
        "latency_s": 80e-6,
        "converted": 0,
        "publishers": ["camera(12345)"],
        "subscriptions": ["detector(123)", "a_name_that_is_too_long(12345)"],
        "note": "",
    }
    broken = {**row, "topic": "/other", "note": "unknown type 'a/B'"}
    holder = {"topic": "/camera/image", "publisher": "camera(12345)", "subscription": "recorder(1)"}
    holder |= {"unread": 2, "held": 1, "held_bytes": 18e6, "chunks": [{"sequence": 7}]}
    console = Console(width=80, record=True, file=io.StringIO())
    memory = {"domain_backed_bytes": 1e6, "domain_limit_bytes": 1 << 62}
    console.print(top_view.picture([row, broken], [holder], memory, [("camera", 12345)], 0, console.width))
    words = console.export_text().split()
    for whole in ("latency", "publishers", "subscriptions", "186.60", "camera(12345)", "detector(123)", "recorder(1)"):
        assert whole in words
    assert "/other is not watched: unknown type 'a/B'" in " ".join(words)
    assert {"long(12345)", "type"}.isdisjoint(words[: words.index("/other")])
    assert any(w.startswith("a_") and w.endswith("…(12345)") for w in words)  # the process is never cut
    assert "1 node, 1 process;" in " ".join(words)


def test_a_node_of_another_host_is_cut_in_its_own_name_and_keeps_its_host():
    assert top_view.cut_end("camera@pc-b(24350)", 18) == "camera@pc-b(24350)"
    assert top_view.cut_end("camera@pc-b(24350)", 16) == "cam…@pc-b(24350)"
    assert top_view.cut_end("a_long_name(24350)", 12) == "a_lo…(24350)"
    assert top_view.cut_end("camera@robot-17(24350)", 13) == "…ot-17(24350)", "the end of a host says more"
    for width in range(8, 30):
        shown = top_view.cut_end("camera@robot-17(24350)", width)
        assert len(shown) <= width and shown.endswith("(24350)")


def _topic_row(number):
    return {
        "topic": f"/t{number:03}",
        "type": "std_msgs/String",
        "rate_hz": 1.0 * number,
        "bytes_per_s": 0.0,
        "latency_s": None,
        "converted": None,
        "publishers": ["a(1)"],
        "subscriptions": [f"b{i}(2)" for i in range(number % 7)],
        "note": "",
    }


@pytest.mark.parametrize("of_other", [0, 3, 40], ids=lambda count: f"{count} links of another middleware")
@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 18), (200, 60), (60, 12)])
def test_top_fits_the_screen_and_says_how_much_is_left_out(width, height, of_other):
    other = SimpleNamespace(NAME="ROS 1", SHORT_WAYS={"shared memory, handles by TCP": "handles"})
    link = {"publisher": "talker(1)", "subscriber": "viewer(2)", "rate_hz": 30.0, "bytes_per_s": 1e6}
    link |= {"way": "shared memory, handles by TCP", "copies": 0, "why": "types of Baton at both ends, mode tzc"}
    links = [{**link, "topic": f"/link{number}"} for number in range(of_other)]
    rows = [_topic_row(number) for number in range(5 * height)]
    holder = {"topic": "/t001", "publisher": "a(1)", "subscription": "c(1)", "unread": 0, "held": 1, "held_bytes": 1}
    holders = [{**holder, "chunks": [{"sequence": 7}]} for _ in range(20)]
    memory = {"domain_backed_bytes": 1e6, "domain_limit_bytes": 1 << 62}
    view = top_view.TopView(sort="topic")
    seen = 0
    while seen < len(rows):
        console = Console(width=width, record=True, file=io.StringIO())
        console.print(top_view.picture(rows, holders, memory, [("a", 1)], 0, width, view, height, other, links))
        lines = console.export_text().splitlines()
        assert len(lines) <= height
        drawn = sum("viewer(2)" in line for line in lines)
        assert drawn == of_other or (
            f"{of_other - drawn} more" if drawn else f"{of_other} links of ROS 1"
        ) in "\n".join(lines)
        below = len(rows) - view.offset - view.page
        assert view.offset == seen
        assert (f"{below} more" in "\n".join(lines)) if below else ("more" not in lines[-10:]), lines
        seen += view.page
        view.on_key("page down")


def test_top_sorts_filters_and_scrolls_by_keys():
    rows = [_topic_row(number) for number in range(20)]
    view = top_view.TopView()
    for key in terminal_keys.keys("s"):
        view.on_key(key)
    assert view.sort == "Hz"
    assert [r["topic"] for r in view.sorted(rows)][:2] == ["/t019", "/t018"]
    for key in terminal_keys.keys("r\x1b[B\x1b[B\x1b[A"):
        view.on_key(key)
    assert view.reverse and view.offset == 1
    for key in terminal_keys.keys("/t01x\x7f\r"):
        view.on_key(key)
    assert {r["topic"] for r in view.sorted(rows)} == {f"/t{number:03}" for number in range(10, 20)}
    view.pattern = "/t00?"
    assert len(view.sorted(rows)) == 10
    assert not view.done
    for key in terminal_keys.keys("/q\x1bq"):
        view.on_key(key)
    assert view.done and view.pattern == ""
