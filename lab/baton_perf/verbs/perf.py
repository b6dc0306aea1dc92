# SPDX-License-Identifier: Apache-2.0
"""`baton perf`: measures Baton and its peers."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import click
from rich import box
from rich.padding import Padding
from rich.table import Table

from .. import peers as peer_list
from .. import record
from ..accept_command import accept
from ..atsa_command import atsa
from ..experiment_command import experiment
from ..experiments import CLOCKS, clock_of
from ..network import PROFILES
from ..robot import TASKS, WAYS
from ..runs import Cell, size_text
from ..slam import CASES
from ..terminal import DEFAULT_OUT, INTERRUPTED, beside, check_networks, out_path, scheduled, wide_console

_EXAMPLES = """\b
Examples:
  baton perf --zero-copy --reliable --keep-last -m Array4m -r 100
  baton perf peers                 # what can be measured here
  baton perf run -p fastdds -b 4M  # one comparison, as a table
  baton perf experiment tzc-fig7   # an experiment of the papers, recorded
  baton perf report out/perf/run.jsonl.gz  # tables and plots, one HTML page
  baton perf accept                # every performance criterion, PASS or FAIL
  baton perf limits                # what this machine can do at best
  baton perf robot                 # a TurtleBot brakes for a red light
  baton perf slam                  # visual SLAM, stock and recompiled
  baton perf atsa steps            # ATSA's Fig. 4, in ROS 2's Python
  baton perf touch                 # pages and cache lines of one message
  baton perf record                # what baton record costs"""


class Size(click.ParamType):
    """Bytes, with an optional K or M (powers of 1024)."""

    name = "size"

    def convert(self, value, param, ctx):
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKmM]?)[bB]?", value)
        if not match:
            self.fail(f"'{value}' is no size: give bytes, or a number with K or M, for example 64K")
        bytes = int(float(match[1]) * {"": 1, "k": 1 << 10, "m": 1 << 20}[match[2].lower()])
        if bytes < 64:
            self.fail("a payload has at least 64 bytes: it carries the time stamps")
        return bytes


