# SPDX-License-Identifier: Apache-2.0
"""Tables that leave columns out instead of breaking words."""

import io
import re

import pytest
from baton_cli.fitting import Column, fitted, show
from rich.console import Console


def columns():
    return [
        Column("host", least=8, cells=["base", "a_host_of_a_very_long_name"]),
        Column("address", 1, cells=["192.168.100.200", "10.0.0.2"]),
        Column("sent", 2, right=True, cells=["123456", "7"]),
        Column("dropped", least=10, cells=["0", "12 (the line is slow)"]),
    ]


def drawn(width, terminal=True):
    out = io.StringIO()
    show(columns(), Console(file=out, width=width, force_terminal=terminal))
    return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())


def test_the_least_important_columns_are_left_out_first():
    def titles(width):
        return [column.title for column, _ in fitted(columns(), width)]

    assert titles(None) == titles(200) == ["host", "address", "sent", "dropped"]
    assert titles(45) == ["host", "address", "dropped"]
    assert titles(30) == ["host", "dropped"]
    assert titles(5) == ["host", "dropped"], "what always stays"


@pytest.mark.parametrize("width", range(30, 120, 3))
def test_no_number_address_or_heading_is_broken_at_any_width(width):
    text = drawn(width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert len([line for line in lines if line.strip()]) == 4, "a heading, a rule, and a line for each row"
    for column, _ in fitted(columns(), width):
        assert column.title in lines[1]
        if column.least is None:
            assert all(cell in text for cell in column.cells)
    assert "12 (" in text, "the number of a text that is cut stays whole"


def test_names_are_cut_no_more_than_the_width_wants():
    assert "a_host_of_a_ve…" in drawn(30) and "12 (the l…" in drawn(30)
    assert "a_host_of_a_very_long_name" in drawn(90)


def test_a_pipe_gets_every_column_in_full_width():
    text = drawn(20, terminal=False)
    for cell in ("a_host_of_a_very_long_name", "192.168.100.200", "123456", "12 (the line is slow)"):
        assert cell in text
