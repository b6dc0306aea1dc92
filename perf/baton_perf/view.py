# SPDX-License-Identifier: Apache-2.0
"""The runs of one experiment, as the report's plots and tables look at them."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy

from . import figures, tables
from .experiments import Experiment

FIRST_COLOR = "#d1495b"
# Strong ones first, without the reds, which are too near to Baton's.
COLORS = [plt.get_cmap("tab20").colors[n] for n in (*range(0, 20, 2), *range(1, 20, 2)) if n not in (6, 7)]


class View:
    """The runs of one experiment that gave a result, and how to draw them: by `clock`, a column of a recording."""

    def __init__(self, experiment: Experiment, runs: list[dict], clock: str | None = None):
        self.experiment = experiment
        self.clock = clock or experiment.clock
        self.all = runs
        self.good = [run for run in runs if figures.metric(run, "hand_over") is not None]
        self.names = sorted(
            {tables.name_of(run) for run in self.good}, key=lambda n: (n != "baton", not n.startswith("baton"), n)
        )

    def color(self, name: str):
        """Baton's own, or one of the others; beyond eighteen they come again, with another stroke()."""
        return FIRST_COLOR if name == "baton" else COLORS[(self.names.index(name) - 1) % len(COLORS)]

    def stroke(self, name: str) -> str:
        return ("-", "--", ":")[(self.names.index(name) - 1) // len(COLORS) % 3] if name != "baton" else "-"

    def of(self, name: str, **wanted) -> list[dict]:
        return [
            run
            for run in self.good
            if tables.name_of(run) == name
            and all(getattr(tables.cell_of(run), key) == value for key, value in wanted.items())
        ]

    def without_clock(self) -> list[str]:
        """The peers that have no times of this clock."""
        return [name for name in self.names if len(self.values(name)) == 0]

    def medians(self, runs: list[dict]) -> list[tuple[int, float]]:
        """Round and median in ns of each run that has this clock."""
        columns = [(run["round"], figures.column(run, self.clock)) for run in runs]
        return [(round, float(numpy.median(values))) for round, values in columns if len(values)]

    def values(self, name: str, **wanted):
        """µs."""
        parts = [figures.column(run, self.clock) for run in self.of(name, **wanted)]
        return numpy.concatenate(parts) / 1000 if parts else numpy.empty(0)

    def distinct(self, key: str) -> list:
        return sorted({getattr(tables.cell_of(run), key) for run in self.good})