@click.group(
    invoke_without_command=True,
    options_metavar="[OPTIONS of performance_test]",
    epilog=_EXAMPLES,
)
@click.option(
    "-o", "--output", type=click.Choice(["stdout", "csv", "json", "none"]), default="stdout", show_default=True
)
@click.option(
    "-l", "--csv-logfile", type=click.Path(dir_okay=False, path_type=Path), help="Also write the original's CSV there."
)
@click.option("--json-logfile", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "-r", "--rate", type=click.FloatRange(0), default=1000.0, show_default=True, help="Hz; 0: without a pause."
)
@click.option(
    "-c", "--communication", default="baton", show_default=True, help="Peer or peer:variant; see `baton perf peers`."
)
@click.option("-t", "--topic", default="test_topic", show_default=True)
@click.option("-m", "--msg", default="Array1k", show_default=True, help="Message type; see --msg-list.")
@click.option("--msg-list", is_flag=True, help="List message types and exit.")
@click.option("--dds-domain_id", type=click.IntRange(0), default=0, show_default=True, help="The domain, of Baton too.")
@click.option("--reliable", is_flag=True)
@click.option("--transient", is_flag=True)
@click.option("--keep-last", is_flag=True, help="Default: KEEP_ALL.")
@click.option("--history-depth", type=click.IntRange(1), default=1000, show_default=True)
@click.option("--disable-async", is_flag=True, help="Fast DDS: publish synchronously. Everybody else always does.")
@click.option("--max-runtime", type=click.FloatRange(0), default=0.0, show_default=True, help="Seconds; 0: endless.")
@click.option("-p", "--num-pub-threads", type=click.IntRange(0, 64), default=1, show_default=True)
@click.option("-s", "--num-sub-threads", type=click.IntRange(0, 64), default=1, show_default=True)
@click.option("--check-memory", is_flag=True, help="Not available here; see the error for what is.")
@click.option("--use-rt-prio", type=click.IntRange(0, 99), default=0, help="SCHED_FIFO priority of all threads.")
@click.option("--use-rt-cpus", type=int, default=0, help="Mask of CPUs to stay on.")
@click.option("--with-security", is_flag=True, help="Not available here.")
@click.option("--roundtrip-mode", type=click.Choice(["None", "Main", "Relay"]), default="None", show_default=True)
@click.option(
    "--ignore",
    type=click.FloatRange(0),
    default=0.0,
    show_default=True,
    help="Seconds of warm-up that are not printed.",
)
@click.option("--expected-num-pubs", type=click.IntRange(0))
@click.option("--expected-num-subs", type=click.IntRange(0))
@click.option("--wait-for-matched-timeout", type=click.FloatRange(0), default=30.0, show_default=True)
@click.option("--zero-copy", is_flag=True, help="Publish loans. Without it Baton publishes ordinary objects: one copy.")
@click.option("--unbounded-msg-size", type=Size(), default=None)
@click.pass_context
def command(ctx: click.Context, **options) -> None:
    """Measure Baton and what its users would pick instead.

    Without a verb it speaks the vocabulary of performance_test: `baton perf --zero-copy --reliable --keep-last -m Array4m -r 100`
    runs publisher and subscriber as threads of one process and prints the original's tables every second. -p 0 or -s 0 in
    two terminals makes them two processes, and time counts from when they meet.
    """
    if ctx.invoked_subcommand is not None:
        given = [name for name in options if ctx.get_parameter_source(name) != click.core.ParameterSource.DEFAULT]
        if given:
            raise click.UsageError(f"--{given[0].replace('_', '-')} does not belong before '{ctx.invoked_subcommand}'")
        return
    if len(sys.argv) <= 2 and ctx.get_parameter_source("msg") == click.core.ParameterSource.DEFAULT:
        click.echo(ctx.get_help())
        return
    _performance_test(options)


def _performance_test(options: dict) -> None:
    from .. import performance_test

    if options["msg_list"]:
        click.echo("\n".join(performance_test.MESSAGES))
        return
    if options["with_security"]:
        raise click.ClickException("Baton has no encryption: access is by the permissions of the domain's directory")
    if options["check_memory"]:
        raise click.ClickException(
            "--check-memory is not available; `make test` counts allocations in the steady state instead"
        )
    if options["roundtrip_mode"] != "None":
        raise click.ClickException("round trips are measured by `baton perf run --round-trip`, which starts both ends")
    if options["num_pub_threads"] == 0 and options["num_sub_threads"] == 0:
        raise click.ClickException("no publisher and no subscriber: give -p or -s at least 1")
    chosen = peer_list.choose([options["communication"]])
    peer, variant = chosen[0]
    if peer.id == "baton" and ":" not in options["communication"]:
        variant = "loan" if options["zero_copy"] else "copy"
    elif options["zero_copy"] and peer.id != "baton":
        raise click.ClickException(
            f"--zero-copy: choose the variant by name: {', '.join(f'{peer.id}:{v}' for v in peer.variants)}"
        )
    if options["disable_async"] and peer.id == "fastdds":
        raise click.ClickException("Fast DDS is always used synchronously here")
    sys.exit(performance_test.run(peer, variant, options))


command.add_command(record.command, "record")


