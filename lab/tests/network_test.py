# SPDX-License-Identifier: Apache-2.0
"""Two hosts in namespaces: made, connected, measured and always removed. Counts, not times."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from baton_perf import experiments, figures, network, peers, recording, runs, session, tables
from baton_perf.experiments import EXPERIMENTS
from baton_perf.network import ADDRESSES, NAMES, PROFILES, Network, NetworkFailed
from baton_perf.runs import Cell, RunFailed, perform
from recorded import invoke, needs_programs, peer, run_of, why_no_network
from support.processes import Process
from support.waiting import until

WHY_NOT = why_no_network()
needs_network = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
BUILT = peers.built() if peers.program_folder() else {}
FEW = Cell(bytes=1 << 20, message="Image", messages=10, rate=30, round_trip=True, answer_s=20, network="veth")
# What is written here, and loses nothing by its design.
OURS = {"tcp"}
BETWEEN = [(peer, variant) for peer in BUILT.values() for variant in peer.network_variants]


def processes_in(spaces: set[str]) -> list[int]:
    """Those of this machine that live in one of these network namespaces."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(entry / "ns/net") in spaces:
                found.append(int(entry.name))
        except OSError:
            pass  # it ended just now, or is a kernel thread
    return found


def spaces_of(net: Network) -> set[str]:
    return {net.run(host, "readlink", "/proc/self/ns/net").strip() for host in (0, 1)}


@contextmanager
def kept(spaces: set[str]) -> Iterator[None]:
    """Keeps the namespaces from ending, so that the kernel gives their numbers to no namespace that another test makes meanwhile."""
    with ExitStack() as held:
        for space in spaces:
            pid = next(pid for pid in processes_in({space}))
            descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
            held.callback(os.close, descriptor)
            assert os.readlink(f"/proc/self/fd/{descriptor}") == space
        yield


@needs_network
def test_two_hosts_have_a_network_shared_memory_and_a_name_of_their_own_each():
    with Network("veth") as net:
        assert len(spaces_of(net) | {os.readlink("/proc/self/ns/net")}) == 3
        assert [net.run(host, "hostname").strip() for host in (0, 1)] == list(NAMES)
        net.run(0, "touch", "/dev/shm/of_the_first")
        assert net.run(1, "ls", "/dev/shm") == "" and not Path("/dev/shm/of_the_first").exists()
        assert ADDRESSES[1] in net.run(0, "getent", "hosts", NAMES[1])
        # The process ids are shared, so that names made of them stay unique.
        assert net.run(0, "readlink", "/proc/self/ns/pid") == net.run(1, "readlink", "/proc/self/ns/pid")


@needs_network
@pytest.mark.parametrize("profile", PROFILES)
def test_a_network_is_gone_with_its_processes_when_it_ends(profile):
    with ExitStack() as held:
        with Network(profile) as net:
            spaces = spaces_of(net)
            held.enter_context(kept(spaces))
            left = subprocess.Popen(net.wrap(1, ["sleep", "600"]), stdin=subprocess.DEVNULL, start_new_session=True)
            assert processes_in(spaces)
        assert left.wait(timeout=60) != 0  # nsenter(1), which ends after what it started
        assert processes_in(spaces) == []


