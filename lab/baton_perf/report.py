# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML page from recordings. Every figure is drawn from raw samples; nothing is typed in."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from pathlib import Path

import click
import jinja2

from . import accept, colors, figures, headline, machines, plots, report_tables, tables
from .experiments import EXPERIMENTS, Experiment, clock_of
from .recording import Recording
from .verdicts import Row, count
from .view import View

PAGE = jinja2.Template(
    """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{ title }}</title>
<style>
:root{--paper:#fff;--ink:#1c2530;--quiet:#566270;--line:#dde3ea;--tint:#f2f5f9;--own:{{ baton }};--faint:#aab4be;
--bar-own:#c9dff5;--bar:#e6ebf1;--pass:{{ baton }};--fail:#a34700}
@media(prefers-color-scheme:dark){:root{--paper:#12171d;--ink:#e3e9f0;--quiet:#a3b0be;--line:#2b3540;--tint:#1b232c;--own:#6db3f2;
--faint:#5b6875;--bar-own:#16456f;--bar:#27313c;--pass:#6db3f2;--fail:#f0a35e}}
*{box-sizing:border-box} body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:88rem;padding:1rem clamp(.9rem,3vw,2.5rem);
color:var(--ink);background:var(--paper);overflow-wrap:break-word}
h1{font-size:clamp(1.5rem,4vw,2.1rem);line-height:1.2;margin:.5rem 0 1rem;max-width:60rem}
h2{font-size:clamp(1.2rem,3vw,1.5rem);line-height:1.25;margin:3.5rem 0 .2rem;border-top:1px solid var(--line);padding-top:1.4rem;max-width:60rem}
h2+.from{margin-top:0} p{max-width:52rem} .lead{font-size:clamp(1.05rem,2.5vw,1.25rem)} .answer{font-weight:600}
.source,.from,small{color:var(--quiet)} .source{font-size:.88rem} .note{background:var(--tint);padding:.7rem 1rem;border-radius:.4rem}
a{color:var(--own)} nav ol{padding-left:1.4rem;columns:22rem;column-gap:2rem} nav li{margin:.15rem 0;break-inside:avoid}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,25rem),1fr));gap:1.2rem 2rem;margin:1rem 0;align-items:start}
figure{margin:0} svg{width:100%;max-width:34rem;height:auto;display:block} code{font-size:.9em}
.scroll{overflow-x:auto;margin:.6rem 0} table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums}
th,td{padding:.28rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line);vertical-align:top}
th{white-space:normal;vertical-align:bottom} th.text,td.text{text-align:left} tr:hover td{background-color:var(--tint)}
.scroll td:first-child,.scroll th:first-child{position:sticky;left:0;background-color:var(--paper)}
td.text:nth-child(n+3){white-space:normal;min-width:13rem} td.error{white-space:normal;text-align:left;color:var(--quiet)}
td.pass,td.fail,td.none{text-align:left;font-weight:600} td.pass{color:var(--pass)} td.fail{color:var(--fail)}
table.top{font-size:.95rem;width:100%;max-width:60rem} table.top th{font-weight:500;text-align:left} table.top tr:first-child th{text-align:right}
table.top th,table.top td{vertical-align:middle;white-space:nowrap} table.top small{font-weight:400;margin-left:.5em}
table.top tr:first-child small{display:block}
td.bar{background:linear-gradient(90deg,var(--bar) var(--share),transparent var(--share)) no-repeat 0 50%/100% 1.5em}
.own td.bar{background-image:linear-gradient(90deg,var(--bar-own) var(--share),transparent var(--share))}
.own th,.own td{font-weight:700} .own th{color:var(--own)}
details{margin:.5rem 0} summary{cursor:pointer;color:var(--quiet)}
@media(max-width:40rem){th,td{padding:.25rem .4rem} table.top{font-size:.82rem} table.top small{display:block;margin:0;line-height:1.2}}
</style></head><body>
<h1>{{ title }}</h1>
<p class="lead">{{ lead }}</p>
{% if top %}<p class="source">{{ caption }}</p>{{ top }}{% endif %}
<p class="source">{{ machine }}. Baton {{ commit }}, measured {{ made }}. Every table and plot below is made from the recording.</p>
<nav><p>Questions on this page:</p><ol>{% for s in sections if s.listed %}<li><a href="#{{ s.id }}">{{ s.title }}</a> <small>{{ s.source }}</small></li>
{% endfor %}{% if details %}<li>What was measured for single criteria? <small>{% for s in details %}<a href="#{{ s.id }}">{{ s.criterion }}</a>
{% endfor %}</small></li>{% endif %}<li><a href="#peers">What was compared?</a></li></ol></nav>
{% for s in sections %}
<h2 id="{{ s.id }}">{{ s.title }}</h2>
<p class="from">{{ s.source }}</p>
{% if s.answer and s.answer != lead_sentence %}<p class="answer">{{ s.answer }}</p>{% endif %}
{% if s.note %}<p class="note">{{ s.note|e }}</p>{% endif %}
{% for kind, parts in s.blocks %}{% if kind == "svg" %}<div class="figures">{% for f in parts %}<figure>{{ f }}</figure>{% endfor %}</div>
{% else %}{% for f in parts %}{{ f }}{% endfor %}{% endif %}{% endfor %}
<p class="source"><code>{{ s.command|e }}</code>{% for fact in s.facts %} &middot; {{ fact }}{% endfor %}</p>
{% endfor %}
<h2 id="peers">What was compared?</h2>
<p class="from">Names, versions and how each is used</p>
{{ peers }}
</body></html>
"""
)