@command.command(epilog="\b\nExamples:\n  baton perf peers\n  baton perf peers -v")
@click.option("-v", "--verbose", is_flag=True, help="Also how each is used: settings, buffers, how ends wait.")
def peers(verbose) -> None:
    """List the transports that can be measured on this machine, and those that cannot, with the reason."""
    console = wide_console()
    known = peer_list.built().values()
    if verbose:
        for peer in known:
            console.print(f"[bold]{peer.id}[/] {peer.version}  ({', '.join(peer.variants)})", highlight=False)
            console.print(Padding(peer.how, (0, 0, 0, 4)), highlight=False)
    else:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        names = max((len(peer.id) for peer in known), default=0)  # whole: another verb wants them
        variants = max(console.width - names - 24 - 8, 8)
        for title, widest in (("peer", None), ("variants", variants), ("version", 24)):
            table.add_column(title, no_wrap=True, max_width=widest)
        for peer in known:
            table.add_row(peer.id, " ".join(peer.variants), peer.version)
        console.print(table, crop=False)
        console.print("[dim]how each is used: -v[/]", highlight=False)
    for id, why in peer_list.absent().items():
        console.print(f"[dim]{id} is not built: {why}[/]", highlight=False)


@command.command(epilog="\b\nExamples:\n  baton perf limits")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="Recording of the waking; default out/perf/limits.jsonl.gz"
)
def limits(out) -> None:
    """Measure what this machine can do at best: waking, cache lines, copying, page faults, system calls."""
    import json
    import subprocess

    from .. import session, tables
    from ..recording import Recording

    console = wide_console()
    bare = peer_list.choose(["bare"])
    cells = [Cell(bytes=64, subscribers=s, messages=100, rate=200, pinned=p) for s in (1, 8) for p in (False, True)]
    cells.append(Cell(bytes=64, messages=500, rate=1000, spin=True, pinned=True))
    path = out_path(out, "limits")
    whole = session.run(session.schedule("limits", cells, bare, 3), path, console)
    tables.print_summary(console, Recording.load(path).runs, "hand_over_ns")
    if not whole:
        sys.exit(INTERRUPTED)
    program = (peer_list.program_folder() or Path()) / "baton_limits"
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise click.ClickException(done.stderr.strip())
    figures = json.loads(done.stdout)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("into shared memory (us)")
    sizes = [int(size) for size in figures["memcpy_warm_ns"]]
    for size in sizes:
        table.add_column(size_text(size), justify="right")
    for key in ("memcpy_warm_ns", "memcpy_cold_ns", "memcpy_fresh_ns"):
        words = {"warm": "copy, everything warm", "cold": "copy, caches cold", "fresh": "copy, fresh pages"}[
            key.split("_")[1]
        ]
        table.add_row(words, *(tables.micros(figures[key][str(size)]) for size in sizes))
    console.print(table)
    for key, words in (
        ("page_first_write_ns", "4 KB page, first write"),
        ("page_mapped_anew_write_ns", "4 KB page mapped anew, write"),
        ("page_mapped_anew_read_ns", "4 KB page mapped anew, read"),
        ("system_call_ns", "system call"),
        ("clock_ns", "reading the clock"),
    ):
        console.print(f"{words:32} {figures[key] / 1000:8.3f} us", highlight=False)


def _clock_option(default: str):
    return click.option(
        "--clock",
        "clocks",
        type=click.Choice(list(CLOCKS)),
        multiple=True,
        help=f"Latencies by this clock; several times: by each. Default: {default}.",
    )


