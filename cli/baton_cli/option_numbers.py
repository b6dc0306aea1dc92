# SPDX-License-Identifier: Apache-2.0
"""Numbers of options. click's FloatRange accepts nan, and times that are longer than any clock's range."""

from __future__ import annotations

import math
from typing import Any

import click

_LONG_S = 1e9  # 31 years: as good as endless


class Number(click.FloatRange):
    """A number, which may be infinite."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value} is no number", param, ctx)
        return number


class Seconds(Number):
    """A time to wait, or between two things. More than 31 years count as 31."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        return max(-_LONG_S, min(super().convert(value, param, ctx), _LONG_S))
