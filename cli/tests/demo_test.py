# SPDX-License-Identifier: Apache-2.0
"""The output and picture of `baton demo` for given reports; one test runs its programs."""

import json

import pytest
from baton_cli.demo_steps import RECEIVERS, TRANSPORTS, DemoStep, milliseconds
from baton_cli.main import baton
from baton_cli.verbs import demo
from baton_cli.verbs.demo import summary, table
from click.testing import CliRunner
from PIL import Image
from rich.console import Console
from support.build import ROOT

needs_demo = pytest.mark.skipif(
    not (ROOT / "build/release/bin/baton_demo").exists(), reason="baton_demo is not built: make build"
)


def step(transport: str, p50: float, rate: float, wanted: float = 15) -> DemoStep:
    receiver = {
        "latency_us": {"p50": p50, "p99": 2 * p50, "max": 9 * p50},
        "rate_hz": rate,
        "cpu_us_per_message": p50 / 2,
        "copies": 0,
        "lost": 0,
    }
    camera = {"messages": 10, "copies": 0 if transport == "baton" else 40, "lost": 0}
    return DemoStep("720p", transport, wanted, {"camera": camera} | {role: receiver for role in RECEIVERS})


def test_the_summary_gives_the_ratio_of_medians_and_of_tails() -> None:
    lines = summary([step("baton", 50, 15), step("socket", 1000, 15)])
    assert lines == [
        "720p: Baton hands a frame over 20x sooner (p50; p99: 20x), its receivers use 20x less CPU per frame, "
        "0 copies instead of 4."
    ]


def test_the_summary_names_the_steps_in_which_the_machine_did_not_keep_up() -> None:
    lines = summary([step("baton", 50, 29, 30), step("socket", 1000, 20, 30)])
    assert "did not keep up in: 720p sockets." in lines[-1]


def test_every_number_of_the_table_is_whole_on_a_terminal_of_eighty_columns() -> None:
    console = Console(width=80)
    steps = [step("baton", 47, 30, 30), step("socket", 123_456, 29.9, 30)]
    steps[1].size = "1080p"
    with console.capture() as capture:
        console.print(table(steps))
    assert "\N{HORIZONTAL ELLIPSIS}" not in capture.get()
    assert "0.047" in capture.get() and "123" in capture.get() and "1111" in capture.get()


def test_milliseconds_have_three_significant_digits_and_three_decimals_at_most() -> None:
    assert [milliseconds(v) for v in (0, 47.1, 470, 3210, 41_720, 190_200)] == [
        "0.000", "0.047", "0.470", "3.21", "41.7", "190",
    ]  # fmt: skip


@needs_demo
def test_a_run_ends_with_a_picture_and_the_raw_reports(tmp_path) -> None:
    out = tmp_path / "out"
    arguments = ["--size", "720p", "--rate", "10", "--seconds", "2", "--out", str(out)]
    result = CliRunner().invoke(baton, ["demo", *arguments])
    assert result.exit_code == 0, result.output
    with Image.open(out / "demo.png") as picture:
        assert picture.width == 1600
    assert "Picture: " in result.output
    reports = json.loads((out / "reports.json").read_text())
    assert [entry["transport"] for entry in reports] == list(TRANSPORTS)
    for entry in reports:
        viewer = entry["reports"]["viewer"]
        assert len(viewer["sequences"]) == len(viewer["latencies_us"]) == viewer["messages"]
        assert viewer["sequences"] == sorted(set(viewer["sequences"]))
        assert entry["reports"]["detector"]["boxes"], "something moves in the scene"


@needs_demo
def test_a_run_without_pillow_says_how_to_get_a_picture(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(demo, "can_draw", lambda: False)
    arguments = ["--size", "720p", "--rate", "10", "--seconds", "1", "--out", str(tmp_path)]
    result = CliRunner().invoke(baton, ["demo", *arguments])
    assert result.exit_code == 0, result.output
    words = " ".join(result.output.split())
    assert "No picture without Pillow: pip install 'baton-ipc[view]'" in words
    assert [path.name for path in tmp_path.iterdir()] == ["reports.json"]
