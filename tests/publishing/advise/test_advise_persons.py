"""Advice and inspection where persons have several rows: figures are of cases."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import countveil as cv
from countveil.errors import SettingsError
from tests.publishing.test_persons import visits


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return visits()


@pytest.mark.slow
def test_advice_is_about_cases(table: pa.Table) -> None:
    advice = cv.advise(
        table, ["diagnosis"], person="patient", drop="number", groups="random", seed=1
    )
    pairs = zip(table["patient"].to_pylist(), table["diagnosis"].to_pylist(), strict=True)
    cases = Counter(pairs)
    column = advice["diagnosis"]
    assert (column.rows, column.unit, column.sampled_rows) == (len(cases), "cases", len(cases))
    squares = sum(rows**2 for rows in cases.values()) / len(cases)
    larger = math.sqrt(squares) / (table.num_rows / len(cases))
    assert f"larger by a factor of about {larger:.2f}" in column.notes[0]
    assert str(advice).startswith(f"diagnosis: {len(cases):,} cases")


def test_what_is_eligible_depends_on_cases() -> None:
    """One person has most rows, all of one value; among cases it is as frequent as others."""
    table = pa.table({
        "who": ["A"] * 300 + [f"B{n}" for n in range(200)] * 2,
        "what": ["x"] * 300 + ["x", "y", "z", "w"] * 100,
        "sex": ["F", "M"] * 350,
    })  # fmt: skip
    rows = cv.inspect(table, sensitive=["what"], drop="who")
    cases = cv.inspect(table, sensitive=["what"], person="who")

    def largest(found: Any) -> int:
        (column,) = [column for column in found.columns if column.name == "what"]
        return int(column.largest_ell)

    assert largest(rows) == 1
    assert largest(cases) == 3
    advice = cv.advise(table, ["what"], person="who", groups="mixed", seed=1)
    assert [line.ell for line in advice["what"].lines] == [2, 3]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"questions": ["SELECT count(*) FROM release"]}, "questions"),
        ({"odds": 20, "domain": {"ward": [f"W{n}" for n in range(8)]}}, "odds"),
        ({"together": True}, "together"),
    ],
)
def test_what_is_not_tried_out(table: pa.Table, options: dict[str, Any], name: str) -> None:
    columns = ["ward", "diagnosis"] if name == "together" else ["ward"]
    with pytest.raises(SettingsError, match=name):
        cv.advise(table, columns, person="patient", drop="number", **options)
