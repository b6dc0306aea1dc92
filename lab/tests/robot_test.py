# SPDX-License-Identifier: Apache-2.0
"""`baton perf robot`: the figures that are made of the nodes' times, and a drive over each way."""

from __future__ import annotations

import subprocess

import pytest
from baton_cli.main import baton
from baton_perf import peers, robot, robot_session
from baton_perf.robot import SUBSCRIBERS, WAYS, Setting
from baton_perf.runs import RunFailed
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

FOLDER = peers.program_folder()
DRAW = FOLDER / "baton_robot_draw" if FOLDER else None
needs_drawing = pytest.mark.skipif(
    DRAW is None or not DRAW.is_file(), reason="the release build is not there: make build"
)
needs_nodes = pytest.mark.skipif(
    FOLDER is None or not (FOLDER / "baton_robot_camera").is_file() or not robot.MASTER.is_file(),
    reason="the robot's nodes are not built: they need ROS 1 and OpenCV",
)

MS = 1_000_000
START = 1_000 * MS
LIT = START + 2_100 * MS  # 1.2 m at 0.6 m/s, and the switch's 100 ms


def drive(brake: int) -> dict:
    base = {"speed": 0.6, "deceleration": 0.4, "trigger": 1.2, "delay": 100.0 * MS, "start": START, "brake": brake}
    return base | {"stop": brake + 1_500 * MS, "travelled": robot.travelled(base, brake + 1_500 * MS)}


def frames(until: int) -> list[list[float]]:
    """The camera's: taken, drawn, published, travelled, lit; every 33 ms."""
    return [
        [taken, taken + 2 * MS, taken + 3 * MS, 0.6 * (taken - START) * 1e-9, float(taken >= LIT)]
        for taken in range(START, until, 33 * MS)
    ]


def seen_of(camera: list[list[float]], hand_over: int, recognition: int, lost=()) -> dict:
    """Every node receives every frame `hand_over` after it was drawn; `red` misses those at the places `lost`."""
    all_rows = [[f[0], f[1] + hand_over, f[1] + hand_over + recognition, f[4]] for f in camera]
    seen = {"camera": camera, **dict.fromkeys(SUBSCRIBERS, all_rows)}
    return seen | {"red": [row for place, row in enumerate(all_rows) if place not in lost]}


@given(
    hand_over=st.integers(0, 400 * MS),
    recognition=st.integers(0, 100 * MS),
    command=st.integers(0, 50 * MS),
    lost=st.integers(0, 9),
)
def test_the_four_distances_add_up_to_the_braking_distance_and_the_parts_of_t2_to_t2(
    hand_over, recognition, command, lost
):
    camera = frames(LIT + 1_000 * MS)
    first_lit = next(place for place, frame in enumerate(camera) if frame[4])
    key = camera[first_lit + lost]
    base = drive(key[1] + hand_over + recognition + command)
    seen = seen_of(camera, hand_over, recognition, range(first_lit, first_lit + lost))
    result = robot.evaluate("drive", base, seen)
    cm, ms = result["cm"], result["ms"]
    assert sum(cm[f"L{n}"] for n in (1, 2, 3, 4)) == pytest.approx(cm["L"], abs=1e-3)
    assert ms["T1"] == pytest.approx(100)
    assert ms["T2_camera"] + ms["T2_drawing"] + ms["T2_middleware"] == pytest.approx(ms["T2"])
    # An image that is lost costs the way to the next one, and nothing else is the middleware's.
    assert ms["T2_middleware"] == pytest.approx(hand_over / MS + 33 * lost)
    assert ms["T3"] == pytest.approx((recognition + command) / MS)
    assert result["lost"] == {"red": lost, "yellow": 0, "green": 0, "logger": 0}


def test_only_images_of_the_moving_robot_count_as_lost():
    base = drive(LIT + 50 * MS)
    camera = frames(int(base["stop"]) + 500 * MS)
    moving = sum(frame[0] <= base["stop"] for frame in camera)
    result = robot.evaluate("drive", base, seen_of(camera, 5 * MS, MS, range(moving, len(camera))))
    assert (result["published"], result["lost"]["red"]) == (moving, 0)


@pytest.mark.parametrize(("turned", "angle", "extra"), [(231.5, 31.5, 0), (200 + 360 + 60, 60, 1)])
def test_a_turn_tells_the_angle_behind_the_light_and_whole_turns_apart(turned, angle, extra):
    base = {"speed": 100, "deceleration": 150, "trigger": 200, "delay": 0, "start": START, "travelled": turned}
    base |= {"brake": START + 2_000 * MS, "stop": START + 2_667 * MS}
    camera = [[*frame[:4], 1.0] for frame in frames(START + 3_000 * MS)]
    result = robot.evaluate("turn", base, seen_of(camera, MS, MS))
    assert (result["angle"], result["extra_turns"]) == (pytest.approx(angle), extra)


def test_a_robot_that_never_brakes_has_no_distance_and_says_so():
    base = drive(LIT) | {"brake": -1.0, "stop": -1.0, "travelled": 3.2}
    result = robot.evaluate("drive", base, seen_of(frames(START + 6_000 * MS), MS, MS))
    assert not result["stopped"]
    assert "cm" not in result


