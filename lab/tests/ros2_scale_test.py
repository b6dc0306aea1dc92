# SPDX-License-Identifier: Apache-2.0
"""`baton_ros2_scale` in its short form: its output is read as verdicts. Its figures are not judged."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from baton_perf import accept
from support.build import BUILD
from support.ros2 import MEASURED, needs_ros2


@needs_ros2(MEASURED.library, distribution=MEASURED)
def test_processes_of_both_rmws_see_their_graph_and_their_figures_are_verdicts():
    program = Path(__file__).resolve().parents[1] / "python/baton_ros2_scale"
    done = subprocess.run(
        [program, "--processes", "2", "--many", "2", "--rounds", "1", "--settles", "0"],
        env=os.environ | {"BATON_BUILD": str(BUILD), "BATON_ROS2_DISTRIBUTION": MEASURED.name},
        capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr  # 1: beyond a bar, on this machine
    rows = [row for line in done.stdout.splitlines() if (row := accept.printed_row("ros2-scale", line))]
    assert [row.unit for row in rows] == ["x", " s", "", " MiB", ""], done.stdout
    assert all(row.value is not None for row in rows) and rows[0].value.middle > 0, done.stdout
    assert rows[2].value.middle < 4 < float(rows[2].detail.split()[-1]), (
        "threads of a DDS are in a process over rmw_baton_cpp"
    )
