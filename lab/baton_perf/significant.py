# SPDX-License-Identifier: Apache-2.0
"""Numbers as documents and reports show them. Needs no package, so `make results` can use it anywhere."""

from __future__ import annotations

import math


def digits(value: float) -> str:
    """Three significant digits, without an exponent however small or large."""
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    places = 2 - math.floor(math.log10(abs(value)))
    text = f"{round(value, places):.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
