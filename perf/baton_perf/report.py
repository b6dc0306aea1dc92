# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML page from recordings. Every figure is drawn from raw samples; nothing is typed in."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

import jinja2

from . import figures, plots, report_tables, tables
from .experiments import EXPERIMENTS, Experiment, clock_of
from .recording import Recording
from .verdicts import Row, count
from .view import View

PAGE = jinja2.Template(
    """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>baton perf</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem;color:#1c2530}
h1{margin-bottom:.2rem} h2{margin-top:3rem;border-top:1px solid #dde3ea;padding-top:1.2rem}
.source{color:#667} .note{background:#f5f7fa;padding:.6rem .9rem;border-radius:.4rem}
nav a{margin-right:1rem} svg{max-width:100%;height:auto} figure{margin:1rem 0}
.scroll{overflow-x:auto} table{border-collapse:collapse;font-size:.82rem;font-variant-numeric:tabular-nums}
th,td{padding:.18rem .55rem;text-align:right;white-space:nowrap;border-bottom:1px solid #edf0f4;vertical-align:top}
th{white-space:normal;vertical-align:bottom} th.text,td.text{text-align:left}
td.text:nth-child(n+3){white-space:normal;min-width:16rem}
td.error{white-space:normal;text-align:left;color:#9a6700} tr:hover td{background:#f5f7fa}
td.pass,td.fail,td.none{text-align:left;font-weight:600} td.pass{color:#1a7f37} td.fail{color:#cf222e} td.none{color:#9a6700}
details summary{cursor:pointer;color:#456}
</style></head><body>
<h1>baton perf</h1>
<p class="source">{{ machine }}<br>Baton {{ commit }}, made {{ made }}</p>
<nav>{% for s in sections %}<a href="#{{ s.id }}">{{ s.source }}</a>{% endfor %}</nav>
{% for s in sections %}
<h2 id="{{ s.id }}">{{ s.title }}</h2>
<p class="source">{{ s.source }} &middot; <code>{{ s.command|e }}</code> &middot; {{ s.runs }} runs, {{ s.failed }} without result
&middot; load before: {{ s.load }}{% if s.one_process %} &middot; all ends are threads of one process{% else %} &middot; every end is a process of its own{% endif %}</p>
{% if s.note %}<p class="note">{{ s.note|e }}</p>{% endif %}
{% for f in s.figures %}<figure>{{ f }}</figure>{% endfor %}
{% endfor %}
<h2>Peers</h2>
{{ peers }}
</body></html>
"""
)

# Figures of latency: drawn by each clock that is shown. The others do not depend on one, or say which they use.
BY_CLOCK = frozenset(
    "ratio_table lines_over_size lines_over_subscribers boxes_over_size boxes_by_isolation boxes_by_end histogram sequence "
    "summary_table spread".split()
)
ON_EVERY_PAGE = ("usage_table", "spread")  # below an experiment's own figures
FREE = Experiment(
    "run",
    "A comparison",
    "baton perf run",
    lambda profile: [],
    ("lines_over_size", "boxes_over_size", "cpu_bars", "summary_table", "usage_table"),
)
LIMITS = Experiment(
    "limits", "What the machine can do at best", "baton perf limits", lambda profile: [], ("summary_table",)
)


def _experiment(id: str, runs: list[dict]) -> Experiment:
    """What the runs of that name are: an experiment, the machine's limits, those of a criterion, or a free comparison."""
    if id == "run":
        return replace(FREE, clock=clock_of(tables.cell_of(runs[0])))
    if id in EXPERIMENTS or id == "limits":
        return {**EXPERIMENTS, "limits": LIMITS}[id]
    return Experiment(id, f"The runs of criterion {id}", id, lambda profile: [], ("summary_table",))


def drawing(name: str) -> Callable[[View], list[str]]:
    """The figure of that name: a function of plots or of report_tables."""
    return getattr(plots, name, None) or getattr(report_tables, name)


def _drawn(experiment: Experiment, runs: list[dict], clocks: Sequence[str]) -> list[str]:
    views = [View(experiment, runs, clock) for clock in clocks or [experiment.clock]]
    if not views[0].good:
        return ["no run gave a result"]
    out = [
        f'<p class="note">{escape(", ".join(names))}: {tables.without_clock(view.clock)}</p>'
        for view in views
        if (names := view.without_clock())
    ]
    for name in dict.fromkeys([*experiment.figures, *ON_EVERY_PAGE]):
        if name not in BY_CLOCK:
            out += drawing(name)(views[0])
            continue
        for view in views:
            if len(view.without_clock()) < len(view.names):
                out += drawing(name)(view)
    return out


def _section(recording: Recording, id: str, experiment: Experiment, runs: list[dict], drawn: list[str]) -> dict:
    return {
        "id": id,
        "title": experiment.title,
        "source": experiment.source,
        "note": experiment.note,
        "command": recording.header["command"],
        "runs": len(runs),
        "failed": sum(figures.metric(run, "hand_over") is None for run in runs),
        "load": f"{recording.header['machine']['load_before']:.2f}",
        "one_process": bool(runs) and runs[0]["cell"].get("one_process", False),
        "figures": drawn,
    }


def _verdicts(recording: Recording, id: str) -> dict:
    rows = [Row.load(row) for row in recording.verdicts]
    judged = Experiment(id, f"Criteria: {count(rows)}", "criteria", lambda profile: [], ())
    return _section(recording, id, judged, recording.runs, [report_tables.verdict_table(rows)])


def write_report(recordings: list[tuple[Path, Recording]], out: Path, clocks: Sequence[str] = ()) -> None:
    """`clocks`: columns by which latencies are shown, one after the other; none: each experiment's own."""
    sections, known = [], {}
    for number, (_, recording) in enumerate(recordings):
        known |= recording.header["peers"]
        if recording.verdicts:
            sections.append(_verdicts(recording, f"{number}-criteria"))
        for id in dict.fromkeys(run["experiment"] for run in recording.runs):
            runs = [run for run in recording.runs if run["experiment"] == id]
            experiment = _experiment(id, runs)
            drawn = _drawn(experiment, runs, clocks)
            sections.append(_section(recording, f"{number}-{id}", experiment, runs, drawn))
    header = recordings[0][1].header
    m, b = header["machine"], header["build"]
    machine = (
        f"{m['cpu']}, {m['cpus']} CPUs, {m['memory_gb']} GB, Linux {m['kernel']} {m['architecture']}"
        f"{', virtual (' + m['virtual'] + ')' if m['virtual'] else ''}, governor {m['governor']}, idle driver {m['idle_driver']}"
    )
    commit = (
        b["commit"][:12]
        + (" with local changes" if b["modified"] else "")
        + f", {b.get('CMAKE_BUILD_TYPE', 'unknown build')}"
    )
    peers = report_tables.html_table(
        ["peer", "name", "version", "how it is used"],
        [[id, p["name"], p["version"], p["how"]] for id, p in known.items()],
        text_columns=4,
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    made = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(header["started"]))
    out.write_text(PAGE.render(machine=machine, commit=commit, made=made, sections=sections, peers=peers))
