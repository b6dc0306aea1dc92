# SPDX-License-Identifier: Apache-2.0
"""The lines that one message touches: the same for each size, and within their budget."""

from __future__ import annotations

import json
import os
import signal
import statistics
from dataclasses import replace
from functools import lru_cache

import pytest
from baton_cli.main import baton
from baton_perf import accept, peers, stepping, touch
from baton_perf.runs import RunFailed
from click.testing import CliRunner

if peers.program_folder() is None:
    pytest.skip("build/lab is not there: make build-lab", allow_module_level=True)
try:
    stepping.check()
except stepping.CannotStep as problem:
    pytest.skip(f"{problem} (make setup)", allow_module_level=True)

CRITERIA = [c for c in accept.load() if c["kind"] == "touch"]


@lru_cache(maxsize=8)
def counted(peer: str, size: int) -> touch.Result:
    name, _, variant = peer.partition(":")
    return touch.touch(peers.built()[name], variant, size)


@pytest.fixture(scope="module")
def small() -> touch.Result:
    return counted("baton:loan", 64)


@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda c: c["id"])
def test_a_message_stays_within_its_budget(criterion):
    counts = counted(criterion["peer"], criterion["bytes"]).fewest(criterion["role"])
    budget = {"pages": criterion["pages"], "lines": accept.line_budget(criterion, counts)}
    for what, count in {"pages": counts.total_pages, "lines": counts.total_lines}.items():
        assert count <= budget[what], (
            f"one message touches {count} {what}, and {budget[what]} are permitted (lab/baton_perf/criteria.toml): "
            f"`baton perf touch -p {criterion['peer']} -v` says whose: {counts}"
        )


def test_the_counts_do_not_depend_on_the_size_of_the_payload(small):
    big = touch.touch(peers.built()["baton"], "loan", 1 << 20, messages=3)
    for role in touch.ROLES:
        assert abs(statistics.median_low(big.pages[role]) - statistics.median_low(small.pages[role])) <= 3
        assert abs(statistics.median_low(big.lines[role]) - statistics.median_low(small.lines[role])) <= 30


def test_the_counts_do_not_grow_with_a_flat_type(small):
    flat = touch.touch(peers.built()["baton"], "loan", 1024, messages=3, message="Array1k")
    for role in touch.ROLES:
        assert statistics.median_low(flat.pages[role]) <= statistics.median_low(small.pages[role]) + 6
        assert statistics.median_low(flat.lines[role]) <= statistics.median_low(small.lines[role]) + 30


def without_stack(counts: touch.Counts) -> tuple[int, int]:
    """Pages and lines. Where the stack begins in its page is random."""
    return counts.total_pages - counts.pages.get("stack", 0), counts.total_lines - counts.lines.get("stack", 0)


@pytest.mark.parametrize(
    ("variant", "roles", "more_pages"),
    [
        # Without those of a subscriber that polls: on a busy machine it lags, and a message is counted with a part of the one before.
        pytest.param("loan", ("subscriber",), 0, id="wait set"),
        # Its room is full, so that some of its objects lie on a page that many share.
        pytest.param("loan", ("publisher",), 1, id="publisher"),
        # An executor that is older than all endpoints lies beside the first one, and here another topic has that.
        pytest.param("executor", ("subscriber",), 1, id="executor"),
    ],
)
def test_a_message_touches_the_same_whether_its_process_has_one_topic_or_a_hundred(variant, roles, more_pages):
    peer = peers.built()["baton"]
    one = touch.touch(peer, variant, 64)
    hundred = touch.touch(peer, variant, 64, settings={"idle_topics": "99"})
    for role in roles:
        pages, lines = without_stack(one.fewest(role))
        pages_of_hundred, lines_of_hundred = without_stack(hundred.fewest(role))
        assert pages_of_hundred <= pages + more_pages, (one.counts[role], hundred.counts[role])
        # Two more, because the message's places in the ring and in the data segment are others.
        more_lines = 2
        if hundred.fewest(role).collects and not one.fewest(role).collects:
            more_lines += 24  # with fewer chunks each message collects
        assert lines_of_hundred <= lines + more_lines, (one.counts[role], hundred.counts[role])


