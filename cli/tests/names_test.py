# SPDX-License-Identifier: Apache-2.0
"""Names of other processes in tables: any printable text, so neither markup of rich nor a wrong one, which would end the command."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from baton_cli import rates, top_view
from baton_cli.verbs import doctor
from rich.console import Console

WRONG = "a/[/b][link=file:///etc]x[/link]"


def printed(shown: Any) -> str:
    out = io.StringIO()
    Console(file=out, width=250).print(shown)
    return out.getvalue()


def test_doctor_shows_names_as_they_are():
    finding = doctor.Diagnosis(f"{WRONG}: /p -> /s", False, f"{WRONG} \x1b]0;pwned", f"rename {WRONG}")
    text = printed(doctor._table([finding]))
    assert text.count(WRONG) == 3 and "\x1b" not in text and r"\x1b]0;pwned" in text


def test_rates_show_names_as_they_are():
    meter = rates.RateMeter(WRONG, 10)
    meter.why_not = f"its type {WRONG} is not known"
    assert printed(rates.table([meter], meter.columns)).count(WRONG) == 2


@pytest.mark.parametrize("part", ["topics", "losers", "links"])
def test_top_shows_names_as_they_are(part):
    figures = {"rate_hz": 1.0, "bytes_per_s": 1.0, "latency_s": None, "converted": None, "note": ""}
    topic = {"topic": "/t", "type": WRONG, "publishers": ["p(1)"], "subscriptions": [], **figures}
    loser = {"topic": "/t", "subscription": "s(1)", "total": 3, "lost_hz": 1.0, "why": WRONG, "short": "queue"}
    ends = {"publisher": "p(1)", "subscriber": "s(1)", "way": "TCP", "copies": 4, "why": WRONG}
    link = {"topic": "/t", "rate_hz": 1.0, "bytes_per_s": 1.0, **ends}
    shown = {"topics": [topic], "losers": [loser], "links": [link]}
    memory = {"domain_backed_bytes": 0, "domain_limit_bytes": 1 << 63}
    picture = top_view.picture(
        shown[part] if part == "topics" else [],
        [],
        memory,
        [],
        0,
        250,
        other=SimpleNamespace(NAME="ROS 1", SHORT_WAYS={}),
        losers=shown[part] if part == "losers" else [],
        links=shown[part] if part == "links" else [],
    )
    assert WRONG in printed(picture)
