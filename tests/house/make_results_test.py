# SPDX-License-Identifier: Apache-2.0
"""Tables and picture of the results, from a recording to the page."""

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import make_results
import pytest
from baton_perf import figures, tables
from baton_perf.runs import Cell, size_text

ROOT = Path(__file__).resolve().parents[2]

HEADER = {
    "command": "baton perf accept --rounds 6",
    "machine": {
        "cpu": "A processor",
        "cpus": 2,
        "memory_gb": 23.6,
        "kernel": "6.1",
        "virtual": "kvm",
        "load_before": 0.1,
    },
    "build": {"commit": "0123456789abcdef", "modified": False},
    "peers": {"zeromq": {"name": "ZeroMQ", "version": "4.3", "how": "ipc | PUB"}},
}


def run(peer, variant, cell, latency_us, round=0, experiment="field"):
    samples = {"hand_over_ns": [latency_us * 1000] * 3, "publisher": [0] * 3, "sequence": [1, 2, 3]}
    ends = [
        {"role": "publisher", "sent": 3},
        *({"role": "subscriber", "samples": samples} for _ in range(cell.subscribers)),
    ]
    return {
        "experiment": experiment,
        "peer": peer,
        "variant": variant,
        "round": round,
        "cell": cell.__dict__,
        "processes": ends,
    }


def row(criterion, what, middle, passed, peer="", unit="x", bar="1.05x", detail=""):
    value = None if middle is None else {"middle": middle, "low": middle * 0.9, "high": middle * 1.1, "count": 6}
    return {
        "criterion": criterion,
        "what": what,
        "value": value,
        "unit": unit,
        "bar": bar,
        "passed": passed,
        "detail": detail,
        "peer": peer,
    }


@pytest.fixture
def everything():
    small, large = Cell(bytes=64), Cell(bytes=16 << 20)
    runs = [run("baton", "loan", small, us, n) for n, us in enumerate((5, 9, 6))]
    runs += [run("baton", "loan", large, 29), run("zeromq", "stream", small, 50), run("zeromq", "stream", large, 9000)]
    runs += [run("iceoryx2", "event", small, 8)]
    runs += [{**run("iceoryx2", "event", large, 1), "processes": None, "error": "no sample left"}]
    del runs[-1]["processes"]
    verdicts = [
        row("field-hand-over", "64 B 1-1 / zeromq", 0.123456, True, "zeromq"),
        row("field-hand-over", "16 MB 1-1 / zeromq", 1.2, False, "zeromq"),
        row("field-p99", "64 B 1-1 / zeromq", None, None, "zeromq"),
        row("tzc-100x", "100 times | TCPROS", 0.0105, False, bar="0.01x"),
        row("tzc-no-loss", "nothing is lost", 0.0, True, unit="", bar="0"),
        row("lot-gap", "first to last", None, None, detail="peer bare is not built here"),
    ]
    recording = SimpleNamespace(header=HEADER, runs=runs, verdicts=verdicts, pieces=[])
    summarised = make_results.summarise(recording, figures, tables, size_text)
    return json.loads(json.dumps(summarised))


@pytest.fixture
def summary(everything):
    return make_results.merged([everything])


@pytest.fixture
def field_alone():
    runs = [run("baton", "loan", Cell(bytes=64), 4)]
    header = HEADER | {
        "command": "baton perf accept field",
        "peers": {"lcm": {"name": "LCM", "version": "1", "how": ""}},
    }
    verdicts = [row("field-hand-over", "64 B 1-1 / lcm", 0.5, True, "lcm")]
    return make_results.summarise(
        SimpleNamespace(header=header, runs=runs, verdicts=verdicts, pieces=[]), figures, tables, size_text
    )


def test_a_median_is_that_of_the_rounds_and_a_run_without_result_is_a_dash(summary):
    assert make_results.block("hand-over", summary).splitlines() == [
        "| | 64 B, 1 | 16 MB, 1 |".replace("| |", "|  |", 1),
        "| --- | --- | --- |",
        "| **Baton** | 6 | 29 |",
        "| zeromq | 50 | 9000 |",
        "| iceoryx2, event | 8 | - |",
    ]


def test_the_field_counts_each_criterion_and_names_the_worst_cell(summary):
    assert make_results.block("field", summary).splitlines()[2] == (
        "| zeromq | 1 pass, 1 fail | - | - | 1 not measured | - | 1.2 [1.08, 1.32] at 16 MB 1-1 |"
    )