def test_a_robot_that_brakes_for_nothing_is_an_error():
    with pytest.raises(RunFailed, match="before the light"):
        robot.evaluate("drive", drive(LIT - 1), seen_of(frames(LIT), MS, MS))


def test_without_the_nodes_an_error_names_the_packages_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("BATON_PERF_PROGRAMS", str(tmp_path))
    result = CliRunner().invoke(baton, ["perf", "robot", "-o", str(tmp_path / "r.jsonl.gz")])
    assert result.exit_code == 1
    assert "libopencv-imgproc-dev" in result.output


@needs_drawing
def test_the_same_views_are_drawn_as_the_same_bytes():
    views = "".join(f"{0.1 * n} {n % 2}\n" for n in range(30)).encode()
    first, second = (
        subprocess.run([DRAW, "drive", "320"], input=views, capture_output=True, check=True).stdout for _ in range(2)
    )
    assert first == second
    assert len(first) == 30 * 320 * 180 * 3


@needs_nodes
def test_one_command_drives_over_each_way_and_makes_a_recording_a_table_a_plot_and_a_video(tmp_path):
    """A run fails by itself if its nodes did not take its way."""
    recording = tmp_path / "robot.jsonl.gz"
    arguments = ["--task", "drive", "--load", "0", "--rounds", "1", "--width", "480", "-o", str(recording)]
    done = CliRunner().invoke(baton, ["perf", "robot", *arguments])
    assert done.exit_code == 0, done.output
    assert "failed" not in done.output
    assert "Braking distance" in done.output
    assert "lotros" in (tmp_path / "robot.svg").read_text()
    assert (tmp_path / "robot.webp").stat().st_size > 10_000
    _, runs = robot_session.load(recording)
    assert [way for _, way in runs] == list(WAYS)
    for (run,) in runs.values():
        cm, base = run["cm"], run["base"]
        assert cm["L"] >= cm["L1"] + cm["L4"]
        assert sum(cm[f"L{n}"] for n in (1, 2, 3, 4)) == pytest.approx(cm["L"], abs=0.01)
        assert robot.travelled(base, base["stop"]) == pytest.approx(base["travelled"], abs=1e-4)


@needs_nodes
def test_the_turning_robot_stops_behind_the_light():
    result = robot.perform("tzc", Setting("turn", width=480))
    assert result["stopped"]
    assert result["angle"] > 0


@pytest.mark.parametrize("place", ["lib", "lib/x86_64-linux-gnu"])
@pytest.mark.parametrize("programs", ["bin", "libexec/baton"])
def test_the_library_to_preload_is_that_of_the_programs_built_or_installed(tmp_path, place, programs):
    library = tmp_path / place / "libbaton_roscpp.so"
    (tmp_path / programs).mkdir(parents=True)
    with pytest.raises(robot.RunFailed, match=f"libbaton_roscpp.so is not in .*{tmp_path}/lib"):
        robot.preloaded_library(tmp_path / programs)
    library.parent.mkdir(parents=True)
    library.touch()
    assert robot.preloaded_library(tmp_path / programs) == library


def run_of(way, task, round, load=1.0, **seen):
    return {"variant": way, "round": round, "cell": {"task": task, "load": load}, **seen}


def recorded(*runs):
    found = {}
    for run in runs:
        found.setdefault((robot.Setting(**run["cell"]), run["variant"]), []).append(run)
    return found


def driven(way, round, cm, ms, load=1.0):
    return run_of(way, "drive", round, load, cm={"L": cm}, ms={"T2_middleware": ms})


def test_the_papers_numbers_are_judged_round_by_round_under_the_heaviest_load():
    pairs = [(60.0, 51.0), (60.0, 48.0), (63.0, 53.55)]
    runs = []
    for number, (stock, own) in enumerate(pairs):
        runs += [driven("tcpros", number, stock, 160.0), driven("tzc", number, own, 8.0)]
        runs += [driven("tcpros", number, 50.0, 2.0, load=0.0), driven("tzc", number, 50.0, 2.0, load=0.0)]
        runs += [
            run_of("tcpros", "turn", number, angle=60.0, extra_turns=1),
            run_of("tzc", "turn", number, angle=30.0, extra_turns=0),
        ]
    rows = robot_session.judge(recorded(*runs))
    assert [(row.criterion, round(row.value.middle, 4), row.passed) for row in rows] == [
        ("robot", 0.85, False),
        ("robot", 0.05, False),
        ("robot", 0.0714, True),
    ]
    assert rows[0].what.startswith("braking distance") and rows[2].what.startswith("angle behind")


def test_a_round_in_which_a_way_failed_is_no_ratio():
    runs = [driven("tcpros", 0, 60.0, 160.0), driven("tzc", 0, 48.0, 1.0), driven("tcpros", 1, 60.0, 160.0)]
    failed = run_of("tzc", "drive", 1, error="no")
    assert robot_session.ratios(recorded(*runs, failed), "drive", "tzc", lambda run: run["cm"]["L"]) == [0.8]
    assert robot_session.judge(recorded(runs[0])) == []
