# SPDX-License-Identifier: Apache-2.0
"""`baton demo`: a camera, a detector, a recorder and a viewer, with and without copies.

Starts four processes of the program ``baton_demo`` for every step (a resolution with a transport), shows what they report in a
live table, and ends with a summary and a picture. The steps of the two transports alternate, so that both see the same machine.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from .. import demo_scene
from ..demo_steps import RECEIVERS, SIZES, TRANSPORTS, DemoStep, milliseconds
from ..examples import examples
from ..option_numbers import Number, Seconds
from ..output import json_text
from ..programs import find_program

_NO_DEMO = (
    "give --program. A package that was built from source without CLI11, nlohmann-json and Asio "
    "(Debian: libcli11-dev nlohmann-json3-dev libasio-dev) has none; install them and build it again"
)


def sustained(program: Path, size: str, frames: Path) -> float:
    """A rate that suits this machine: three fifths of the rate that sockets, the slower transport, reach in a short trial; 1 to 30 Hz.
    At a higher rate than the machine sustains, latencies would only show how long frames wait for a CPU."""
    trial = DemoStep(size, "socket", 60.0)
    run_step(program, trial, frames, 2.0)
    reached = min((report["rate_hz"] for report in trial.receivers()), default=0.0)
    return float(min(30, max(1, int(0.6 * reached))))


def run_step(program: Path, step: DemoStep, frames: Path, seconds: float) -> None:
    """Runs the four processes to their end. Raises click.ClickException with their error output if one fails."""
    width, height = SIZES[step.size]
    errors: list[str] = []
    with tempfile.TemporaryDirectory(prefix="baton-demo-") as directory:
        common = [
            f"--transport={step.transport}",
            f"--directory={directory}",
            f"--width={width}",
            f"--height={height}",
            f"--rate={step.rate}",
        ]
        commands = {role: [str(program), role, *common] for role in RECEIVERS}
        commands["camera"] = [
            str(program),
            "camera",
            *common,
            f"--video={frames}",
            f"--video-width={demo_scene.WIDTH}",
            f"--video-height={demo_scene.HEIGHT}",
            f"--seconds={seconds}",
            f"--receivers={len(RECEIVERS)}",
        ]
        order = ["camera", *RECEIVERS]
        processes = {
            role: subprocess.Popen(commands[role], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for role in order
        }

        def read(role: str) -> None:
            for line in processes[role].stdout:
                step.reports[role] = json.loads(line)

        def read_errors(role: str) -> None:
            errors.extend(line.strip() for line in processes[role].stderr)

        readers = [
            threading.Thread(target=target, args=(role,), daemon=True)
            for role in order
            for target in (read, read_errors)
        ]
        for reader in readers:
            reader.start()
        try:
            deadline = time.monotonic() + seconds + 60
            for role in order:
                processes[role].wait(timeout=max(1.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired as late:
            raise click.ClickException(
                f"{step.size} over {step.transport}: a process did not end: {late.cmd[1]}"
            ) from late
        finally:
            for process in processes.values():
                if process.poll() is None:
                    process.send_signal(signal.SIGTERM)
            for process in processes.values():
                try:
                    process.wait(timeout=3)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            for reader in readers:
                reader.join(timeout=2)
        failed = [role for role, process in processes.items() if process.returncode != 0]
        if failed:
            raise click.ClickException(
                f"{step.size} over {step.transport}: {', '.join(failed)} failed: {'; '.join(errors)}"
            )


def table(steps: list[DemoStep]) -> Table:
    result = Table(
        title="One camera; detector, recorder and viewer: a process each",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        caption="wanted, Hz: frames per second that the camera sends, and that arrive\n"
        "p50, p99, max: ms from 'frame complete' to the callback\n"
        "copies: passes over the whole payload per frame, all processes\n"
        "CPU: ms per frame, all receivers; sockets: serialized, over Unix sockets\n"
        "lost: frames that gave way in a late receiver's queue of 4",
        caption_justify="left",
    )
    for name in ("frame", "transport"):
        result.add_column(name, no_wrap=True)
    for name in ("wanted", "Hz", "p50", "p99", "max", "copies", "CPU", "lost"):
        result.add_column(name, justify="right", no_wrap=True, min_width=max(len(name), 4))
    for step in steps:
        reports = step.receivers()
        row = [step.size, TRANSPORTS[step.transport], f"{step.rate:g}" if step.rate else ""]
        if reports:
            middle, tail = step.median_and_tail()
            row += [
                f"{sum(report['rate_hz'] for report in reports) / len(reports):.1f}",
                milliseconds(middle),
                milliseconds(tail),
                milliseconds(max(report["latency_us"]["max"] for report in reports)),
                f"{step.copies_per_message():.1f}",
                milliseconds(step.cpu_per_message()),
                str(sum(report["lost"] for report in step.reports.values())),
            ]
        style = {"running": "bold", "waiting": "dim"}.get(step.state, "")
        result.add_row(*row, style=style, end_section=step.transport == list(TRANSPORTS)[-1])
    return result


def summary(steps: list[DemoStep]) -> list[str]:
    lines = []
    for size in dict.fromkeys(step.size for step in steps):
        pair = {step.transport: step for step in steps if step.size == size and step.receivers()}
        if len(pair) < 2:
            continue
        ratios = [
            slow / max(fast, 0.001)
            for slow, fast in zip(pair["socket"].median_and_tail(), pair["baton"].median_and_tail(), strict=True)
        ]
        cpu = pair["socket"].cpu_per_message() / max(pair["baton"].cpu_per_message(), 0.001)
        lines.append(
            f"{size}: Baton hands a frame over {ratios[0]:.0f}x sooner (p50; p99: {ratios[1]:.0f}x), its receivers use "
            f"{cpu:.0f}x less CPU per frame, {pair['baton'].copies_per_message():.0f} copies instead of "
            f"{pair['socket'].copies_per_message():.0f}."
        )
    late = [
        f"{step.size} {TRANSPORTS[step.transport]}"
        for step in steps
        if step.receivers() and min(report["rate_hz"] for report in step.receivers()) < 0.9 * step.rate
    ]
    if late:
        lines.append(
            f"This machine did not keep up in: {', '.join(late)}. Scaling the frames counts, too; "
            "latencies then include waiting for a CPU. Try a lower --rate or --size."
        )
    return lines


def can_draw() -> bool:
    return importlib.util.find_spec("PIL") is not None


def play(steps: list[DemoStep], program: Path, frames: Path, seconds: float, console: Console) -> None:
    """Runs all steps, one after the other, with a table that grows."""
    with Live(table(steps), console=console, refresh_per_second=4) as live:
        for step in steps:
            step.state = "running"
            failure: list[BaseException] = []

            def work(step: DemoStep = step, failure: list[BaseException] = failure) -> None:
                try:
                    if not step.rate:
                        found = sustained(program, step.size, frames)
                        for other in steps:
                            if other.size == step.size:
                                other.rate = found
                    run_step(program, step, frames, seconds)
                except BaseException as error:  # handed to the main thread below
                    failure.append(error)

            worker = threading.Thread(target=work)
            worker.start()
            while worker.is_alive():
                worker.join(0.25)
                live.update(table(steps))
            if failure:
                raise failure[0]
            step.state = "done"
            live.update(table(steps))


@examples("baton demo", "baton demo --size 4k --seconds 10")
@click.command(name="demo")
@click.option("--seconds", default=6.0, show_default=True, type=Seconds(min=0.5), help="Length of each step.")
@click.option(
    "--rate",
    type=Number(min=0.1),
    help="Frames per second; default: the rate that this machine sustains for each size, at most 30.",
)
@click.option("--size", "sizes", multiple=True, type=click.Choice(list(SIZES)), help="Frame sizes; default all.")
@click.option(
    "--out",
    default="demo-out",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the picture and the raw reports.",
)
@click.option("--program", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="The baton_demo program.")
def command(seconds: float, rate: float | None, sizes: tuple[str, ...], out: Path, program: Path | None) -> None:
    """Send a drawn scene through four processes.

    Once it is handed over by Baton, once serialized over Unix sockets.
    """
    program = program or find_program("baton_demo", _NO_DEMO)
    out.mkdir(parents=True, exist_ok=True)
    sizes = tuple(size for size in SIZES if size in (sizes or SIZES))  # the picture shows the last
    steps = [DemoStep(size, transport, rate or 0.0) for size in sizes for transport in TRANSPORTS]
    with tempfile.TemporaryDirectory(prefix="baton-demo-") as directory:
        frames = Path(directory) / "frames.rgb"
        demo_scene.write(frames)
        console = Console()
        play(steps, program, frames, seconds, console)
    drawn = "No picture without Pillow: pip install 'baton-ipc[view]'"
    if can_draw():
        from ..demo_picture import picture

        picture(steps).save(out / "demo.png", optimize=True)
        drawn = f"Picture: {out / 'demo.png'}"
    (out / "reports.json").write_text(
        json_text(
            [
                {"size": step.size, "transport": step.transport, "machine": list(os.uname()), "reports": step.reports}
                for step in steps
            ]
        )
    )
    console.print()
    for line in summary(steps):
        console.print(line)
    console.print(f"{drawn}   raw reports: {out / 'reports.json'}", highlight=False, markup=False)