def test_rows_of_the_field_whose_median_is_above_the_bar_are_listed_worst_first(summary):
    rows = [
        row("field-hand-over", "4 KB 1-1 / zeromq", 1.04, False, "zeromq"),  # only its interval is above
        row("field-p99", "4 KB 1-1 / zeromq", 1.3, False, "zeromq", bar="overlap"),
        row("field-p99", "1 MB 1-1 / zeromq", 1.3, True, "zeromq", bar="overlap"),
    ]
    assert make_results.block("above", summary | {"verdicts": summary["verdicts"] + rows}).splitlines()[2:] == [
        "| p99 | 4 KB 1-1 / zeromq | 1.3 [1.17, 1.43] | overlap |",
        "| hand-over | 16 MB 1-1 / zeromq | 1.2 [1.08, 1.32] | 1.05x |",
    ]
    assert make_results.block("above", summary | {"verdicts": []}) == "No row.\n"


def test_criteria_show_verdict_interval_and_bar_also_where_nothing_was_measured(summary):
    assert make_results.block("criteria tzc", summary).splitlines()[2:] == [
        "| **FAIL** | tzc-100x | 100 times \\| TCPROS | 0.0105 [0.00945, 0.0116] | 0.01x |",
        "| PASS | tzc-no-loss | nothing is lost | 0 [0, 0] | 0 |",
    ]
    assert make_results.block("criteria lot", summary).splitlines()[2:] == [
        "| not measured | lot-gap | first to last | peer bare is not built here | 1.05x |"
    ]
    assert make_results.block("criteria link", summary) == "Not recorded yet: `baton perf accept link`.\n"


def test_the_head_names_machine_commit_and_command(summary):
    assert make_results.block("machine", summary) == (
        "`baton perf accept --rounds 6` of 0123456789ab, on A processor (virtual) with 2 CPUs and 24 GB, Linux 6.1, "
        "load before 0.10: 2 pass, 2 fail, 2 not measured.\n"
    )


def test_a_recording_of_the_field_alone_replaces_the_field_and_nothing_else(everything, field_alone):
    summary = make_results.merged([everything, field_alone])
    assert make_results.block("hand-over", summary).splitlines()[2:] == ["| **Baton** | 4 |"]
    assert "| lcm | 1 pass | - | - | - | - |" in make_results.block("field", summary)
    assert "zeromq | 1 pass" not in make_results.block("field", summary)
    assert "PASS | tzc-no-loss | nothing is lost" in make_results.block("criteria tzc", summary)
    assert [line.split(" | ")[0] for line in make_results.block("versions", summary).splitlines()[2:]] == [
        "| lcm",
        "| zeromq",
    ]


def test_a_replaced_comparison_of_another_machine_stays_beside_the_new_one(everything, field_alone, monkeypatch):
    monkeypatch.setattr(make_results, "IN_README", {"baton": "#0b5fae", "iceoryx2:event": None, "zeromq": None})
    monkeypatch.setattr(make_results, "README_CELLS", ("64 B, 1", "16 MB, 1"))
    field_alone["medians"]["field"] = {"baton": {"64 B, 1": 4}, "iceoryx2:event": {"64 B, 1": 3}, "zeromq": {}}
    same = make_results.merged([everything, field_alone])
    assert same["elsewhere"] == [] and "No other machine" in make_results.block("elsewhere", same)
    assert len(make_results.block("readme", same).splitlines()[0].split("|")) == 5
    machine = HEADER["machine"] | {"cpu": "Another(R) Processor"}
    other = make_results.merged([everything, field_alone | {"header": field_alone["header"] | {"machine": machine}}])
    assert make_results.block("readme", other).splitlines() == [
        "|  | Another: 64 B, 1 | Another: 16 MB, 1 | A processor: 64 B, 1 | A processor: 16 MB, 1 |",
        "| --- | --- | --- | --- | --- |",
        "| **Baton** | 4 | - | 6 | 29 |",
        "| iceoryx2, event | 3 | - | 8 | - |",
        "| zeromq | - | - | 50 | 9000 |",
        "",
        "- Another, faster than Baton: 64 B, 1: iceoryx2, event (3).",
        "- A processor, faster than Baton: none of these.",
    ]
    shown = make_results.block("elsewhere", other)
    assert "on A processor (virtual)" in shown and "1 pass, 1 fail, 1 not measured." in shown
    assert "| zeromq | 50 | 9000 |" in shown and "1.2 [1.08, 1.32] at 16 MB 1-1" in shown


def test_a_recording_without_verdicts_is_refused_by_name(everything):
    make_results.refuse_unjudged("good.gz", everything)
    with pytest.raises(SystemExit, match="half.gz has no verdict"):
        make_results.refuse_unjudged("half.gz", everything | {"verdicts": []})