# Figures of latency: drawn by each clock that is shown. The others do not depend on one, or say which they use.
BY_CLOCK = frozenset(
    "ratio_table lines_over_size lines_over_subscribers boxes_over_size boxes_by_isolation boxes_by_end histogram sequence "
    "summary_table spread mean_bars ping_pong_table".split()
)
ON_EVERY_PAGE = ("usage_table", "spread")  # below an experiment's own figures
FREE = Experiment(
    "run",
    "How long does a message take?",
    "baton perf run",
    lambda profile: [],
    ("lines_over_size", "boxes_over_size", "cpu_bars", "summary_table", "usage_table"),
)
OTHERS = ("run", "limits")  # experiments of `baton perf run` and `baton perf limits`
LIMITS = Experiment(
    "limits", "What the machine can do at best", "baton perf limits", lambda profile: [], ("summary_table",)
)


NOT_ANSWERED_BY_LATENCY = frozenset(("copies_table", "success", "period", "gap_table", "wire_table"))


def _experiment(id: str) -> Experiment:
    """The experiment, free comparison, limit of the machine or criterion to which runs with this name belong."""
    if known := {**EXPERIMENTS, "run": FREE, "limits": LIMITS}.get(id):
        return known
    source = next((c["source"] for c in accept.load() if c["id"] == id), "a criterion")
    return Experiment(id, f"What was measured for the criterion {id}?", source, lambda profile: [], ("summary_table",))


def drawing(name: str) -> Callable[[View], list[str]]:
    """The figure of that name: a function of plots or of report_tables."""
    return getattr(plots, name, None) or getattr(report_tables, name)


def _absent(absent: dict[str, str]) -> list[str]:
    return [f'<p class="note">{escape(name)} was not measured: {escape(why)}</p>' for name, why in absent.items()]


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


def _answer(experiment: Experiment, medians: headline.Medians) -> str:
    """One sentence, where the medians of latency answer the experiment's question."""
    if NOT_ANSWERED_BY_LATENCY & set(experiment.figures) or not medians or experiment.id == "limits":
        return ""
    return escape(headline.sentence(medians))


def _blocks(drawn: list[str]) -> list[tuple[str, list[str]]]:
    """Plots that follow each other stand side by side where there is room; tables have the whole width."""
    return [
        (kind, list(parts)) for kind, parts in groupby(drawn, lambda part: "svg" if part.startswith("<svg") else "html")
    ]


def _section(id: str, title: str, source: str, command: str, drawn: list[str], **more) -> dict:
    section = {"id": id, "title": title, "source": source, "command": command, "blocks": _blocks(drawn)}
    return section | {"answer": "", "note": "", "facts": [], "listed": True} | more


def _facts(recording: Recording, runs: list[dict]) -> list[str]:
    failed = sum(figures.metric(run, "hand_over") is None for run in runs)
    together = bool(runs) and runs[0]["cell"].get("one_process", False)
    return [
        f"{len(runs)} runs, {failed} without result",
        f"load before: {recording.header['machine']['load_before']:.2f}",
        "all ends are threads of one process" if together else "every end is a process of its own",
    ]


def _verdicts(part: Recording | headline.Summary, id: str) -> dict:
    rows = [Row.load(row) for row in part.verdicts]
    drawn = [report_tables.verdict_table(rows)]
    title, source = "Which criteria pass?", "the criteria of this project, lab/baton_perf/criteria.toml"
    return _section(id, title, source, part.header["command"], drawn, answer=f"{count(rows)}.")


def _of_recording(recording: Recording, number: int, clocks: Sequence[str]) -> tuple[list[dict], list[Top]]:
    sections, tops = [], []
    for id in dict.fromkeys(run["experiment"] for run in recording.runs):
        runs = [run for run in recording.runs if run["experiment"] == id]
        experiment = _experiment(id)
        if id == "run":
            experiment = replace(experiment, clock=clock_of(tables.cell_of(runs[0])))
        clock = (clocks or [experiment.clock])[0]
        medians = headline.medians_of(runs, clock)
        drawn = _absent(recording.header.get("absent", {})) + _drawn(experiment, runs, clocks)
        facts = _facts(recording, runs)
        command, answer = recording.header["command"], _answer(experiment, medians)
        head = (experiment.title, experiment.source, command)
        listed = id in EXPERIMENTS or id in OTHERS
        more = {"answer": answer, "note": experiment.note, "facts": facts, "listed": listed, "criterion": id}
        sections.append(_section(f"{number}-{id}", *head, drawn, **more))
        tops.append(Top(id, experiment.title, medians, clock))
    return sections, tops


