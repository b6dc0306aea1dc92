#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills the numbers of the documents from recordings of `baton perf` (`make results`).

make_results.py RECORDING   summarises the recording in docs/results/recorded, then does the same as without an argument:
make_results.py             fills the tables and draws the picture from the summaries
make_results.py --marks     only marks the rows of papers.md whose code has changed since their recording (`make docs`)

A recording NAME.jsonl.gz becomes recorded/NAME.json. Its experiments and criteria take the place of those in older summaries; a summary of which
nothing is left is removed.

A table stands between `<!-- results: NAME -->` and `<!-- end of results -->`; the text around the tables is written by hand. No number
of a table is typed in: tests/house/documents_match_test.py compares the documents with the summaries.
"""

import json
import math
import re
import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lab"))
from baton_perf import colors, machines, papers_page, quiet, results  # noqa: E402  (a checkout's, installed or not)
from baton_perf.significant import digits  # noqa: E402

RECORDED = "docs/results/recorded"
PICTURE = "docs/results/hand-over.svg"
PAPERS = "docs/results/papers.md"
PAGES = ("README.md", "docs/results/measured.md", "docs/results/ros1.md", PAPERS)
FIELD = "field"
ROS2 = {"C++": ("ros2", "ros2-large-data"), "Python": ("ros2-python", "ros2-python-large-data")}
FIELD_CRITERIA = {
    "field-hand-over": "hand-over",
    "field-fill": "with fill",
    "field-cpu": "CPU, 1 MB and above",
    "field-p99": "p99",
    "field-spin": "hand-over to a poll",
}
OWN = "baton"
IN_README = {  # peer: line colour of the picture, or None: in the table only
    OWN: colors.BATON,
    "tzc:unix": None,
    "iceoryx": None,
    "iceoryx2:event": "#4a9a6f",
    "zenoh:shm": "#8a63b8",
    "fastdds:data_sharing": "#c08a1e",
    "serialized_shm:ring": None,
    "unix_socket": "#7a7a7a",
    "roscpp:tcpros": "#b8554b",
    "ros2:default": "#5b4a42",
}
README_CELLS = ("64 B, 1", "1 MB, 1", "16 MB, 1", "4 MB, 8")
BLOCK = re.compile(r"(<!-- results: ([\w +-]+) -->\n).*?(<!-- end of results -->)", re.DOTALL)


# --- from a recording to a summary ---


def summarise(recording, figures, tables, size_text) -> dict:
    """Medians over rounds of the hand-over in microseconds, by experiment, peer and cell, and all verdicts."""
    rounds: dict = {}
    for run in recording.runs:
        value = figures.metric(run, "hand_over")
        if value is None:
            continue
        cell = tables.cell_of(run)
        column = f"{size_text(cell.bytes)}, {cell.subscribers}"
        peers = rounds.setdefault(run["experiment"], {})
        peers.setdefault(tables.name_of(run), {}).setdefault(column, []).append(value / 1000)
    medians = {
        experiment: {peer: {cell: median(values) for cell, values in cells.items()} for peer, cells in peers.items()}
        for experiment, peers in rounds.items()
    }
    header = recording.header | {"pieces": recording.pieces}
    return {"header": header, "medians": medians, "verdicts": recording.verdicts}


def refuse_unjudged(recording: str, summary: dict) -> None:
    """A recording that has not come to its end has no verdicts yet."""
    if not summary["verdicts"]:
        raise SystemExit(
            f"make_results: {recording} has no verdict; nothing is changed. Go on with it: `baton perf accept --resume`, or `make results`"
        )


def without_use(summaries: list[dict]) -> list[dict]:
    """Those of which newer ones replace all criteria and experiments, but for comparisons with other transports on another machine."""
    found, criteria, experiments, headers = [], set(), set(), []
    for summary in reversed(summaries):
        its = {row["criterion"] for row in summary["verdicts"]}
        alone = FIELD in summary["medians"] and is_elsewhere(summary, headers)
        if its <= criteria and summary["medians"].keys() <= experiments and not alone:
            found.append(summary)
        criteria |= its
        experiments |= summary["medians"].keys()
        headers.append((summary["header"], []))
    return found


def merged(summaries: list[dict]) -> dict:
    """All summaries as one. A later one replaces the experiments and criteria that it has; `headers` are those of the summaries, each with
    the verdicts that are left of it. `elsewhere` has the replaced comparisons with other transports that come from other machines: a
    machine can say the opposite of another one, so no page shows the newest alone."""
    medians: dict = {}
    peers: dict = {}
    headers, elsewhere = [], []
    replaced: set[str] = set()
    for summary in reversed(summaries):
        if FIELD in medians and FIELD in summary["medians"] and is_elsewhere(summary, headers):
            elsewhere.append((summary["header"], summary["medians"][FIELD], summary["verdicts"]))
        rows = [row for row in summary["verdicts"] if row["criterion"] not in replaced]
        replaced |= {row["criterion"] for row in rows}
        headers.insert(0, (summary["header"], rows))
        medians = summary["medians"] | medians
        peers = summary["header"]["peers"] | peers
    verdicts = [row for _, rows in headers for row in rows]
    latest = results.latest(summaries)
    return {
        "headers": headers, "peers": peers, "medians": medians, "verdicts": verdicts, "elsewhere": elsewhere, "latest": latest
    }  # fmt: skip


def is_elsewhere(summary: dict, headers: list) -> bool:
    """Whether no recording with these headers is of this summary's machine."""
    return machines.key(summary["header"]) not in [machines.key(header) for header, _ in headers]