def test_a_summary_of_which_newer_ones_replace_everything_is_of_no_use(everything, field_alone):
    assert make_results.without_use([everything, field_alone]) == [], "the older one still has tzc and lot"
    assert make_results.without_use([field_alone, everything]) == [field_alone]
    elsewhere = field_alone["header"] | {"machine": HEADER["machine"] | {"cpu": "Another"}}
    assert make_results.without_use([field_alone | {"header": elsewhere}, everything]) == [], "of another machine"


def test_each_recording_counts_the_verdicts_that_are_left_of_it(everything, field_alone):
    first, empty, second = make_results.block("machine", make_results.merged([everything, field_alone])).splitlines()
    assert first.startswith("`baton perf accept --rounds 6` of") and first.endswith(": 1 pass, 1 fail, 2 not measured.")
    assert not empty and second.startswith("`baton perf accept field` of") and second.endswith(": 1 pass.")


def test_only_the_text_between_the_marks_is_replaced(summary):
    page = "Text.\n\n<!-- results: versions -->\nold\n<!-- end of results -->\n\nMore text.\n"
    filled = make_results.filled(page, summary)
    assert filled.startswith("Text.\n\n<!-- results: versions -->\n| peer | name |")
    assert "| zeromq | ZeroMQ | 4.3 | ipc \\| PUB |" in filled and "old" not in filled
    assert filled.endswith("<!-- end of results -->\n\nMore text.\n")
    assert make_results.filled(filled, summary) == filled


def test_a_block_of_an_unknown_name_is_an_error_that_names_it(summary):
    with pytest.raises(SystemExit, match="there is no block 'speed'"):
        make_results.filled("<!-- results: speed -->\n<!-- end of results -->", summary)


def test_a_transport_of_the_readme_that_the_recording_lacks_is_an_error_that_names_it(summary):
    for filling in (lambda: make_results.block("readme", summary), lambda: make_results.draw(summary)):
        with pytest.raises(SystemExit, match="README's table names .*zenoh:shm.*make peers"):
            filling()


def test_the_table_of_the_readme_has_its_transports_in_their_order(summary, monkeypatch):
    monkeypatch.setattr(make_results, "IN_README", {"baton": "#0b5fae", "iceoryx2:event": None, "zeromq": None})
    monkeypatch.setattr(make_results, "README_CELLS", ("64 B, 1", "16 MB, 1"))
    assert [line.split(" | ")[0] for line in make_results.block("readme", summary).splitlines()[2:5]] == [
        "| **Baton**",
        "| iceoryx2, event",
        "| zeromq",
    ]


def test_the_picture_shows_the_transports_of_the_readme_that_have_all_sizes(summary, monkeypatch):
    monkeypatch.setattr(make_results, "IN_README", {"baton": "#0b5fae", "iceoryx2:event": "#4a9a6f", "zeromq": None})
    root = ElementTree.fromstring(make_results.draw(summary))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "Baton" in texts and "64 B" in texts and "16 MB" in texts
    assert "iceoryx2, event" not in texts, "it has no result of 16 MB"
    lines = list(root.iter("{http://www.w3.org/2000/svg}polyline"))
    assert len(lines) == 1


def test_make_docs_marks_the_rows_whose_code_has_changed(tmp_path, monkeypatch, capsys):
    def git(*arguments):
        settings = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(
            ["git", "-C", tmp_path, *settings, *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(text):
        (tmp_path / "core").mkdir(exist_ok=True)
        (tmp_path / "core/a.cpp").write_text(text)
        git("add", "core")
        git("commit", "-q", "-m", "a change")
        return git("rev-parse", "HEAD")

    git("init", "-q")
    header = HEADER | {"build": {"commit": commit("1"), "modified": False}, "started": 1}
    page = tmp_path / make_results.PAPERS
    page.parent.mkdir(parents=True)
    page.write_text("<!-- results: papers numbers -->\n<!-- end of results -->\n")
    verdicts = [row("tzc-100x", "100 times", 0.02, False, bar="0.01x")]
    (page.parent / "results.json").write_text(json.dumps({"header": header, "medians": {}, "verdicts": verdicts}))
    monkeypatch.setattr(make_results, "ROOT", tmp_path)
    make_results.mark()
    assert f"`{header['build']['commit'][:12]}` |" in page.read_text() and capsys.readouterr().out == ""
    commit("2")
    make_results.mark()
    assert f"`{header['build']['commit'][:12]}`, stale |" in page.read_text()
    assert "papers.md: 1 row is marked stale" in capsys.readouterr().out