def _of_summary(summary: headline.Summary, number: int) -> tuple[list[dict], list[Top]]:
    sections, tops = [], []
    for id, medians in summary.medians.items():
        experiment = _experiment(id)
        drawn = [report_tables.medians_table(medians)]
        head = (experiment.title, experiment.source, summary.header["command"])
        more = {"answer": _answer(experiment, medians), "listed": id in EXPERIMENTS or id in OTHERS, "criterion": id}
        sections.append(_section(f"{number}-{id}", *head, drawn, **more))
        tops.append(Top(id, experiment.title, medians, "hand_over_ns"))
    return sections, tops


@dataclass(frozen=True)
class Top:
    """A section that may lead the page."""

    experiment: str
    title: str
    medians: headline.Medians
    clock: str

    def worth(self) -> tuple[bool, bool, int]:
        """Baton beside others, the comparison of all transports, many of them."""
        beside = headline.fastest_in(self.medians)[0] > 0
        return beside, self.experiment in ("field", "run"), len(self.medians)


def _verdict_sentence(parts: list[Recording | headline.Summary]) -> str:
    rows = [Row.load(row) for part in parts for row in part.verdicts]
    if not rows:
        return ""
    passed, failed = (sum(row.passed is wanted for row in rows) for wanted in (True, False))
    missing = len(rows) - passed - failed
    also = f", and {missing} could not be measured" if missing else ""
    return f" {passed} of {len(rows)} criteria pass, {failed} fail{also}."


def _build_text(build: dict) -> str:
    changed = " with local changes" if build["modified"] else ""
    return f"{build['commit'][:12]}{changed}, {build.get('CMAKE_BUILD_TYPE', 'unknown build')}"


def _refuse_several_machines(recordings: Sequence[tuple[Path, Recording | headline.Summary]]) -> None:
    """A page has one head and one table on top, so it cannot be true for two machines."""
    by_machine: dict[tuple, list[tuple[Path, dict]]] = {}
    for path, part in recordings:
        by_machine.setdefault(machines.key(part.header), []).append((path, part.header))
    if len(by_machine) > 1:
        lines = [f"  {', '.join(str(path) for path, _ in of)}: {machines.text(of[0][1])}" for of in by_machine.values()]
        raise click.ClickException(
            "\n".join(["these recordings are of different machines; make a report of each:", *lines])
        )


def write_report(
    recordings: Sequence[tuple[Path, Recording | headline.Summary]], out: Path, clocks: Sequence[str] = ()
) -> None:
    """`clocks`: columns by which latencies are shown, one after the other; none: each experiment's own. Recordings of several machines are
    refused."""
    _refuse_several_machines(recordings)
    sections, tops, known = [], [], {}
    for number, (_, part) in enumerate(recordings):
        known |= part.header["peers"]
        if isinstance(part, headline.Summary):
            its, leading = _of_summary(part, number)
        else:
            its, leading = _of_recording(part, number, clocks)
        sections += its
        tops += leading
        if part.verdicts:
            sections.append(_verdicts(part, f"{number}-criteria"))
    header = recordings[0][1].header
    commit = " and ".join(dict.fromkeys(_build_text(part.header["build"]) for _, part in recordings))
    peers = report_tables.html_table(
        ["peer", "name", "version", "how it is used"],
        [[id, p["name"], p["version"], p["how"]] for id, p in known.items()],
        text_columns=4,
    )
    sections.sort(key=lambda section: not section["listed"])  # the runs of single criteria come last
    best = max(tops, key=Top.worth, default=Top("", "Which criteria pass?", {}, "hand_over_ns"))
    out.parent.mkdir(parents=True, exist_ok=True)
    made = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(header["started"]))
    sentence = escape(headline.sentence(best.medians)) if tops else ""
    page = PAGE.render(
        baton=colors.BATON,
        title=best.title,
        lead=sentence + _verdict_sentence([part for _, part in recordings]),
        lead_sentence=sentence,
        top=headline.table(best.medians),
        caption=f"Medians over rounds, by size and number of subscribers; {tables.CLOCK_NAMES[best.clock]}. Bars: logarithmic, shorter is faster.",
        machine=machines.text(header),
        commit=commit,
        made=made,
        sections=sections,
        details=[section for section in sections if not section["listed"]],
        peers=peers,
    )
    out.write_text(page, "utf-8")
