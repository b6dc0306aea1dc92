# SPDX-License-Identifier: Apache-2.0
"""`baton perf slam`: the rendered sequence, the figures that are made of the nodes' times, and a run of both compilations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
import numpy
import pytest
from baton_cli.main import baton
from baton_perf import peers, ros1_nodes, slam, slam_session
from baton_perf.runs import RunFailed
from baton_perf.slam import CASES, OUTPUTS, WAYS, Case
from baton_perf.trajectory import read_truth, trajectory_error
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

FOLDER = peers.program_folder()
needs_nodes = pytest.mark.skipif(
    FOLDER is None or not (FOLDER / "baton_slam_slam_recompiled").is_file() or not ros1_nodes.MASTER.is_file(),
    reason="the SLAM nodes are not built: they need ROS 1 and OpenCV",
)
SOURCES = Path(__file__).resolve().parents[1] / "slam"
MS = 1_000_000


def read_tum(path: Path) -> list[list[str]]:
    """Any list of TUM's layout: lines of words, and comments."""
    return [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]


@needs_nodes
def test_a_rendered_sequence_has_tums_layout(tmp_path):
    slam.generate(Case("small", 160, 120, 1000, images=6), tmp_path)
    listed, truth = read_tum(tmp_path / "rgb.txt"), read_tum(tmp_path / "groundtruth.txt")
    assert len(listed) == 6
    for moment, file in listed:
        assert file == f"rgb/{moment}.png"
        with Image.open(tmp_path / file) as picture:
            assert (picture.format, picture.mode, picture.size) == ("PNG", "RGB", (160, 120))
    times = [float(moment) for moment, _ in listed]
    assert times == sorted(set(times))
    assert len({(tmp_path / file).read_bytes() for _, file in listed}) == 6, "the camera moves"
    poses = numpy.array([[float(word) for word in row] for row in truth])
    assert poses.shape == (16, 8)
    assert (numpy.diff(poses[:, 0]) > 0).all()
    assert (poses[0, 0], poses[-1, 0]) == (times[0], times[-1]), "the truth covers all images"
    assert numpy.linalg.norm(poses[:, 4:], axis=1) == pytest.approx(1, abs=1e-5)
    steps = numpy.linalg.norm(numpy.diff(poses[:, 1:4], axis=0), axis=1)
    assert (steps > 0.001).all() and (steps < 0.02).all()


@needs_nodes
def test_a_sequence_that_cannot_be_written_is_an_error_that_names_the_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(click.ClickException, match=str(tmp_path / "file")):
        slam.generate(Case("small", 160, 120, 1000, images=2), tmp_path / "file")


def curve(count: int) -> numpy.ndarray:
    turn = numpy.linspace(0, 5, count)
    return numpy.column_stack([turn, numpy.sin(turn), numpy.cos(2 * turn), 0.3 * turn])


@given(
    scale=st.floats(0.1, 10),
    angles=st.tuples(*[st.floats(-3, 3)] * 3),
    shift=st.tuples(*[st.floats(-5, 5)] * 3),
)
def test_a_turned_moved_and_scaled_trajectory_has_no_error(scale, angles, shift):
    truth = curve(200)
    rotation = numpy.eye(3)
    for angle, (i, j) in zip(angles, ((0, 1), (1, 2), (0, 2)), strict=True):
        one = numpy.eye(3)
        one[[i, i, j, j], [i, j, i, j]] = numpy.cos(angle), -numpy.sin(angle), numpy.sin(angle), numpy.cos(angle)
        rotation = rotation @ one
    error, aligned = trajectory_error(truth, list(truth[:, 0]), scale * truth[:, 1:] @ rotation.T + shift)
    assert error == pytest.approx(0, abs=1e-9)
    assert aligned == pytest.approx(truth[:, 1:], abs=1e-8)


def test_a_trajectory_that_swings_about_the_truth_has_the_swings_size_as_its_error():
    truth = curve(2001)
    swing = 0.02 * numpy.array([1, -1] * 1000 + [0])
    error, _ = trajectory_error(truth, list(truth[:, 0]), truth[:, 1:] + swing[:, None] * [0, 0, 1])
    assert error == pytest.approx(0.02, rel=0.01)


def test_a_mirrored_trajectory_is_wrong():
    truth = curve(200)
    error, _ = trajectory_error(truth, list(truth[:, 0]), truth[:, 1:] * [1, 1, -1])
    assert error > 0.1