@command.command(
    epilog="\b\nExamples:\n  baton perf run\n  baton perf run -p baton -p fastdds -b 1M -b 16M -s 4\n  baton perf run -p baton --round-trip --pin"
)
@click.option(
    "-p", "--peer", "names", multiple=True, help="Peer or peer:variant; several times; default: Baton and all others."
)
@click.option("-b", "--bytes", "sizes", type=Size(), multiple=True, default=("64", "64K", "4M"), show_default=True)
@click.option("-s", "--subscribers", type=click.IntRange(1, 64), default=1, show_default=True)
@click.option("--publishers", type=click.IntRange(1, 32), default=1, show_default=True)
@click.option("-n", "--messages", type=click.IntRange(1), default=60, show_default=True, help="Per publisher and run.")
@click.option(
    "-r",
    "--rate",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    help="Hz; 0: as fast as they are received.",
)
@click.option("--message", default="bytes", show_default=True, help="Message type, for example Image or PointCloud2.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option("--spin", is_flag=True, help="The subscriber polls.")
@click.option("--read", "read_all", is_flag=True, help="The subscriber reads every byte.")
@click.option(
    "--round-trip",
    is_flag=True,
    help="The subscriber answers with a message of the same size; measured is the way there and back.",
)
@click.option("--network", type=click.Choice(list(PROFILES)), help="Publishers and subscribers on two hosts.")
@click.option("--pin", "pinned", is_flag=True, help="Publishers on the first CPU, subscribers on the others.")
@click.option("--one-cpu", is_flag=True, help="Pin all ends to the first CPU.")
@click.option("--one-process", is_flag=True, help="All ends are threads of one process.")
@click.option("--load", type=click.FloatRange(0, 1), default=0.0, help="Share of every CPU that busy processes take.")
@click.option("--priority", type=click.IntRange(0, 99), default=0, help="Every end at SCHED_FIFO, with locked memory.")
@click.option("--depth", type=click.IntRange(1), default=10, show_default=True, help="KEEP_LAST depth.")
@click.option("--best-effort", is_flag=True)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the peer.")
@_clock_option("hand-over, or what --read or --round-trip measures")
@click.option("--wide", is_flag=True, help="Also print p99.9, mean and variance.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Recording; default out/perf/run.jsonl.gz")
def run(names, sizes, best_effort, rounds, settings, clocks, wide, out, **cell) -> None:
    """Compare peers once and print a table. Every end is a process of its own unless --one-process."""
    from .. import session, tables
    from ..recording import Recording

    chosen = peer_list.choose(list(names))
    pairs = dict(item.partition("=")[::2] for item in settings)
    cell["network"] = cell["network"] or ""
    cell["pinned"] |= cell["one_cpu"]
    cells = [Cell(bytes=b, reliable=not best_effort, settings=pairs, **cell) for b in sizes]
    if cell["network"] and cell["one_process"]:
        raise click.UsageError("--network has its ends on two hosts, and --one-process in one process")
    if cell["pinned"] and cell["one_process"]:
        raise click.UsageError("--pin and --one-cpu place processes, and --one-process has one for all ends")
    path = out_path(out, "run")
    console = wide_console()
    jobs = scheduled("run", cells, chosen, rounds, bool(names), console)
    check_networks(cells)
    whole = session.run(jobs, path, console)
    recording = Recording.load(path)
    for clock in [CLOCKS[name] for name in dict.fromkeys(clocks)] or [clock_of(cells[0])]:
        tables.print_summary(console, recording.runs, clock, wide)
    console.print(f"recorded in {path}; `baton perf report {path}` draws it", highlight=False)
    if not whole:
        sys.exit(INTERRUPTED)


command.add_command(accept)
command.add_command(experiment)
command.add_command(atsa)


@command.command(
    epilog="\b\nExamples:\n  baton perf robot\n  baton perf robot -w tcpros -w tzc --task drive --load 0 --rounds 1\n  baton perf robot --from out/perf/robot.jsonl.gz --video robot.gif"
)
@click.option(
    "-w",
    "--way",
    "ways",
    type=click.Choice(WAYS),
    multiple=True,
    default=list(WAYS),
    show_default=True,
    help="Several times.",
)
@click.option("-t", "--task", "tasks", type=click.Choice(TASKS), multiple=True, default=TASKS, show_default=True)
@click.option(
    "--load",
    "loads",
    type=click.FloatRange(0, 1),
    multiple=True,
    default=(0.0, 0.9),
    show_default=True,
    help="Share of every CPU that busy processes take.",
)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option(
    "--width", type=click.IntRange(160, 3840), default=1920, show_default=True, help="Of the camera's pictures."
)
@click.option(
    "--queue", type=click.IntRange(1), default=1, show_default=True, help="Of the publisher and each subscriber."
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    help="Recording; default out/perf/robot.jsonl.gz. Plot and video beside.",
)
@click.option(
    "--from", "source", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Only draw this recording."
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="As .svg, .png or .pdf; default beside the recording.",
)
@click.option(
    "--video", type=click.Path(dir_okay=False, path_type=Path), help="As .webp or .gif; default beside the recording."
)
@click.option(
    "--markdown", type=click.Path(dir_okay=False, path_type=Path), help="Also write the tables there, for a document."
)
def robot(ways, tasks, loads, rounds, width, queue, out, source, plot, video, markdown) -> None:
    """Let a simulated TurtleBot brake for a red light (TZC, Figs. 1, 10 and 11), over TCPROS and over Baton.

    The nodes are real ROS 1 programs: a camera, three recognitions, a logger, a controller and the base.
    """
    from .. import robot_session

    console = wide_console()
    path = source or out_path(out, "robot")
    whole = source is not None or robot_session.run(path, ways, tasks, loads, rounds, width, queue, console)
    robot_session.show(path, plot or beside(path, ".svg"), video or beside(path, ".webp"), markdown, console)
    if not whole:
        sys.exit(INTERRUPTED)


@command.command(
    epilog="\b\nExamples:\n  baton perf slam\n  baton perf slam -c hd --rounds 1\n  baton perf slam --from out/perf/slam.jsonl.gz --plot slam.png"
)
@click.option(
    "-c",
    "--case",
    "cases",
    type=click.Choice(CASES),
    multiple=True,
    default=list(CASES),
    show_default=True,
    help="Several times. paper: 640 x 480, most of the time is computing. hd: 1920 x 1080, most of the time is transport.",
)
@click.option(
    "--sequence",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Instead of the cases: a sequence of TUM RGB-D, with rgb.txt and groundtruth.txt.",
)
@click.option(
    "--camera",
    help="Of the sequence: fx,fy,cx,cy in pixels, and OpenCV's k1,k2,p1,p2,k3. Default: 525,525, the middle.",
)
@click.option(
    "--features", type=click.IntRange(100), help="Sought in each image. Default: the case's; of a sequence 2000."
)
@click.option("--images", type=click.IntRange(30), default=200, show_default=True, help="Of each run.")
@click.option("--rate", type=click.FloatRange(1), default=10.0, show_default=True, help="Images per second.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Recording; default out/perf/slam.jsonl.gz.")
@click.option(
    "--from", "source", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Only draw this recording."
)
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), help="As .svg or .png; default beside the recording."
)
@click.option(
    "--markdown", type=click.Path(dir_okay=False, path_type=Path), help="Also write the tables there, for a document."
)
def slam(cases, sequence, camera, features, images, rate, rounds, out, source, plot, markdown) -> None:
    """Run visual SLAM in ordinary ROS 1 nodes, stock and recompiled (ROS-SF, Figs. 17 and 18).

    pub_tum plays a sequence of images, slam tracks the camera, and three nodes measure how old pose, point cloud and debug image are.
    """
    from .. import slam as experiment
    from .. import slam_session

    console = wide_console()
    path = source or out_path(out, "slam")
    if camera and sequence is None:
        raise click.UsageError("--camera is for --sequence: the cameras of the cases are known")
    if sequence is not None:
        chosen = [experiment.Case(sequence.resolve().name, 0, 0, 2000)]
    else:
        chosen = [CASES[name] for name in dict.fromkeys(cases)]
    inputs = [
        slam_session.Input(
            replace(case, images=images, rate=rate, features=features or case.features),
            sequence,
            experiment.calibration(camera) if camera else {},
        )
        for case in chosen
    ]
    whole = source is not None or slam_session.run(path, inputs, rounds, console)
    slam_session.show(path, plot or beside(path, ".svg"), markdown, console)
    if not whole:
        sys.exit(INTERRUPTED)


