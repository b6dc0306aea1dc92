# SPDX-License-Identifier: Apache-2.0
"""`baton perf`: reports and figures."""

from __future__ import annotations

import colorsys
import io
import re
from dataclasses import asdict
from html import escape

import click
import pytest
from baton_perf import (
    figures,
    headline,
    plots,
    recording,
    report,
    report_tables,
    verdicts,
)
from baton_perf import view as view_module
from baton_perf.experiments import EXPERIMENTS
from baton_perf.peers import CHECKOUT
from baton_perf.runs import Cell
from recorded import field_runs, run_of, verdicts_of
from rich.console import Console


def test_the_report_is_one_file_that_shows_every_peer_and_asks_for_nothing_from_elsewhere(tmp_path, two_peers):
    header = {
        "command": "baton perf <x>",
        "started": 0,
        "machine": recording.machine(),
        "build": recording.build(),
        "peers": {
            "baton": {"name": "Baton", "version": "1", "how": "loans"},
            "slow": {"name": "s", "version": "", "how": ""},
        },
    }
    runs = field_runs(10, 100, rounds=2) + [run_of([], sent=3, peer="dead") | {"error": "it <died>"}]
    out = tmp_path / "report.html"
    report.write_report([(tmp_path / "r", recording.Recording(header, runs))], out)
    page = out.read_text()
    assert page.count("<svg") >= 2 and "slow" in page and "1 without result" in page
    assert "baton perf &lt;x&gt;" in page and "it <died>" not in page
    assert 'src="http' not in page and 'href="http' not in page