def test_the_truth_is_interpolated_between_its_poses():
    truth = curve(2000)
    error, _ = trajectory_error(truth[::20], list(truth[:-20, 0]), truth[:-20, 1:])
    assert error < 1e-3


@pytest.mark.parametrize(
    "text, words",
    [
        (None, "groundtruth.txt cannot be read"),
        ("# truth\n1 2 3\n", "groundtruth.txt:2: '1 2 3' is no line"),
        ("1 0 0 0 0 0 zero 1\n", "groundtruth.txt:1: "),
        ("# truth\n1 0 0 0 0 0 0 1\n", "has no two poses"),
    ],
)
def test_a_truth_that_is_none_is_an_error_that_names_file_and_line(tmp_path, text, words):
    if text is not None:
        (tmp_path / "groundtruth.txt").write_text(text)
    with pytest.raises(click.ClickException) as problem:
        read_truth(tmp_path)
    assert f"{tmp_path}/groundtruth.txt" in problem.value.message
    assert words in problem.value.message


def seen_of_nodes(lost_images=(), lost_clouds=()) -> dict:
    """Eight images, 100 ms apart; a pose from the third on. Input takes 2 ms, tracking 30, drawing 5, output 1."""
    stamps = [1_700_000_000_000_000_000 + 100 * MS * i for i in range(8)]
    seen: dict = {"pub_tum": {stamp: [f"{i / 30:.6f}"] for i, stamp in enumerate(stamps)}, "slam": {}}
    seen |= {output: {} for output in OUTPUTS}
    for i, stamp in enumerate(stamps):
        if i in lost_images:
            continue
        times = [stamp + at * MS for at in (2, 32, 33, 38)]
        seen["slam"][stamp] = [*map(str, times), "500" if i >= 2 else "0"]
        if i >= 2:
            seen["pose"][stamp] = [str(stamp + 33 * MS), f"{i}", *"000001"]
            if i not in lost_clouds:
                seen["cloud"][stamp] = [str(stamp + 34 * MS), "8000", "77"]
        seen["debug_image"][stamp] = [str(stamp + 40 * MS), "921600", "88"]
    return seen


def test_latency_and_computing_are_those_of_the_images_with_a_pose():
    result = slam.evaluate(seen_of_nodes())
    assert (result["images"], result["located"]) == (8, 6)
    assert result["lost"] == {"image": 0, "pose": 0, "cloud": 0, "debug_image": 0}
    for output, latency, computing in (("pose", 33, 30), ("cloud", 34, 30), ("debug_image", 40, 35)):
        assert result["latency_ms"][output] == pytest.approx([latency] * 6)
        assert result["computing_ms"][output] == pytest.approx([computing] * 6)
    times, positions = slam.trajectory(result)
    assert times == pytest.approx([i / 30 for i in range(2, 8)], abs=1e-6)
    assert positions == [[i, 0, 0] for i in range(2, 8)]


def test_lost_messages_are_counted_by_the_end_that_lost_them():
    result = slam.evaluate(seen_of_nodes(lost_images=(0, 4), lost_clouds=(5, 6)))
    assert result["lost"] == {"image": 2, "pose": 0, "cloud": 2, "debug_image": 0}
    assert len(result["latency_ms"]["pose"]) == 5
    assert len(result["latency_ms"]["cloud"]) == 3


def test_a_run_without_a_pose_fails():
    seen = seen_of_nodes()
    for row in seen["slam"].values():
        row[4] = "0"
    with pytest.raises(RunFailed, match="no pose"):
        slam.evaluate(seen)


def test_reduction_share_and_equal_outputs_are_those_of_the_recorded_runs():
    case = CASES["hd"]
    stock, own = slam.evaluate(seen_of_nodes()), slam.evaluate(seen_of_nodes())
    own["latency_ms"]["pose"] = [31.35] * 6  # 5 % less than 33
    own["contents"]["cloud"][next(iter(own["contents"]["cloud"]))] = "8000 76"
    runs = {(case, way): [run | {"round": 0}] for way, run in zip(WAYS, (stock, own), strict=True)}
    measured = slam_session.Measured({}, runs, {case: curve(20)})
    rows = {(row["output"], row["nodes"]): row for row in slam_session.latency_rows(measured, case)}
    assert rows["pose", "recompiled"]["less than ROS, %"] == "5.0 (5.0..5.0)"
    assert rows["pose", "ROS, as shipped"]["transport"] == "3.0"
    assert rows["debug image", "ROS, as shipped"]["its share, %"] == "12"  # 5 of 40 ms
    assert slam_session.same_outputs(measured, case) == (6 + 5 + 8, 6 + 6 + 8)


