# SPDX-License-Identifier: Apache-2.0
"""The runs of one experiment, as the report's plots and tables look at them."""

from __future__ import annotations

import numpy

from . import colors, figures, tables
from .experiments import Experiment

# Baton's blue stands out; the others' colours have the same weight. None is a red or a green, which would seem a verdict, and people who
# see red and green alike tell the first six apart; strokes and names tell the rest apart.
FIRST_COLOR = colors.BATON
COLORS = ("#c27c0e", "#8a63b8", "#2a9d9d", "#6b7c8c", "#b0568f", "#8c6a4f", "#4fa3d9", "#a39a1f")
STROKES = ("-", "--", ":", "-.", (0, (1, 4)))
MOST_NAMED = 1 + len(COLORS)  # lines that can be told apart in one plot


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

        # The fastest first: by the mean logarithm of their medians, so that every cell counts alike.
        self.ranked = sorted(self.names, key=lambda n: (n != "baton", self._place(n), n))

    def _place(self, name: str) -> float:
        medians = [median for _, median in self.medians(self.of(name))]
        return float(numpy.mean(numpy.log(numpy.maximum(medians, 1)))) if medians else numpy.inf

    def named(self) -> list[str]:
        """The peers that a plot of lines names: Baton, and of each other peer its fastest variant, the fastest peers first."""
        of_peer: dict[str, str] = {}
        for name in self.ranked:
            of_peer.setdefault(name.partition(":")[0], name)
        chosen = self.ranked if len(self.ranked) <= MOST_NAMED else list(of_peer.values())
        return chosen[:MOST_NAMED]

    def _number(self, name: str) -> int:
        """The named ones have the first numbers, and so colours of their own."""
        named = self.named()
        others = [n for n in (*named, *(n for n in self.ranked if n not in named)) if n != "baton"]
        return others.index(name)

    def color(self, name: str) -> str:
        """Baton's own, or one of the others; beyond their number they come again, with another stroke()."""
        return FIRST_COLOR if name == "baton" else COLORS[self._number(name) % len(COLORS)]

    def stroke(self, name: str):
        return STROKES[self._number(name) // len(COLORS) % len(STROKES)] if name != "baton" else "-"

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
