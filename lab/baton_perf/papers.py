# SPDX-License-Identifier: Apache-2.0
"""The papers' figures, tables and headline numbers (papers.toml): the command that repeats each of them, and the criterion that measures ours."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import click

from .experiments import EXPERIMENTS, Experiment

TABLE = Path(__file__).with_name("papers.toml")
PAPERS = ("TZC", "LOT", "TogetheROS.Bot", "ROS-SF", "ATSA")


@dataclass(frozen=True)
class Number:
    """A headline number of a paper, and the criterion with Baton's number."""

    says: str
    criterion: str
    row: str = ""  # how the text of the verdict's row begins; "": the criterion has one row
    bar: float | None = None  # the paper's number as a bar; None: the criterion's own
    reason: str = ""  # where the median misses the bar


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper. `quick` and `full` are arguments of `baton`; both are empty where the figure cannot be repeated."""

    id: str
    paper: str
    place: str
    what: str
    quick: tuple[str, ...]
    full: tuple[str, ...]
    absent: str = ""
    numbers: tuple[Number, ...] = field(default=())

    @property
    def experiment(self) -> Experiment | None:
        """Of a figure that experiments.py has the cells of."""
        return EXPERIMENTS.get(self.id)

    def command(self, full: bool = False) -> str:
        return shlex.join(["baton", *(self.full if full else self.quick)])


KEYS = {"id", "paper", "place", "what", "quick", "full", "absent", "number"}
OF_A_NUMBER = {"says", "criterion", "row", "bar", "reason"}


def _figure(row: dict, path: Path) -> Figure:
    id = row.get("id", "?")

    def wrong(what: str) -> click.ClickException:
        return click.ClickException(f"{path}: figure '{id}' {what}")

    if missing := {"id", "paper", "place", "what"} - row.keys():
        raise wrong(f"lacks {', '.join(sorted(missing))}")
    if unknown := row.keys() - KEYS:
        raise wrong(f"has unknown keys {', '.join(sorted(unknown))}")
    if row["paper"] not in PAPERS:
        raise wrong(f"is of '{row['paper']}', not one of {', '.join(PAPERS)}")
    ways = [id in EXPERIMENTS, "quick" in row, "absent" in row]
    if sum(ways) != 1:
        raise wrong("needs one of: an experiment of its name, quick, absent")
    if "full" in row and "quick" not in row:
        raise wrong("has full without quick")
    for number in row.get("number", []):
        if not {"says", "criterion"} <= number.keys() or number.keys() - OF_A_NUMBER:
            raise wrong(f"has a number with the keys {', '.join(sorted(number))}")
    if id in EXPERIMENTS:
        quick = ("perf", "experiment", id)
        full = (*quick, "--full")
    else:
        quick = tuple(row.get("quick", ()))
        full = tuple(row.get("full", quick))
    numbers = tuple(Number(**number) for number in row.get("number", []))
    return Figure(id, row["paper"], row["place"], row["what"], quick, full, row.get("absent", ""), numbers)


def load(path: Path = TABLE) -> dict[str, Figure]:
    """The figures by name, checked: an unknown key is an error, so that no line of the file is without effect."""
    try:
        rows = tomllib.loads(path.read_text())["figure"]
    except (OSError, tomllib.TOMLDecodeError, KeyError) as problem:
        raise click.ClickException(f"{path}: {problem}") from problem
    figures: dict[str, Figure] = {}
    for row in rows:
        figure = _figure(row, path)
        if figure.id in figures:
            raise click.ClickException(f"{path}: there are two figures '{figure.id}'")
        figures[figure.id] = figure
    return figures
