# SPDX-License-Identifier: Apache-2.0
"""The papers' figures by one command each: the table is whole, `baton perf experiment` lists, describes and runs each figure, and ATSA's figures
are drawn."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import click
import pytest
from baton_cli.main import baton
from baton_perf import accept, atsa_program, experiment_command, papers, papers_page
from baton_perf.experiments import EXPERIMENTS
from recorded import invoke

FIGURES = papers.load()
OTHERS = ("the field", "the link")


def test_every_experiment_of_a_paper_is_a_figure_of_the_table():
    of_papers = {e.id for e in EXPERIMENTS.values() if e.source not in OTHERS}
    assert of_papers - FIGURES.keys() == set()
    for e in EXPERIMENTS.values():
        assert (e.id in FIGURES) == (e.source not in OTHERS), e.id


def test_every_number_of_a_paper_has_a_criterion_that_measures_ours():
    criteria = {c["id"]: c for c in accept.load()}
    for figure in FIGURES.values():
        assert not (figure.absent and figure.numbers), figure.id
        for number in figure.numbers:
            assert number.criterion in criteria, (figure.id, number.criterion)
            # A program prints rows of its own, so the table says which one it is, unless there is one.
            if number.row and criteria[number.criterion]["kind"] not in ("verb", "program"):
                assert criteria[number.criterion]["source"].startswith(number.row), number


def test_a_reason_has_at_most_two_sentences():
    for figure in FIGURES.values():
        for number in figure.numbers:
            assert len(re.findall(r"[.?!](?= |$)", number.reason)) <= 2, number.reason


def test_every_command_of_the_table_exists(monkeypatch):
    """Each verb and option is parsed; nothing is run."""
    for figure in FIGURES.values():
        for arguments in (figure.quick, figure.full):
            command = baton
            words = list(arguments)
            while words and isinstance(command, click.Group):
                found = command.get_command(click.Context(command), words.pop(0))
                assert found is not None, (figure.id, arguments)
                command = found
            if arguments:
                command.make_context("baton", words)


def test_every_criterion_has_paths_of_the_code_that_it_measures():
    root = Path(__file__).resolve().parents[2]
    for beginning, places in accept.paths().items():
        assert any(c["id"].startswith(beginning) for c in accept.load()), f"no criterion begins with '{beginning}'"
        for place in places:
            assert (root / place).exists(), f"{beginning}: there is no {place}"
    for c in accept.load():
        assert accept.paths_of(c["id"])


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('quick = ["split"]\nsurprise = 1', "unknown keys surprise"),
        ('quick = ["split"]\nabsent = "no"', "needs one of"),
        ("", "needs one of"),
        ('absent = "no"\nfull = ["split"]', "has full without quick"),
        ('quick = ["split"]\nnumber = [{ says = "1" }]', "has a number with the keys says"),
    ],
)
def test_a_wrong_line_of_the_table_is_an_error_that_names_the_figure(tmp_path, line, error):
    file = tmp_path / "papers.toml"
    file.write_text(f'[[figure]]\nid = "f"\npaper = "TZC"\nplace = "Fig. 1"\nwhat = "x"\n{line}\n')
    with pytest.raises(click.ClickException, match=f"figure 'f' .*{error}"):
        papers.load(file)


def test_the_list_has_every_figure_and_every_other_experiment():
    shown = invoke("experiment").output
    for id in [*FIGURES, *EXPERIMENTS]:
        assert re.search(rf"^ *{re.escape(id)} ", shown, re.MULTILINE), id


def test_a_description_says_what_is_measured_with_what_and_the_papers_number(two_peers):
    shown = invoke("experiment", "--describe", "tzc-fig7", "tzc-fig10", "rossf-fig14-rti")
    assert shown.exit_code == 0, shown.output
    text = " ".join(shown.output.split())
    assert (
        "TZC, Fig. 7" in text
        and "two orders of magnitude" in text
        and "baton perf accept tzc-100x (at most 0.01)" in text
    )
    assert "program: baton perf robot --task drive" in text
    assert "absent: RTI Connext DDS" in text


def test_a_figure_without_cells_is_run_by_its_own_command(monkeypatch):
    started = []

    def run(command, **_):
        started.append(command)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(experiment_command.subprocess, "run", run)
    assert invoke("experiment", "atsa-fig4", "--rounds", "2").exit_code == 0
    assert started == [[sys.executable, "-m", "baton_cli", "perf", "atsa", "steps", "--rounds", "2"]]


def test_the_page_says_which_part_of_a_figure_is_absent_and_why():
    table = papers_page.figures_table()
    for figure in FIGURES.values():
        parts = figure.experiment.unavailable if figure.experiment else {}
        for why in filter(None, [figure.absent, *parts.values()]):
            assert why in table
    assert "`; without rclcpp, intra-process: PyPI" in papers_page.repeated(FIGURES["tzc-fig7-ros2"])
    assert papers_page.repeated(FIGURES["tzc-fig7"]) == "`baton perf experiment tzc-fig7`"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no-such"], "there is no experiment 'no-such'; there are: tzc-table1"),
        (["rossf-table1"], "rossf-table1 is absent"),
        (["tzc-fig10", "-p", "baton"], "-p: not for tzc-fig10, whose program is `baton perf robot"),
        (["tzc-table2", "--rounds", "3"], "--rounds: not for tzc-table2"),
    ],
)
def test_a_run_that_cannot_begin_is_an_error_with_the_reason(arguments, words):
    done = invoke("experiment", *arguments)
    assert done.exit_code != 0
    assert words in " ".join(done.output.split())


def test_a_figure_that_counts_types_runs_to_its_end():
    command = [sys.executable, "-m", "baton_cli", "perf", "experiment", "tzc-table2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Table II of the paper" in done.stdout


def test_all_means_every_experiment_and_every_figure_with_a_program_of_its_own():
    everything = experiment_command.names_of_all(FIGURES)
    assert {"robot", "slam", "atsa"} <= {FIGURES[id].quick[1] for id in everything if id not in EXPERIMENTS}
    assert set(everything) == EXPERIMENTS.keys() | {id for id, figure in FIGURES.items() if not figure.absent}


# --- ATSA's pictures ---

ROUNDS = [1.0, 2.0, 3.0]
STEPS = {"convert": 4.0, "serialize": 1.0, "deserialize": 1.0, "deconvert": 4.0}
LATENCIES = {
    kind: {"rclpy": [20.0, 21.0, 22.0], "accelerated": ROUNDS, "baton": [0.1, 0.1, 0.2], "rospy": []}
    for kind in ("Image", "Lidar", "WayPoints", "workflow")
}
RECORDED = {
    "latencies": {
        "latency_ms": LATENCIES,
        "steps_ms": {
            kind: {"rclpy": STEPS | {"transport": 10.0}, "accelerated": STEPS | {"convert": 0.1, "transport": 0.5}}
            for kind in ("Image", "Lidar", "WayPoints")
        },
    },
    "algorithms": {"latency_ms": {"Image": {"rclpy": ROUNDS, "rclpy-hsa": ROUNDS, "accelerated": ROUNDS}}},
    "steps": {"steps_ms": {"Image": {"stock": STEPS, "one walk": STEPS}}},
    "table1": {
        "conversions": [2, 11, 10001],
        "shapes": [],
        "cost_ms": {"rclpy": [1, 2, 100], "baton": [0.1, 0.1, 0.1]},
    },
    "threshold": {
        "thresholds": [{"threshold": t, "mean_ms": 1 + t / 100, "saved_percent": 1} for t in (0, 500)],
        "own_threshold": 80,
    },
}
WORDS = {
    "latencies": ["Lidar: percent of stock rclpy", "workflow: process to process", "(Fig. 11)", "de-convert", "baton"],
    "algorithms": ["rclpy-hsa", "Image"],
    "steps": ["one walk", "de-convert"],
    "table1": ["conversions", "baton"],
    "threshold": ["threshold", "80"],
}


@pytest.mark.parametrize("what", RECORDED)
def test_each_figure_of_atsa_is_drawn_from_its_file(tmp_path, what):
    matplotlib = pytest.importorskip("matplotlib")
    file, picture = tmp_path / "recorded.json", tmp_path / "drawn.svg"
    file.write_text(json.dumps({"what": what, "rounds": 3, **RECORDED[what]}))
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        done = invoke("atsa", what, "--from", str(file), "--plot", str(picture))
    assert done.exit_code == 0, done.output
    drawn = "".join(ElementTree.parse(picture).getroot().itertext())
    for words in WORDS[what]:
        assert words in drawn, words


def test_a_file_that_is_none_of_atsas_is_an_error_that_names_it(tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "other.json"
    file.write_text("{}")
    done = invoke("atsa", "steps", "--from", str(file))
    assert done.exit_code == 1 and f"{file} is no file of `baton perf atsa --json`" in done.output


def test_without_ros_2_the_way_out_is_named(monkeypatch):
    monkeypatch.setattr(atsa_program, "_measured_python", lambda: None)
    monkeypatch.setattr(atsa_program, "_has_rclpy", lambda python: False)
    done = invoke("atsa", "steps", "--json", "/tmp/never-written.json")
    assert done.exit_code == 1 and "source ROS 2's setup file" in done.output
