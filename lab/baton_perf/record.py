# SPDX-License-Identifier: Apache-2.0
"""`baton perf record`: the cost of recording and replay, beside a plain writev(2) and pread(2) of the same bytes. Prints verdicts in the form that
`baton perf accept` reads.

Rate: publishers offer messages as fast as the recorder takes them (no message is given up), so the time is the recorder's. A second run has
the cameras' own rate: it counts what is missing, and CPU and memory of the recorder. The time that a message takes to another subscription is
compared with that beside one more ordinary subscription, in the same round.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from . import replay
from .record_ends import IMAGE_BYTES, LOADS, SLOTS, Failed, Load, Publishers, Recording, Subscriber, find, own_domain
from .verdicts import print_verdict

COPY_COUNTER = "libbaton_link_copy_counter.so"
# A recording is slower than the plain write by at most a tenth; another subscription waits no longer than beside an ordinary one, but for noise.
TIME_BAR, LATENCY_BAR, MISSING_BAR, COPIES_BAR = 1 / 0.9, 1.1, 0.0, 0.01
MEMORY = "tmpfs"  # has no disk that could be written to directly


_FILLER = """
import ctypes, mmap, os, sys
memory, free, full, size, stride, messages = map(int, sys.argv[1:])
mapped = mmap.mmap(memory, 0)
begin = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
for number in range(messages):
    (slot,) = os.read(free, 1)
    ctypes.memset(begin + slot * stride, number % 256, size)
    os.write(full, bytes([slot]))
"""


def plain(path: Path, load: Load, messages: int, direct: bool = False) -> tuple[float, float]:
    """(seconds, CPU seconds) of writev(2) of the same bytes. Another process writes them to shared memory meanwhile, as a publisher does: what
    was just written by another processor is slower to read than memory that nobody writes. `direct`: past the page cache, of whole pages."""
    stride = -(-load.bytes // mmap.PAGESIZE) * mmap.PAGESIZE
    size = load.bytes // mmap.PAGESIZE * mmap.PAGESIZE if direct else load.bytes
    with contextlib.ExitStack() as ends:
        memory, (free_end, free), (full, full_end) = os.memfd_create("plain"), os.pipe(), os.pipe()
        for end in (memory, free, full):
            ends.callback(os.close, end)
        os.ftruncate(memory, SLOTS * stride)
        mapped = mmap.mmap(memory, 0)
        for number in range(SLOTS):  # no page is new while it is measured
            mapped[number * stride : (number + 1) * stride] = bytes(stride)
        numbers = (memory, free_end, full_end, load.bytes, stride, messages)
        filler = subprocess.Popen([sys.executable, "-c", _FILLER, *map(str, numbers)], pass_fds=numbers[:3])
        ends.callback(filler.wait)
        ends.callback(filler.kill)
        os.close(free_end)
        os.close(full_end)  # so that the end of that process is the end of the pipe

        def next_slot(*done: int) -> int:
            with contextlib.suppress(BrokenPipeError):
                os.write(free, bytes(done))
            if not (found := os.read(full, 1)):
                raise Failed(f"the process that fills the buffers ended with status {filler.wait()}")
            return found[0]

        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | (os.O_DIRECT if direct else 0))
        ends.callback(path.unlink)
        ends.callback(os.close, file)
        slot = next_slot(*range(SLOTS))  # the other process runs
        before, began = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
        for number in range(messages):
            written = os.writev(file, [memoryview(mapped)[slot * stride : slot * stride + size]])
            if written != size:
                raise Failed(f"writev wrote {size - written} bytes less: is the disk full?")
            if number + 1 < messages:
                slot = next_slot(slot)
        seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def fastest(folder: Path, load: Load, rounds: int, words: tuple[str, ...] = ()) -> tuple[float, float]:
    """(seconds, CPU seconds) of a recording whose publishers always have the next message. `words`: more options of the recorder."""
    with own_domain(), tempfile.TemporaryDirectory(dir=folder) as directory:
        publishers = Publishers(load)
        with Recording(Path(directory) / "bag", words=words) as recording:
            publishers.wait()
            for number in range(2):  # memory of the publishers, and the recorder's mappings
                publishers.publish(number)
            recording.until_written(2 * load.topics)
            cpu, began = recording.cpu_s(), time.monotonic()
            for number in range(rounds):
                publishers.publish(number)
            recording.until_written((rounds + 2) * load.topics)
            out = time.monotonic() - began, recording.cpu_s() - cpu
            recording.end()
        return out


def at_rate(folder: Path, load: Load, seconds: float) -> dict[str, float]:
    """A recording at the load's own rate: "missing" messages, "cpu" of one processor, "memory_mib", and the rate that
    the publishers reached ("hz"): they have this machine's processors, too."""
    with own_domain(), tempfile.TemporaryDirectory(dir=folder) as directory:
        publishers = Publishers(load, "medium_effort")
        with Recording(Path(directory) / "bag") as recording:
            publishers.wait()
            cpu, rounds = recording.cpu_s(), max(1, round(seconds * load.hz))
            took = publishers.publish_at_rate(rounds)
            out = {
                "hz": rounds / took,
                "cpu": (recording.cpu_s() - cpu) / took,
                "memory_mib": recording.memory_mib(),
            }
            said = recording.end()
            out["missing"] = rounds * load.topics - said["written_messages"]
        return out