@needs_network
def test_a_network_is_gone_when_the_run_that_made_it_is_killed(tmp_path):
    program = (
        "import subprocess, sys, time\nfrom baton_perf.network import Network\n"
        "with Network('10gbit') as net:\n"
        "    sleeper = subprocess.Popen(net.wrap(1, ['sleep', '600']))\n"
        "    print(*(net.run(h, 'readlink', '/proc/self/ns/net').strip() for h in (0, 1)), flush=True)\n"
        "    time.sleep(600)\n"
    )
    path = os.pathsep.join(sys.path)
    run = Process([sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": path, "TMPDIR": str(tmp_path)})
    spaces = set(run.stdout.readline().split())
    assert len(spaces) == 2 and processes_in(spaces)
    with kept(spaces):
        run.end()
        until(lambda: not processes_in(spaces), "processes are left in the namespaces of a run that is dead")
    assert list(tmp_path.iterdir()) == []


@needs_network
@pytest.mark.parametrize(
    ("profile", "rate"),
    [("10gbit", "rate 10Gbit"), ("1gbit", "rate 1Gbit"), ("100mbit", "rate 100Mbit"), ("1mbit", "rate 1Mbit")],
)
def test_the_kernel_has_the_rate_of_the_profile_in_both_directions(profile, rate):
    with Network(profile) as net:
        assert all(rate in net.run(host, "tc", "qdisc", "show", "dev", network.DEVICE) for host in (0, 1))


@pytest.mark.parametrize(
    ("hidden", "way_out"), [("ip", "install iproute2"), ("tc", "install iproute2"), ("unshare", "install util-linux")]
)
def test_a_missing_command_is_named_with_its_package(monkeypatch, hidden, way_out):
    whole = network.shutil.which
    monkeypatch.setattr(network.shutil, "which", lambda tool: None if tool == hidden else whole(tool))
    with pytest.raises(NetworkFailed, match=f"{hidden}: {way_out}"):
        network.check("10gbit")


def test_without_the_right_to_make_namespaces_the_error_names_the_way_out(monkeypatch, tmp_path):
    refused = tmp_path / "unshare"
    refused.write_text("#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\nexit 1\n")
    refused.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(NetworkFailed, match="Operation not permitted.*run it as root, or allow user namespaces"):
        network.check("veth")
    with pytest.raises(RunFailed, match="run it as root"):
        perform(peer(), "loan", FEW)
    if BUILT:
        result = invoke("run", "--network", "veth", "-p", "tcp")
        assert result.exit_code == 1 and "run it as root" in result.output


@needs_programs
def test_two_hosts_and_one_process_exclude_each_other():
    result = invoke("run", "--network", "veth", "--one-process")
    assert result.exit_code == 2 and "--one-process" in result.output


def test_a_variant_that_stays_on_one_host_is_not_scheduled_on_two():
    between = peer("both", ("here", "there"), network_variants=("there",))
    jobs = session.schedule("e", [FEW], [(between, "here"), (between, "there")], 1)
    assert [job.variant for job in jobs] == ["there"]


@needs_network
@pytest.mark.parametrize(
    ("peer", "variant"), BETWEEN, ids=lambda value: value.id if isinstance(value, peers.Peer) else value
)
def test_every_message_of_a_short_ping_pong_between_two_hosts_is_answered(peer, variant):
    failed = []
    while len(failed) < (1 if peer.id in OURS else 4):  # another system may give up on a busy machine
        try:
            run = perform(peer, variant, replace(FEW, echo=not failed), timeout=240)
        except RunFailed as problem:
            failed.append(str(problem))
            continue
        answers = figures.publishers(run)[0]
        if figures.lost(run) == 0:
            assert len(answers["samples"]["round_trip_ns"]) == len(answers["samples"]["construct_round_trip_ns"]) == 10
            assert answers["torn_answers"] == 0
            assert all(s["torn"] == s["refused"] == 0 for s in figures.subscribers(run))
            return
        failed.append(f"{figures.lost(run)} of 10 messages have no answer")
    pytest.fail(f"{len(failed)} runs: {failed}")


@needs_network
@pytest.mark.skipif("tcp" not in BUILT, reason="the peer tcp is not built")
def test_both_clocks_of_a_round_trip_start_one_after_the_other_and_stop_together():
    run = perform(BUILT["tcp"], "stream", FEW)
    samples = figures.publishers(run)[0]["samples"]
    pairs = list(zip(samples["round_trip_ns"], samples["construct_round_trip_ns"], strict=True))
    assert len(pairs) == 10 and all(0 < short < long for short, long in pairs)


@needs_network
@pytest.mark.skipif("tcp" not in BUILT, reason="the peer tcp is not built")
def test_a_ping_pong_over_wifi_comes_through_whatever_is_lost_and_the_line_says_how_much(monkeypatch):
    # As on a kernel without netem, whichever this one is.
    whole = Network.run

    def without_netem(net, host, *command):
        if "netem" in command:
            raise NetworkFailed("Specified qdisc kind is unknown")
        return whole(net, host, *command)

    monkeypatch.setattr(Network, "run", without_netem)
    run = perform(BUILT["tcp"], "stream", replace(FEW, network="wifi", messages=20), timeout=240)
    assert figures.lost(run) == 0 and figures.publishers(run)[0]["torn_answers"] == 0
    assert len(run["line"]) == 2
    for way in run["line"]:
        assert way["entered"] >= way["passed"] + way["lost"] + way["refused"]  # the rest is inside at the end
        assert way["passed_bytes"] > 35 << 20  # 20 messages of 1 MB, and 15 of the warm-up
        assert way["least_held_ns"] >= 5_000_000
        # 1 % of some 30,000 packets: 300, with a standard deviation of 17.
        assert way["entered"] > 20_000 and 0.005 < way["lost"] / way["entered"] < 0.02


def test_a_line_that_is_not_built_is_an_error_with_the_way_out(monkeypatch, tmp_path):
    net = Network("wifi")
    monkeypatch.setattr(network, "program_folder", lambda: tmp_path)
    with pytest.raises(NetworkFailed, match="no netem.*make build"):
        net._connect_by_emulator()


def test_a_message_without_an_answer_counts_as_lost():
    run = run_of([1] * 10)
    figures.publishers(run)[0]["samples"] = {"round_trip_ns": [1] * 7}
    assert figures.lost(run) == 3


def test_between_two_hosts_batons_link_is_shown_as_baton():
    assert tables.name_of(run_of([1]) | {"peer": "baton_link", "variant": "link"}) == "baton"


@needs_network
@pytest.mark.parametrize("id", ["rossf-fig15", "rossf-fig16"])
@pytest.mark.skipif("tcp" not in BUILT, reason="the peer tcp is not built")
def test_an_experiment_between_two_hosts_is_measured_drawn_and_says_which_peers_are_missing(tmp_path, monkeypatch, id):
    pytest.importorskip("matplotlib")
    whole = EXPERIMENTS[id]
    few = [replace(cell, messages=5, network="veth") for cell in whole.cells("quick")[:2]]
    some = ("tcp", "telepathy", *(["roscpp:tcpros"] if "roscpp" in BUILT else []))
    monkeypatch.setitem(experiments.EXPERIMENTS, id, replace(whole, cells=lambda profile: few, peers=some))
    done = invoke("experiment", id, "-o", str(tmp_path))
    assert done.exit_code == 0, done.output
    missing = ("telepathy was not measured: not built", "rmw_cyclonedds_cpp was not measured: neither PyPI nor Debian")
    path = tmp_path / f"{id}.jsonl.gz"
    runs_ = recording.Recording.load(path).runs
    assert len(runs_) == len(few) * (len(some) - 1) and all(run["cell"]["network"] == "veth" for run in runs_)
    assert all(figures.lost(run) == 0 for run in runs_ if run["peer"] == "tcp")
    page = tmp_path / "report.html"
    assert invoke("report", str(path), "-o", str(page)).exit_code == 0
    for text in (done.output, page.read_text()):
        assert all(words in text for words in missing), text
        assert "round trip" in text and "over veth" in text
    assert page.read_text().count("<svg") >= 2


def test_the_field_names_of_a_cell_that_the_runner_reads_are_those_of_its_plan():
    assert {"echo", "answer_s"} <= set(runs.PLAN_FIELDS) <= set(asdict(Cell()))