def load() -> dict:
    """The summaries that docs/results has."""
    return merged(results.load(ROOT))


# --- from a summary to tables ---


def number(microseconds: float) -> str:
    return f"{microseconds:.0f}"


def label(peer: str) -> str:
    return f"**{peer.capitalize()}**" if peer == OWN else peer.replace(":", ", ")


def markdown(head, rows) -> str:
    lines = [list(head), ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def size_of(cell: str) -> int:
    count, unit = cell.partition(",")[0].split()
    return int(float(count) * {"B": 1, "KB": 1 << 10, "MB": 1 << 20}[unit])


def cells_of(peers: dict) -> list[str]:
    found = {cell for cells in peers.values() for cell in cells}
    return sorted(found, key=lambda cell: (size_of(cell), int(cell.rpartition(", ")[2])))


def of_readme(peers: dict) -> dict:
    """The rows of README's table. A transport that the recording lacks is an error: its row would vanish without a word."""
    absent = [peer for peer in IN_README if peer not in peers]
    if absent:
        raise SystemExit(
            f"make_results: README's table names {', '.join(absent)}, but the recording has no result of the experiment '{FIELD}' for "
            "them: build them (make peers) and record again, or take them out of IN_README in scripts/make_results.py"
        )
    return {peer: peers[peer] for peer in IN_README}


def short_name(header: dict) -> str:
    """The name of a machine's processor, without the words that every name has."""
    return re.sub(r"\(R\)|\(TM\)| Processor| CPU", "", header["machine"]["cpu"]).strip()


def readme_block(summary: dict) -> str:
    """The transports of README on every machine, and where others are faster."""
    header = next(
        h for h, rows in reversed(summary["headers"]) if any(row["criterion"] in FIELD_CRITERIA for row in rows)
    )
    shown = [(short_name(header), of_readme(summary["medians"].get(FIELD, {})))]
    for other, medians, _ in summary["elsewhere"]:
        shown.append((short_name(other), {peer: medians.get(peer, {}) for peer in IN_README}))
    head = [cell if len(shown) == 1 else f"{name}: {cell}" for name, _ in shown for cell in README_CELLS]
    rows = [
        [label(peer), *(number(of[peer][c]) if c in of[peer] else "-" for _, of in shown for c in README_CELLS)]
        for peer in IN_README
    ]
    return markdown(["", *head], rows) + "\n" + "\n".join(faster(name, of) for name, of in shown) + "\n"


def faster(name: str, peers: dict) -> str:
    """A point of a list: the cells of README in which Baton is not the fastest."""
    cells = []
    for cell in README_CELLS:
        own = peers[OWN].get(cell, math.inf)
        better = sorted((of[cell], label(peer)) for peer, of in peers.items() if of.get(cell, math.inf) < own)
        if better:
            cells.append(f"{cell}: " + ", ".join(f"{peer} ({number(value)})" for value, peer in better))
    return f"- {name}, faster than Baton: " + ("; ".join(cells) if cells else "none of these") + "."


def elsewhere_block(summary: dict) -> str:
    """The comparisons of other machines, each with its head, its medians and its counts."""
    parts = []
    for header, medians, verdicts in summary["elsewhere"]:
        rows = [row for row in verdicts if row["criterion"] in FIELD_CRITERIA]
        parts.append(head_of(header, rows) + "\n" + medians_table(medians, cells_of(medians)))
        parts.append(field_block({"verdicts": rows}))
    return "\n".join(parts) or "No other machine.\n"


def medians_table(peers: dict, columns, order=None) -> str:
    """Baton first, then by the time of the largest message; a peer without a result in a cell has a dash there."""

    def slowest(peer):
        return (peer != OWN, peers[peer].get(columns[-1], math.inf), peer)

    names = order or sorted(peers, key=slowest)
    rows = [[label(peer)] + [number(peers[peer][c]) if c in peers[peer] else "-" for c in columns] for peer in names]
    return markdown(["", *columns], rows)


def verdict(row: dict) -> str:
    return {True: "PASS", False: "**FAIL**", None: "not measured"}[row["passed"]]


def interval(row: dict) -> str:
    value = row["value"]
    if value is None:
        return row["detail"] or "-"
    middle, low, high = (digits(value[key]) for key in ("middle", "low", "high"))
    return f"{middle} [{low}, {high}]{row['unit'].replace('x', '')}"


def counted(rows) -> str:
    numbers = [sum(row["passed"] is wanted for row in rows) for wanted in (True, False, None)]
    words = [f"{n} {word}" for n, word in zip(numbers, ("pass", "fail", "not measured"), strict=True) if n]
    return ", ".join(words)


def single_rows(summary: dict, prefix: str) -> list[dict]:
    return [row for row in summary["verdicts"] if not row["peer"] and row["criterion"].startswith(prefix)]


def head_block(summary: dict) -> str:
    """A sentence for each recording, a paragraph each."""
    return "\n".join(head_of(header, rows) for header, rows in summary["headers"])


def head_of(header: dict, rows: list[dict]) -> str:
    machine, build = header["machine"], header["build"]
    changed = " with local changes" if build["modified"] else ""
    virtual = " (virtual)" if machine["virtual"] else ""
    return (
        f"`{header['command']}` of {build['commit'][:12]}{changed}, on {machine['cpu']}{virtual} with {machine['cpus']} CPUs and "
        f"{machine['memory_gb']:.0f} GB, Linux {machine['kernel']}, load before {machine['load_before']:.2f}"
        f"{quiet_words(header)}: {counted(rows)}.\n"
    )


def quiet_words(header: dict) -> str:
    sentence = quiet.sentence(header.get("pieces", []))
    return f", {sentence}" if sentence else ""


def field_block(summary: dict) -> str:
    rows = [row for row in summary["verdicts"] if row["criterion"] in FIELD_CRITERIA]
    peers = list(dict.fromkeys(row["peer"] for row in rows if row["peer"]))
    table = []
    for peer in peers:
        its = [row for row in rows if row["peer"] == peer]
        measured = [row for row in its if row["criterion"] == "field-hand-over" and row["value"]]
        worst = max(measured, key=lambda row: row["value"]["middle"], default=None)
        where = f"{interval(worst)} at {worst['what'].partition(' / ')[0]}" if worst else "-"
        cells = [counted([row for row in its if row["criterion"] == criterion]) or "-" for criterion in FIELD_CRITERIA]
        failed = sum(row["passed"] is False for row in its)
        table.append((failed, [peer, *cells, where]))
    table.sort(key=lambda entry: -entry[0])
    return markdown(["transport", *FIELD_CRITERIA.values(), "worst hand-over"], [row for _, row in table])


def above_block(summary: dict) -> str:
    """The rows of the field whose median is above the bar; those with overlapping intervals as the bar, if they fail. Worst first."""

    def is_above(row: dict) -> bool:
        ratio = re.fullmatch(r"([\d.]+)x", row["bar"])
        return row["passed"] is False and (not ratio or row["value"]["middle"] > float(ratio[1]))

    rows = [row for row in summary["verdicts"] if row["criterion"] in FIELD_CRITERIA and row["value"] and is_above(row)]
    rows.sort(key=lambda row: -row["value"]["middle"])
    table = [[FIELD_CRITERIA[row["criterion"]], row["what"], interval(row), row["bar"]] for row in rows]
    return markdown(["", "row", "median [95 %]", "bar"], table) if table else "No row.\n"


def criteria_block(summary: dict, prefix: str) -> str:
    rows = single_rows(summary, prefix)
    if not rows:
        return f"Not recorded yet: `baton perf accept {prefix}`.\n"
    table = [[verdict(row), row["criterion"], row["what"], interval(row), row["bar"] or "-"] for row in rows]
    return markdown(["", "criterion", "what", "median [95 %]", "bar"], table)


def peers_block(summary: dict, prefix: str) -> str:
    """The comparisons with peers of the criteria that begin so, a row for each criterion and peer."""
    rows = [row for row in summary["verdicts"] if row["peer"] and row["criterion"].startswith(prefix)]
    table = []
    for criterion, peer in dict.fromkeys((row["criterion"], row["peer"]) for row in rows):
        its = [row for row in rows if (row["criterion"], row["peer"]) == (criterion, peer)]
        worst = max((row for row in its if row["value"]), key=lambda row: row["value"]["middle"], default=None)
        where = f"{interval(worst)} at {worst['what'].partition(' / ')[0]}" if worst else "-"
        table.append([criterion, peer, counted(its), where])
    return markdown(["criterion", "beside", "cells", "worst"], table)


def ros2_block(summary: dict, language: str) -> str:
    peers: dict = {}
    for experiment in ROS2[language]:
        for peer, cells in summary["medians"].get(experiment, {}).items():
            peers.setdefault(peer, {}).update(cells)
    return medians_table(peers, cells_of(peers), sorted(peers))


def versions_block(summary: dict) -> str:
    return markdown(
        ["peer", "name", "version", "use"],
        [[peer, p["name"], p["version"], p["how"]] for peer, p in sorted(summary["peers"].items())],
    )


def papers_block(what: str, summary: dict) -> str:
    latest = summary["latest"]
    if what == "numbers":
        return papers_page.counted(latest) + "\n" + papers_page.numbers_table(latest, results.History(ROOT))
    if what == "figures":
        return papers_page.figures_table()
    if what == "unrecorded":
        return papers_page.unrecorded_list(latest)
    raise SystemExit(f"make_results: there is no block 'papers {what}'")


def block(name: str, summary: dict) -> str:
    field = summary["medians"].get(FIELD, {})
    kind, _, argument = name.partition(" ")
    if kind == "machine":
        return head_block(summary)
    if kind == "field":
        return field_block(summary)
    if kind == "above":
        return above_block(summary)
    if kind == "hand-over":
        return medians_table(field, cells_of(field))
    if kind == "readme":
        return readme_block(summary)
    if kind == "elsewhere":
        return elsewhere_block(summary)
    if kind == "criteria":
        return criteria_block(summary, argument)
    if kind == "peers":
        return peers_block(summary, argument)
    if kind == "ros2":
        return ros2_block(summary, argument)
    if kind == "versions":
        return versions_block(summary)
    if kind == "papers":
        return papers_block(argument, summary)
    raise SystemExit(f"make_results: there is no block '{name}'")


def filled(page: str, summary: dict) -> str:
    return BLOCK.sub(lambda found: found[1] + block(found[2], summary) + found[3], page)


# --- the picture ---

WIDTH, HEIGHT = 760, 380
LEFT, RIGHT, TOP, BOTTOM = 70, 580, 50, 330
LOWEST, HIGHEST = 1, 100_000  # microseconds


def height_of(microseconds):
    share = math.log(microseconds / LOWEST) / math.log(HIGHEST / LOWEST)
    return round(BOTTOM - share * (BOTTOM - TOP), 1)


def labels_at(heights, distance):
    """The heights, from the lowest place of the page to the highest, each moved up until it keeps the distance from the one before."""
    moved = []
    for height in heights:
        moved.append(min(height, moved[-1] - distance) if moved else height)
    return moved


def draw(summary: dict) -> str:
    field = summary["medians"].get(FIELD, {})
    cells = [cell for cell in cells_of(field) if cell.endswith(", 1")]
    shown = {
        peer: colour
        for peer, colour in IN_README.items()
        if colour and all(cell in of_readme(field)[peer] for cell in cells)
    }
    places = [round(LEFT + i * (RIGHT - LEFT) / max(1, len(cells) - 1), 1) for i in range(len(cells))]
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="26" font-size="15">Median hand-over to one sleeping subscriber, microseconds</text>',
    ]
    for power in range(int(math.log10(HIGHEST / LOWEST)) + 1):
        value = LOWEST * 10**power
        y = height_of(value)
        out.append(f'<path d="M{LEFT} {y}H{RIGHT}" stroke="#e2e2e2"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end" fill="#555555">{value:,}</text>')
    for x, cell in zip(places, cells, strict=True):
        size = cell.removesuffix(", 1")
        out.append(f'<text x="{x}" y="{BOTTOM + 22}" text-anchor="middle" fill="#555555">{size}</text>')
    out.append(
        f'<text x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 42}" text-anchor="middle" fill="#555555">message size</text>'
    )
    ends = sorted(shown, key=lambda peer: field[peer][cells[-1]])
    labels = dict(zip(ends, labels_at([height_of(field[peer][cells[-1]]) for peer in ends], 17), strict=True))
    for peer, colour in shown.items():
        points = [(x, height_of(field[peer][cell])) for x, cell in zip(places, cells, strict=True)]
        line = " ".join(f"{x},{y}" for x, y in points)
        bold = 3 if peer == OWN else 1.6
        weight = ' font-weight="bold"' if peer == OWN else ""
        name = label(peer).strip("*")
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="{bold}"/>')
        out += [f'<circle cx="{x}" cy="{y}" r="{bold}" fill="{colour}"/>' for x, y in points]
        out.append(f'<text x="{RIGHT + 10}" y="{labels[peer] + 4}" fill="{colour}"{weight}>{name}</text>')
    return "\n".join([*out, "</svg>", ""])