def copied(folder: Path, load: Load, rounds: int) -> float | None:
    """Bytes that the recorder copied in user space, per byte of payload; None without the library that counts."""
    counter = find(COPY_COUNTER, "lib")
    if counter is None:
        return None
    with own_domain(), tempfile.TemporaryDirectory(dir=folder) as directory:
        said = Path(directory) / "copies"
        publishers = Publishers(load)
        with Recording(
            Path(directory) / "bag", {"LD_PRELOAD": str(counter), "BATON_TEST_COPIES": str(said)}
        ) as recording:
            publishers.wait()
            for number in range(rounds):
                publishers.publish(number)
            recording.until_written(rounds * load.topics)
            recording.end()
        return int(said.read_text()) / (rounds * load.topics * load.bytes)


def hand_over_us(folder: Path, beside_recorder: bool, load: Load, rounds: int) -> float:
    """The median time to a subscription, beside the recorder or beside one more subscription."""
    with own_domain(), tempfile.TemporaryDirectory(dir=folder) as directory, contextlib.ExitStack() as ends:
        publishers = Publishers(load)
        watched = Subscriber("watched")
        ends.callback(watched.process.kill)
        if beside_recorder:
            ends.enter_context(Recording(Path(directory) / "bag"))
        else:
            other = Subscriber("other")
            ends.callback(other.process.kill)
        publishers.wait(2)
        for number in range(rounds):
            publishers.publish(number)
            time.sleep(1 / load.hz)
        taken = watched.end()
        if not taken:
            raise Failed("the subscriber got no message")
        return statistics.median(at - published for published, at in taken) / 1000


def judge_time(
    folder: Path, where: str, load: Load, rounds: int, total_bytes: int, words: tuple[str, ...] = ()
) -> bool:
    count = max(2, total_bytes // load.bytes // load.topics)
    times, cpus, plain_mb = [], [], []
    for _ in range(rounds):
        plain_s, plain_cpu = plain(
            folder / f"baton-plain-{os.getpid()}", load, count * load.topics, "--direct" in words
        )
        record_s, record_cpu = fastest(folder, load, count, words)
        times.append(record_s / plain_s)
        cpus.append(record_cpu / max(plain_cpu, 1e-6))
        plain_mb.append(count * load.topics * load.bytes / plain_s / 1e6)
    typical, cpu = statistics.median(plain_mb), statistics.median(cpus)
    return print_verdict(
        " ".join(("record", *words, f"{load.name}, {where}: time beside a plain writev", *words)),
        times,
        "x",
        TIME_BAR,
        f"plain {typical:.0f} MB/s; CPU {cpu:.2f} times that of the plain write",
    )


def judge(folder: Path, loads: tuple[Load, ...], rounds: int, total_bytes: int, seconds: float) -> bool:
    """Measures and prints the verdicts of one file system."""
    where = subprocess.run(
        ["stat", "-f", "-c", "%T", folder], capture_output=True, text=True, check=True
    ).stdout.strip()
    passed = []
    for load in loads:
        if load.bytes == IMAGE_BYTES:  # the publishers of small messages are slower than any file system
            passed.append(judge_time(folder, where, load, rounds, total_bytes))
            if where != MEMORY:
                passed.append(judge_time(folder, where, load, rounds, total_bytes, ("--direct",)))
        paced = [at_rate(folder, load, seconds) for _ in range(rounds)]
        passed.append(
            print_verdict(
                f"record {load.name}, {where}: messages missing",
                [run["missing"] for run in paced],
                "",
                MISSING_BAR,
                f"published at {min(run['hz'] for run in paced):.1f} Hz; {max(run['cpu'] for run in paced):.0%} of a CPU, "
                f"{max(run['memory_mib'] for run in paced):.0f} MiB",
            )
        )
    return all(passed)


@click.command(
    help=(__doc__ or "").partition("\n\n")[0],
    epilog="\b\nExamples:\n  baton perf record\n  baton perf record --folder /tmp --rounds 3",
)
@click.option(
    "--folder",
    "folders",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    default=("/dev/shm", "."),
    show_default=True,
    help="Where bags are written; may be repeated.",
)
@click.option("--rounds", type=click.IntRange(1), default=10, show_default=True)
@click.option("--topics", type=click.IntRange(1), help="Only the loads with so many topics.")
@click.option(
    "--megabytes", type=click.IntRange(1), default=1000, show_default=True, help="Payload of a run without a rate."
)
@click.option("--seconds", type=click.FloatRange(0.01), default=5.0, show_default=True, help="Of a run with a rate.")
def command(folders: tuple[Path, ...], rounds: int, topics: int | None, megabytes: int, seconds: float) -> None:
    loads = tuple(load for load in LOADS if topics in (None, load.topics))
    if not loads:
        raise click.UsageError(f"no load has {topics} topics: {', '.join(str(load.topics) for load in LOADS)}")
    passed = []
    try:
        for folder in folders:
            if shutil.disk_usage(folder).free < 3 * megabytes * 10**6:
                raise Failed(f"{folder} has less than {3 * megabytes} MB free: choose --folder or --megabytes")
            passed.append(judge(folder, loads, rounds, megabytes * 10**6, seconds))
        copies = copied(folders[0], loads[0], 20)
        if copies is not None:
            passed.append(
                print_verdict(
                    "copies of a byte of payload in the recorder", [copies], "", COPIES_BAR, "memcpy and the like"
                )
            )
        camera = loads[0]
        messages = max(1, round(seconds * camera.hz))
        ratios = [
            hand_over_us(folders[0], True, camera, messages) / hand_over_us(folders[0], False, camera, messages)
            for _ in range(rounds)
        ]
        passed.append(
            print_verdict(
                f"{camera.name}: time to another subscription", ratios, "x", LATENCY_BAR, "beside one more subscription"
            )
        )
        passed += [replay.judge(folder, rounds, megabytes * 10**6, seconds) for folder in folders]
    except Failed as problem:
        print(f"baton perf record: {problem}", file=sys.stderr)
        sys.exit(2)
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    command()
