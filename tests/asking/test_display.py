"""Tables for people: what fits is laid out as Rich lays it out, without Rich."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil import display

VALUES = st.one_of(
    st.text(string.printable, max_size=12),
    st.text("aé漢\u202e", max_size=3),
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False),
    st.none(),
    st.booleans(),
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[Any]]]:
    n_columns = draw(st.integers(1, 4))
    names = draw(st.lists(st.text(max_size=8), min_size=n_columns, max_size=n_columns))
    row = st.lists(VALUES, min_size=n_columns, max_size=n_columns)
    return names, draw(st.lists(row, max_size=4))


@pytest.mark.slow
@given(
    table=tables(),
    width=st.integers(20, 100),
    most=st.none() | st.integers(3, 20),
)
def test_both_ways_lay_out_the_same(
    table: tuple[list[str], list[list[Any]]], width: int, most: int | None
) -> None:
    columns, rows = table
    widths = None if most is None else [most, *[None] * (len(columns) - 1)]
    lines = [list(map(display._cell, line)) for line in (columns, *rows)]
    right = [any(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))]
    text = display.text_table(columns, rows, width=width, widths=widths)
    assert text == display._folded_table(lines, right, width, widths)


def test_the_width_is_that_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    row = ["word " * 20]
    monkeypatch.setenv("COLUMNS", "40")
    assert max(map(len, display.text_table(["text"], [row]).splitlines())) <= 40
    monkeypatch.setenv("COLUMNS", "140")
    assert "word " * 19 in display.text_table(["text"], [row])


def test_a_long_table_is_not_folded() -> None:
    """To fold a hundred thousand rows takes minutes, after the answer is known."""
    rows = [[f"{'word ' * 20}{number}", "漢" * (number % 3), number] for number in range(1_001)]
    shown = display.text_table(["text", "wide", "number"], rows, width=40).splitlines()
    folded = display.text_table(["text", "wide", "number"], rows[:1_000], width=40)
    assert len(folded.splitlines()) > 2_000
    assert len(shown) == 3 + len(rows) + 1
    # Numbers end in one column: the wide characters take two each.
    assert {len(line) + line.count("漢") for line in shown[3:-1]} == {len(shown[1])}