def add(recording: Path) -> None:
    """Summarises a recording, and removes the summaries that are of no use any more."""
    from baton_perf import figures, tables
    from baton_perf.recording import Recording
    from baton_perf.runs import size_text

    recorded = summarise(Recording.load(recording), figures, tables, size_text)
    refuse_unjudged(str(recording), recorded)
    file = ROOT / RECORDED / f"{recording.name.partition('.')[0]}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")
    useless = without_use(results.load(ROOT))
    for old in results.files_of(ROOT):
        if json.loads(old.read_text()) in useless:
            old.unlink()


def mark() -> None:
    """Marks the rows of papers.md, and says how many are marked."""
    path = ROOT / PAPERS
    text = filled(path.read_text(), load())
    path.write_text(text)
    why = {
        "stale": "the code has changed since the recording",
        "unknown": "this clone does not have the commit of the recording",
    }
    for state, count in papers_page.marks(text).items():
        if count:
            print(f"{PAPERS}: {count} {'row is' if count == 1 else 'rows are'} marked {state}: {why[state]}")


def main() -> None:
    arguments = sys.argv[1:]
    if arguments == ["--marks"]:
        mark()
        return
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        raise SystemExit(__doc__)
    for argument in arguments:
        add(Path(argument))
    summary = load()
    for page in PAGES:
        path = ROOT / page
        path.write_text(filled(path.read_text(), summary))
    (ROOT / PICTURE).write_text(draw(summary))


if __name__ == "__main__":
    main()