@command.command(epilog="\b\nExamples:\n  baton perf report out/perf/run.jsonl.gz -o report.html")
@click.argument("recordings", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_clock_option("each experiment's own")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=DEFAULT_OUT / "report.html", show_default=True)
def report(recordings, clocks, out) -> None:
    """Make one self-contained HTML page from recordings.

    A recording's summary (docs/results/results.json) gives the same page without plots. Recordings of several machines are refused.
    """
    try:
        from ..headline import load
        from ..report import write_report
    except ModuleNotFoundError as error:
        raise click.ClickException(f"a report needs {error.name}: pip install matplotlib, or baton-ipc[perf]") from None

    shown = [CLOCKS[name] for name in dict.fromkeys(clocks)]
    write_report([(path, load(path)) for path in recordings], out, shown)
    click.echo(f"{out}: {out.stat().st_size / 1e6:.1f} MB, self-contained")


@command.command(
    epilog="\b\nExamples:\n  baton perf touch\n  baton perf touch -p baton -p serialized_shm -b 64K -v\n  baton perf touch -p baton:executor -p baton_python:take"
)
@click.option(
    "-p",
    "--peer",
    "names",
    multiple=True,
    default=("baton", "bare", "serialized_shm", "iceoryx", "iceoryx2"),
    help="Peer or peer:variant; several times; default: Baton, a bare futex, the ring, iceoryx and iceoryx2, as far as they are built.",
)
@click.option("-b", "--bytes", "size", type=Size(), default="64", show_default=True)
@click.option("-n", "--messages", type=click.IntRange(1), default=5, show_default=True)
@click.option("--spin", is_flag=True, help="The subscriber polls: counted from the poll that finds the message.")
@click.option("-v", "--verbose", is_flag=True, help="Also by function, the first so many: -v. All: in the JSON file.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="The picture; default out/perf/touch.svg")
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="All counts, for a program.")
@click.pass_context
def touch(ctx, names, size, messages, spin, verbose, plot, json_file) -> None:
    """Count the pages and cache lines that one message touches, by single-stepping publisher and subscriber.

    No time enters into the counts. Pages of the kernel do not count, nor does the writing of the payload.
    """
    import json

    from .. import stepping
    from .. import touch as counting
    from ..runs import RunFailed

    console = wide_console()
    try:
        stepping.check()
    except stepping.CannotStep as problem:
        raise click.ClickException(str(problem)) from problem
    given = ctx.get_parameter_source("names") != click.core.ParameterSource.DEFAULT
    absent = {} if given else peer_list.why_absent(names)
    for peer, why in absent.items():
        console.print(f"[dim]{peer} is not counted: {why}[/]", highlight=False)
    results = {}
    for peer, variant in peer_list.choose([name for name in names if name not in absent]):
        name = peer.id if len(peer.variants) == 1 else f"{peer.id}:{variant}"
        try:
            results[name] = counting.touch(peer, variant, size, messages, spin)
        except (RunFailed, stepping.CannotStep) as problem:
            console.print(f"[yellow]{name}: {problem}[/]", highlight=False)
    if not results:
        raise click.ClickException("nothing was counted")
    for role in counting.ROLES:
        for what in ("pages", "lines"):
            table = counting.table(results, role, what)
            table.title = None  # it would be broken at the width of a narrow table
            console.print(f"{role}: {what} of one message of {size_text(size)}", style="italic", highlight=False)
            console.print(table)
        if verbose:
            for name, result in results.items():
                console.print(counting.functions_table(f"{role} of {name}", result.counts[role], 25))
    if json_file is not None:
        json_file.write_text(json.dumps({name: result.as_json() for name, result in results.items()}, indent=1))
    picture = plot or DEFAULT_OUT / "touch.svg"
    picture.parent.mkdir(parents=True, exist_ok=True)
    counting.draw(results, picture)
    console.print(f"drawn in {picture}", highlight=False)
