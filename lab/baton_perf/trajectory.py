# SPDX-License-Identifier: Apache-2.0
"""Trajectories of TUM RGB-D's layout: the truth of a sequence, and the absolute error of an estimate."""

from __future__ import annotations

from pathlib import Path

import click
import numpy


def read_truth(sequence: Path) -> numpy.ndarray:
    """groundtruth.txt: rows of time and position (m), ordered by time."""
    path = sequence / "groundtruth.txt"
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise click.ClickException(f"{path} cannot be read: {problem}") from problem
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            numbers = [float(word) for word in line.split()]
        except ValueError:
            numbers = []
        if len(numbers) != 8:
            raise click.ClickException(
                f"{path}:{number}: '{line}' is no line of the form 'timestamp tx ty tz qx qy qz qw'"
            )
        rows.append(numbers[:4])
    if len(rows) < 2:
        raise click.ClickException(f"{path}: has no two poses")
    return numpy.array(sorted(rows))


def trajectory_error(truth: numpy.ndarray, times: list[float], positions: list) -> tuple[float, numpy.ndarray]:
    """The root mean square of the absolute trajectory error in m, and the aligned positions. A single camera knows no scale: the positions are
    aligned by rotation, translation and scale with the least squares (Umeyama, 1991). The truth is interpolated between its poses."""
    expected = numpy.column_stack([numpy.interp(times, truth[:, 0], truth[:, axis]) for axis in (1, 2, 3)])
    found = numpy.asarray(positions, dtype=float)
    middle, expected_middle = found.mean(axis=0), expected.mean(axis=0)
    u, strengths, v = numpy.linalg.svd((expected - expected_middle).T @ (found - middle))
    mirror = numpy.diag([1, 1, numpy.sign(numpy.linalg.det(u) * numpy.linalg.det(v))])
    rotation = u @ mirror @ v
    scale = (strengths * mirror.diagonal()).sum() / ((found - middle) ** 2).sum()
    aligned = expected_middle + scale * (found - middle) @ rotation.T
    return float(numpy.sqrt(((aligned - expected) ** 2).sum(axis=1).mean())), aligned