def test_the_page_of_an_acceptance_shows_its_verdicts_as_the_terminal_does(tmp_path, two_peers):
    header = {
        "command": "baton perf accept",
        "started": 0,
        "machine": recording.machine(),
        "build": recording.build(),
        "peers": {},
    }
    rows = verdicts_of(field_runs(100, 10)) + [
        verdicts.Row("lot-flat", "flat", figures.Interval(1, 1, 1, 6), "x", "1.1x", True)
    ]
    made = recording.Recording(header, field_runs(100, 10), [asdict(row) for row in rows])
    report.write_report([(tmp_path / "r", made)], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    output = io.StringIO()
    verdicts.show(rows, Console(file=output, width=200), brief=False)
    assert verdicts.count(rows) in page and verdicts.count(rows) in output.getvalue()
    failed = [line for line in output.getvalue().splitlines() if line.split()[:1] == ["FAIL"]]
    assert page.count(">FAIL<") == len(failed) == len(rows) - 1
    for row in rows:
        assert row.measured() in page and row.measured() in output.getvalue()


def view_of(runs, id="field") -> report.View:
    return report.View(EXPERIMENTS[id], runs)


def test_cpu_bars_draw_pinned_and_unpinned_runs_apart_with_baton_on_top():
    cells = [Cell(bytes=b << 20, pinned=p) for b in (1, 4) for p in (False, True)]
    drawn = plots.cpu_bars(view_of([run_of([5], peer=name, cell=c) for c in cells for name in ("baton", "tcp")]))
    assert len(drawn) == 4
    assert sorted("not pinned" in text for text in drawn) == [False, False, True, True]
    for text in drawn:  # SVG's y grows downward
        height = {name: float(re.search(rf'y="([\d.]+)"[^>]*>{name}[:<]', text)[1]) for name in ("baton", "tcp")}
        assert height["baton"] < height["tcp"]


def test_many_peers_stand_by_name_in_a_box_plot_of_their_own_rows_the_fastest_on_top():
    _, drawn = plots.boxes_over_size(view_of([run_of([2 + n, 3 + n], peer=f"peer{20 - n}") for n in range(20)]))
    heights = [float(re.search(rf'y="([\d.]+)"[^>]*>peer{20 - n}[:<]', drawn)[1]) for n in range(20)]
    assert heights == sorted(heights)


def test_lines_of_one_color_differ_in_their_stroke():
    view = view_of([run_of([5], peer=f"peer{n:02}") for n in range(40)])
    assert len({(view.color(name), view.stroke(name)) for name in view.names}) == 40


def test_the_lines_that_a_plot_names_have_colors_of_their_own():
    runs = [
        run_of([n], peer="baton" if n == 1 else f"peer{n:02}", cell=Cell(bytes=b))
        for n in range(1, 30)
        for b in (64, 128)
    ]
    view = view_of(runs)
    assert len({view.color(name) for name in view.named()}) == len(view.named()) == 9
    (drawn,) = plots.lines_over_size(view)
    assert all(f">{name}<" in drawn or f"{name} -->" in drawn for name in view.named())
    assert "20 others: in the tables" in drawn and "peer29" not in drawn


def test_of_a_peer_with_many_variants_a_plot_of_lines_names_the_fastest():
    runs = [run_of([9], peer="baton")] + [run_of([20 - n], peer="dds") | {"variant": f"v{n}"} for n in range(12)]
    assert view_of(runs).named() == ["baton", "dds:v11"]


def hue_and_saturation(color: str) -> tuple[float, float]:
    red, green, blue = (int(color[n : n + 2], 16) / 255 for n in (1, 3, 5))
    hue, _, saturation = colorsys.rgb_to_hls(red, green, blue)
    return 360 * hue, saturation


def test_no_peer_is_drawn_in_a_red_or_a_green_which_would_say_bad_or_good():
    for color in (view_module.FIRST_COLOR, *view_module.COLORS):
        hue, saturation = hue_and_saturation(color)
        assert saturation < 0.2 or not (hue < 20 or hue > 340 or 75 < hue < 165), color


def test_plots_take_the_colors_of_text_from_the_page_so_that_they_can_be_read_in_the_dark():
    for drawn in (plots.lines_over_size, plots.cpu_bars):
        text = "".join(drawn(view_of([run_of([5], cell=Cell(bytes=b)) for b in (64, 128)])))
        assert "currentColor" in text and "var(--own)" in text
        assert plots.INK not in text and "#ffffff" not in text and "#000000" not in text


def test_cells_of_one_size_get_no_line_over_sizes_and_titles_name_only_differences():
    one = view_of([run_of([5, 6])])
    assert plots.lines_over_size(one) == []
    assert all("plain" not in t and "pinned" not in t for t in plots.boxes_over_size(one))
    two = view_of([run_of([5, 6], cell=Cell(load=x)) for x in (0.0, 0.9)])
    assert ["load 0%" in t for t in plots.boxes_over_size(two)[1:]] == [True, False]


def test_the_trosb_page_begins_with_costs_beside_batons_and_its_usage_has_words_and_units():
    runs = [
        run_of([10], cell=Cell(message="Array4m")),
        run_of([250], peer="ros", cell=Cell(message="Array4m"), cpu_us=900),
    ]
    first = report.drawing(EXPERIMENTS["trosb"].figures[0])(view_of(runs, "trosb"))[0]
    assert "250.0 (25x)" in first and "1800 (9x)" in first
    usage = report_tables.usage_table(view_of(runs, "trosb"))[0]
    assert "user CPU, ms" in usage and "_us" not in usage and "_kb" not in usage


def test_usage_has_a_row_for_each_role_of_each_peer_with_medians_over_rounds():
    runs = [run_of([10], peer=name, round=r, cpu_us=1000 * (r + 1)) for name in ("baton", "slow") for r in range(3)]
    for run in runs:
        run["processes"][0]["usage"] = run["processes"][0]["usage"] | {"utime_us": 7000}
    (usage,) = report_tables.usage_table(view_of(runs))
    for role, ms in (("publisher", "7.0"), ("subscriber", "2.0")):
        for peer in ("baton", "slow:v"):
            assert f'<td class="text">{peer}</td><td class="text">each {role}</td><td>{ms}</td>' in usage
    assert usage.count("<tr>") == 1 + 4


def test_lots_table_1_names_the_columns_that_are_not_measured_and_why():
    (table,) = report_tables.lot_table1(view_of([run_of([10], cpu_us=1_500_000)], "lot-table1"))
    assert "spin time" in table and table.count("not measured") == 2 and "<td>3.00</td>" in table
    assert "VTune" in EXPERIMENTS["lot-table1"].note and "spin time" in EXPERIMENTS["lot-table1"].note


def test_every_page_says_how_far_the_rounds_lie_apart(tmp_path):
    for id in EXPERIMENTS:
        cell = EXPERIMENTS[id].cells("quick")[0]
        runs = [run_of([10 + 5 * r] * 3, round=r, cell=cell) | {"experiment": id} for r in range(2)]
        for run in runs:
            run["timeline"] = [{"t": t / 10, "cpu_ns": [t * 1000, t * 500]} for t in range(5)]
            for column in ("round_trip_ns", "construct_round_trip_ns"):
                run["processes"][0]["samples"][column] = run["processes"][1]["samples"]["hand_over_ns"]
        header = {"command": "", "started": 0, "machine": recording.machine(), "build": recording.build(), "peers": {}}
        out = tmp_path / "report.html"
        report.write_report([(tmp_path / "r", recording.Recording(header, runs))], out)
        assert "<td>10.0</td><td>12.5</td><td>15.0</td><td>1.50</td>" in out.read_text(), id


@pytest.mark.parametrize("id", [e for e in EXPERIMENTS])
def test_every_experiments_figures_can_be_drawn(tmp_path, id):
    runs = []
    for cell in EXPERIMENTS[id].cells("quick"):
        for name in ("baton", "other"):
            run = run_of([10, 12, 11], peer=name, cell=cell) | {"experiment": id}
            run["timeline"] = [{"t": t / 10, "cpu_ns": [t * 1000, t * 500]} for t in range(5)]
            for column in ("round_trip_ns", "construct_round_trip_ns"):
                run["processes"][0]["samples"][column] = [20_000, 21_000]
            runs.append(run)
    view = report.View(EXPERIMENTS[id], runs)
    assert EXPERIMENTS[id].title.endswith("?")
    for figure in EXPERIMENTS[id].figures:
        assert all(text.startswith(("<svg", "<p>", "<div", "<details")) for text in report.drawing(figure)(view))


def page_of(tmp_path, recordings) -> str:
    report.write_report([(tmp_path / str(n), part) for n, part in enumerate(recordings)], tmp_path / "report.html")
    return (tmp_path / "report.html").read_text()


def header_of(command="baton perf run") -> dict:
    return {"command": command, "started": 0, "machine": recording.machine(), "build": recording.build(), "peers": {}}


def test_the_page_begins_with_the_question_the_answer_and_one_table_before_anything_else(tmp_path):
    page = page_of(tmp_path, [recording.Recording(header_of(), field_runs(10, 100, rounds=2))])
    heading, lead, top = page.index("<h1>"), page.index('<p class="lead">'), page.index('<table class="top">')
    assert heading < lead < top < page.index("<nav>") < page.index("<h2") and page.count('class="top"') == 1
    answer = escape(headline.sentence(headline.medians_of(field_runs(10, 100, rounds=2), "hand_over_ns")))
    assert page.count(answer) == 1, "said on top, and not once more in its section"
    assert EXPERIMENTS["field"].title in page[heading:lead]


def test_every_heading_is_a_question_with_its_source_below_and_the_contents_lead_to_it(tmp_path):
    runs = field_runs(10, 100, rounds=1)
    runs += [run | {"experiment": "lot-fig6"} for run in runs]
    page = page_of(tmp_path, [recording.Recording(header_of(), runs)])
    headings = re.findall(r'<h2 id="([^"]+)">([^<]+)</h2>\n<p class="from">([^<]+)</p>', page)
    assert [source for _, _, source in headings[:2]] == ["the field", "LOT, Fig. 6a-c"]
    for id, title, _ in headings:
        assert title.endswith("?") and f'href="#{id}">{title}</a>' in page


def test_the_runs_of_single_criteria_come_last_and_share_one_line_of_the_contents(tmp_path):
    runs = [run | {"experiment": "lot-flat"} for run in field_runs(10, 100, rounds=1)] + field_runs(10, 100, rounds=1)
    page = page_of(tmp_path, [recording.Recording(header_of(), runs)])
    contents = page[page.index("<nav>") : page.index("</nav>")]
    assert contents.count("<li>") == 3 and ">lot-flat</a>" in contents
    assert page.index('<h2 id="0-field">') < page.index('<h2 id="0-lot-flat">')


def test_the_checked_in_summary_makes_a_page_with_the_sentence_the_table_and_the_verdicts(tmp_path):
    summary = headline.load(CHECKOUT / "docs" / "results" / "results.json")
    page = page_of(tmp_path, [summary])
    field = summary.medians["field"]
    assert escape(headline.sentence(field)) in page and page.count('<table class="top">') == 1
    passed = sum(row["passed"] is True for row in summary.verdicts)
    assert f"{passed} of {len(summary.verdicts)} criteria pass" in page
    for peer in field:
        assert peer.partition(":")[0] in page


def test_rows_that_pass_are_folded_away_and_rows_that_fail_are_not():
    rows = [verdicts.Row("a", "good", None, "", "", True), verdicts.Row("b", "poor", None, "", "", False)]
    drawn = report_tables.verdict_table(rows)
    assert re.findall(r"<details( open)?><summary>([^<]+)</summary>", drawn) == [
        (" open", "Single criteria: the 1 that fail"),
        ("", "Single criteria: the 1 that pass"),
    ]


def test_recordings_of_two_machines_make_no_page_and_are_named(tmp_path):
    header = header_of()
    busier = header | {"machine": header["machine"] | {"load_before": 3.0}}
    runs = field_runs(10, 100, rounds=1)
    page_of(tmp_path, [recording.Recording(header, runs), recording.Recording(busier, runs)])
    elsewhere = header | {"machine": header["machine"] | {"cpu": "another one"}}
    with pytest.raises(click.ClickException, match=r"(?s)different machines.*/0: .*/1: another one"):
        page_of(tmp_path, [recording.Recording(header, runs), recording.Recording(elsewhere, runs)])


def test_a_page_of_two_builds_names_both(tmp_path):
    headers = [header_of() | {"build": {"commit": commit, "modified": False}} for commit in ("a" * 40, "b" * 40)]
    page = page_of(tmp_path, [recording.Recording(header, field_runs(10, 100, rounds=1)) for header in headers])
    assert f"{'a' * 12}, unknown build and {'b' * 12}, unknown build" in page