def test_touched_lines_are_named_by_region_and_function(small):
    subscriber = small.counts["subscriber"]
    assert {"stack", "heap", "code: libbaton", "shared: baton-ring", "shared: baton-data"} <= subscriber.pages.keys()
    assert subscriber.total_lines == sum(subscriber.lines.values()) > subscriber.total_pages
    assert any(name.startswith("code: ") and "Reader::take" in name for name in subscriber.functions)
    assert any(name.startswith("shared: baton-ring: first by ") for name in subscriber.functions)
    assert sum(subscriber.functions.values()) == subscriber.total_lines
    assert any("Writer::publish" in name for name in small.counts["publisher"].functions)


def test_a_bare_futex_touches_few_pages_and_one_line_of_shared_memory():
    if "bare" not in peers.built():
        pytest.skip("the peer bare is not built (make build)")
    bare = touch.touch(peers.built()["bare"], "futex", 64, messages=3)
    for role in touch.ROLES:
        assert statistics.median_low(bare.pages[role]) < 20
    assert bare.counts["publisher"].lines["shared: baton-perf-bare"] <= 2


def test_a_subscriber_that_polls_is_counted_from_the_poll_that_finds_the_message():
    result = touch.touch(peers.built()["baton"], "loan", 64, messages=3, spin=True)
    functions = result.counts["subscriber"].functions
    assert any("Reader::take" in name for name in functions)
    assert not any("WaitSet" in name for name in functions), "it has not slept"


def test_a_transport_that_cannot_poll_is_refused_in_words():
    peer = replace(peers.built()["baton"], can_spin=False)
    with pytest.raises(RunFailed, match="baton cannot poll"):
        touch.touch(peer, "loan", 64, spin=True)


def test_pythons_ends_are_counted_with_the_interpreter():
    if "baton_python" not in peers.built():
        pytest.skip(f"the peer baton_python is not built: {peers.absent().get('baton_python', 'make build')}")
    for variant in peers.built()["baton_python"].variants:
        result = touch.touch(peers.built()["baton_python"], variant, 64, messages=2)
        for role in touch.ROLES:
            regions = result.counts[role].pages.keys()
            assert any(name.startswith("code: libpython") for name in regions)
            assert any(name.startswith("code: _core") for name in regions)
            assert result.counts[role].system_calls <= 1


def test_a_transport_that_delivers_on_another_thread_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(touch, "_MOST_STEPS", 20)
    with pytest.raises(RunFailed, match="main thread"):
        touch.touch(peers.built()["baton"], "loan", 64, messages=1)


def test_a_process_that_dies_while_it_is_traced_is_an_error_of_the_run_that_says_how(monkeypatch):
    def dies(self, thread, mark, _):
        os.kill(thread.pid, signal.SIGKILL)
        thread.run_to(mark)

    monkeypatch.setattr(touch._Watch, "_publisher", dies)
    with pytest.raises(RunFailed, match="ended by SIGKILL"):
        touch.touch(peers.built()["baton"], "loan", 64, messages=1)


def test_the_command_prints_tables_and_writes_the_picture_and_all_counts(tmp_path):
    picture, counts = tmp_path / "touch.png", tmp_path / "touch.json"
    words = ["perf", "touch", "-p", "baton:loan", "-n", "2", "-v", "--plot", str(picture), "--json", str(counts)]
    done = CliRunner().invoke(baton, words)
    assert done.exit_code == 0, done.output
    for text in (
        "publisher: pages of one message of 64 B",
        "subscriber: lines of one message of 64 B",
        "code: libbaton",
        "whose",
    ):
        assert text in done.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert json.loads(counts.read_text())["baton:loan"]["pages"].keys() == {"publisher", "subscriber"}
