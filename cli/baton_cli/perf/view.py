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
    """The runs of one experiment that gave a result, and how to draw them."""

    def __init__(self, experiment: Experiment, runs: list[dict]):
        self.experiment = experiment
        self.all = runs
        self.good = [run for run in runs if figures.metric(run, "hand_over") is not None]
        self.names = sorted(
            {tables.name_of(run) for run in self.good}, key=lambda n: (n != "baton", not n.startswith("baton"), n)
        )

    def color(self, name: str):
        """Baton's own, or one of the others; beyond eighteen they come again."""
        return FIRST_COLOR if name == "baton" else COLORS[(self.names.index(name) - 1) % len(COLORS)]

    def of(self, name: str, **wanted) -> list[dict]:
        return [
            run
            for run in self.good
            if tables.name_of(run) == name
            and all(getattr(tables.cell_of(run), key) == value for key, value in wanted.items())
        ]

    def values(self, name: str, clock: str | None = None, **wanted):
        parts = [figures.column(run, clock or self.experiment.clock) for run in self.of(name, **wanted)]
        return numpy.concatenate(parts) / 1000 if parts else numpy.empty(0)

    def distinct(self, key: str) -> list:
        return sorted({getattr(tables.cell_of(run), key) for run in self.good})
