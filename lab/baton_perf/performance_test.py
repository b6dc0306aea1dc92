# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of `performance_test`: its options, its message names, its tables, its log files.

Original: the version that the TogetheROS.Bot page uses. Units are ours to state: times in the tables are seconds, utime and stime
nanoseconds, maxrss KiB; the CSV has milliseconds for latencies, as the original's.
"""

from __future__ import annotations

import csv
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich import box
from rich.columns import Columns
from rich.console import Console
from rich.table import Table

from .peers import Peer

KB, MB = 1 << 10, 1 << 20
STAMP = 64  # bytes that our struct types have before the original's members
ARRAYS = {f"Array{n}k": n * KB for n in (1, 4, 16, 32, 60, 64, 256)} | {f"Array{n}m": n * MB for n in (1, 2, 4, 8, 16)}
STRUCTS = {"Struct16": STAMP + 16, "Struct256": STAMP + 256, "Struct4k": STAMP + 4 * KB, "Struct32k": STAMP + 32 * KB}
CLOUDS = {"PointCloud512k": 512 * KB} | {f"PointCloud{n}m": n * MB for n in (1, 2, 4, 8)}
UNBOUNDED = {"UnboundedSequence": "Image", "Image": "Image", "PointCloud2": "PointCloud2", "LaserScan": "LaserScan"}
OURS = {"WayPoints": 2000 * 72, "Lidar": 1000 * 1250}
MESSAGES = [*ARRAYS, *STRUCTS, *CLOUDS, *UNBOUNDED, *OURS]


def message_and_bytes(name: str, unbounded: int | None) -> tuple[str, int]:
    """The runner's message type and payload size. Raises click.ClickException for a name that is unknown."""
    if name in UNBOUNDED:
        return UNBOUNDED[name], unbounded or MB
    if unbounded is not None:
        raise click.ClickException(
            f"--unbounded-msg-size is for {', '.join(UNBOUNDED)}; {name} has its size in its name"
        )
    for sizes, type in ((ARRAYS, name), (STRUCTS, name), (CLOUDS, "PointCloud2"), (OURS, name)):
        if name in sizes:
            return type, sizes[name]
    raise click.ClickException(f"no message '{name}' here; --msg-list lists the names")


def block(console: Console, line: dict) -> None:
    """One second, in the original's tables."""

    def table(values: dict, form: str = "{}") -> Table:
        t = Table(box=box.ASCII2)
        for key in values:
            t.add_column(key, no_wrap=True)
        t.add_row(*(form.format(v) if isinstance(v, float) else str(v) for v in values.values()))
        return t

    six = "{:.6f}"
    console.print("run time\n")
    console.print(table({key: line[key] for key in ("T_experiment", "T_loop")}, six))
    console.print("\nsamples" + " " * 56 + "latency\n")
    samples = {key: line[key] for key in ("recv", "sent", "lost", "data_recv", "relative_loss")}
    console.print(Columns([table(samples, six), table(line["latency"], six)]))
    console.print("\npublisher loop" + " " * 35 + "subscriber loop\n")
    console.print(Columns([table(line["publisher_loop"], six), table(line["subscriber_loop"], six)]))
    console.print("\nsystem usage\n")
    keys = list(line["usage"])
    for part in (keys[:8], keys[8:]):
        console.print(table({key: line["usage"][key] for key in part}))
    console.print()


class CsvLog:
    """The original's columns; latencies in ms."""

    def __init__(self, path: Path, settings: dict):
        self.file = path.open("w", encoding="utf-8", newline="")
        for key, value in settings.items():
            self.file.write(f"{key}: {value}\n")
        self.file.write("---EXPERIMENT-START---\n")
        self.writer = csv.writer(self.file)
        self.head = False
        self.cpu_before: tuple[float, float] | None = None

    def add(self, line: dict) -> None:
        u = line["usage"]
        cpu = (u["utime"] + u["stime"]) / 1e9
        before = self.cpu_before or (0.0, 0.0)
        self.cpu_before = (line["T_experiment"], cpu)
        share = 100 * (cpu - before[1]) / max(1e-9, line["T_experiment"] - before[0])
        row = {
            "T_experiment": line["T_experiment"],
            "T_loop": line["T_loop"],
            "received": line["recv"],
            "sent": line["sent"],
            "lost": line["lost"],
            "relative_loss": line["relative_loss"],
            "data_received": line["data_recv"],
            **{f"latency_{k} (ms)": 1000 * v for k, v in line["latency"].items()},
            **{f"pub_loop_res_{k} (ms)": 1000 * v for k, v in line["publisher_loop"].items()},
            **{f"sub_loop_res_{k} (ms)": 1000 * v for k, v in line["subscriber_loop"].items()},
            **{f"ru_{k}": v for k, v in u.items()},
            "cpu_usage (%)": share,
        }
        if not self.head:
            self.writer.writerow(row)
            self.head = True
        self.writer.writerow(row.values())
        self.file.flush()

    def close(self) -> None:
        self.file.close()