def test_a_trajectory_of_few_poses_gets_a_warning():
    case = CASES["paper"]
    runs = {(case, way): [slam.evaluate(seen_of_nodes()) | {"round": 0}] for way in WAYS}
    measured = slam_session.Measured({}, runs, {case: curve(20)})
    (warning,) = slam_session.few_poses(measured)
    assert "a run found 6 poses in 8 images" in warning and "--images" in warning
    for way in WAYS:
        runs[case, way][0]["located"] = slam_session.FEW_POSES
    assert slam_session.few_poses(measured) == []


def test_the_nodes_are_ordinary_programs_of_ros():
    sources = [path for path in SOURCES.iterdir() if path.suffix in (".cpp", ".hpp")]
    assert len(sources) > 5
    assert [path.name for path in sources if "baton" in path.read_text().lower()] == []


def test_without_the_nodes_an_error_names_the_packages_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("BATON_PERF_PROGRAMS", str(tmp_path))
    result = CliRunner().invoke(baton, ["perf", "slam", "-o", str(tmp_path / "r.jsonl.gz")])
    assert result.exit_code == 1
    assert "libopencv-dev" in result.output


@pytest.mark.parametrize("text", ["525,525,319.5", "525,525,319.5,239.5,0.2", "f,525,319.5,239.5"])
def test_a_calibration_of_another_form_is_an_error(text, tmp_path):
    result = CliRunner().invoke(baton, ["perf", "slam", "--sequence", str(tmp_path), "--camera", text])
    assert result.exit_code == 1
    assert f"--camera '{text}' has not the form fx,fy,cx,cy" in result.output


@needs_nodes
def test_a_sequence_without_one_of_its_images_is_an_error_that_names_the_image(tmp_path):
    sequence = tmp_path / "sequence"
    slam.generate(Case("small", 160, 120, 1000, images=2), sequence)
    missing = next((sequence / "rgb").iterdir())
    missing.unlink()
    arguments = ["--sequence", str(sequence), "--rounds", "1", "-o", str(tmp_path / "slam.jsonl.gz")]
    done = CliRunner().invoke(baton, ["perf", "slam", *arguments])
    assert done.exit_code == 1
    assert f"there is no file {missing}" in done.output


@needs_nodes
def test_both_compilations_give_the_same_outputs_near_the_truth_in_one_command(tmp_path):
    """A run fails by itself if a recompiled node has sent a message by TCPROS, which means that it was serialized."""
    recording = tmp_path / "slam.jsonl.gz"
    arguments = ["-c", "paper", "--images", "60", "--rate", "15", "--rounds", "1", "-o", str(recording)]
    document = tmp_path / "slam.md"
    done = CliRunner().invoke(baton, ["perf", "slam", *arguments, "--markdown", str(document)])
    assert done.exit_code == 0, done.output
    assert "failed" not in done.output
    assert "<svg" in (tmp_path / "slam.svg").read_text()
    measured = slam_session.load(recording)
    page = document.read_text()
    assert "trajectory error" in page and f"` of {measured.header['build']['commit'][:12]}, on " in page
    (case,) = measured.cases()
    assert case == replace(CASES["paper"], images=60, rate=15)
    runs = {way: measured.good(case, way)[0] for way in WAYS}
    for way, run in runs.items():
        assert run["lost"] == dict.fromkeys(("image", *OUTPUTS), 0), way
        assert run["located"] > 20
        assert trajectory_error(measured.truths[case], *slam.trajectory(run))[0] < 0.02, (
            "meters, of a way of half a meter"
        )
        for output in OUTPUTS:
            pairs = zip(run["latency_ms"][output], run["computing_ms"][output], strict=True)
            assert all(latency > computing > 0 for latency, computing in pairs)
    assert runs["stock"]["contents"] == runs["recompiled"]["contents"]


def test_all_outputs_together_are_judged_round_by_round():
    case = CASES["paper"]
    runs = {
        (case, way): [{"round": n, "latency_ms": {o: [factor * (40 + n)] * 3 for o in OUTPUTS}} for n in range(6)]
        for way, factor in (("stock", 1.0), ("recompiled", 0.9))
    }
    (row,) = slam_session.judge(slam_session.Measured({}, runs, {case: numpy.zeros((0, 0))}))
    assert row.criterion == "slam" and row.what.startswith("paper: ") and row.passed
    assert row.value.middle == pytest.approx(0.9) and row.value.count == 6