@contextmanager
def meeting_place(path: Path) -> Iterator[None]:
    """The directory in which the commands of a topic meet. The last command removes it, with all files of a killed one."""
    while True:
        path.mkdir(mode=0o700, exist_ok=True)
        try:
            held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        fcntl.flock(held, fcntl.LOCK_SH)
        if path.exists() and os.path.samestat(os.fstat(held), path.stat()):
            break
        os.close(held)  # its last user has removed it meanwhile
    try:
        yield
    finally:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except BlockingIOError:
            pass  # another command of the same topic still uses it
        os.close(held)


def run(peer: Peer, variant: str, options: dict) -> int:
    """Runs until the maximum runtime or Ctrl-C; prints a block per second. Returns the program's exit status."""
    message, bytes = message_and_bytes(options["msg"], options["unbounded_msg_size"])
    depth = options["history_depth"] if options["keep_last"] else 0
    plan = {
        "live": True,
        "variant": variant,
        "topic": options["topic"],
        "message": message,
        "bytes": bytes,
        "own_publishers": options["num_pub_threads"],
        "own_subscribers": options["num_sub_threads"],
        # Of the whole topic: what some transports need to know. With 0 here they are another command's.
        "publishers": options["num_pub_threads"] or options["expected_num_pubs"] or 1,
        "subscribers": options["num_sub_threads"] or options["expected_num_subs"] or 1,
        "rate": options["rate"],
        "reliable": options["reliable"],
        "transient": options["transient"],
        "depth": depth,
        "max_runtime": options["max_runtime"],
        "ignore": options["ignore"],
        "expected_publishers": -1 if options["expected_num_pubs"] is None else options["expected_num_pubs"],
        "expected_subscribers": -1 if options["expected_num_subs"] is None else options["expected_num_subs"],
        "matched_timeout": options["wait_for_matched_timeout"],
        "domain": options["dds_domain_id"],
    }
    if not peer.has_qos and (options["transient"] or depth == 0):
        raise click.ClickException(
            f"peer '{peer.id}' has no KEEP_ALL and no --transient here; give --keep-last --history-depth N"
        )
    console = Console(width=max(130, Console().width))
    where = options["dds_domain_id"]
    # Peers that meet through files find each other per user, domain, peer and topic, as separate commands must.
    safe = re.sub(r"\W", "_", options["topic"])
    shared = Path(tempfile.gettempdir(), f"baton-perf-live-{os.getuid()}-{where}-{peer.id}-{safe}")
    with tempfile.TemporaryDirectory(prefix="baton-perf-") as own, meeting_place(shared):
        plan["directory"] = str(shared)
        path = Path(own, "plan.json")
        path.write_text(json.dumps(plan))
        command = [str(peer.program), "--plan", str(path), "--role", "both"]
        if options["use_rt_cpus"]:
            mask = options["use_rt_cpus"]
            command += ["--cpus", ",".join(str(i) for i in range(mask.bit_length()) if mask >> i & 1)]
        if options["use_rt_prio"]:
            command = ["chrt", "--fifo", str(options["use_rt_prio"]), *command]
        logs = []
        if options["csv_logfile"]:
            logs.append(
                CsvLog(
                    options["csv_logfile"], {"peer": f"{peer.id}:{variant}", **{k: v for k, v in options.items() if v}}
                )
            )
        for end, other in (("num_pub_threads", "publisher"), ("num_sub_threads", "subscriber")):
            if options[end] == 0:
                click.echo(
                    f"counting from the first message between this and a {other} of topic '{options['topic']}'; Ctrl-C ends",
                    err=True,
                )
        lines: list[dict] = []
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, start_new_session=True
        )
        interrupted = False
        try:
            while True:
                try:
                    text = process.stdout.readline()
                except KeyboardInterrupt:
                    interrupted = True
                    process.send_signal(signal.SIGINT)
                    continue
                if not text:
                    break
                line = json.loads(text)
                lines.append(line)
                for log in logs:
                    log.add(line)
                if options["output"] == "stdout":
                    block(console, line)
                elif options["output"] == "json":
                    click.echo(text, nl=False)
                elif options["output"] == "csv":
                    latency = line["latency"]
                    if len(lines) == 1:
                        click.echo("T_experiment,recv,sent,lost,data_recv,latency_min_s,latency_max_s,latency_mean_s")
                    click.echo(
                        f"{line['T_experiment']:.3f},{line['recv']},{line['sent']},{line['lost']},{line['data_recv']},"
                        f"{latency['min']:.9f},{latency['max']:.9f},{latency['mean']:.9f}"
                    )
            status = process.wait()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            for log in logs:
                log.close()
            if options["json_logfile"]:
                options["json_logfile"].write_text(
                    json.dumps({"options": {k: str(v) for k, v in options.items()}, "seconds": lines})
                )
    if status == 0 and options["output"] == "stdout":
        console.print("Interrupted. Exiting." if interrupted else "Maximum runtime reached. Exiting.")
    return status
