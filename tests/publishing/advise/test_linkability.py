"""Small combinations of plain values: counted by hand, and with each remedy."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import countveil as cv
from countveil.publishing.advise.inspecting.linkability import Linkability, find_linkability
from countveil.publishing.prepare import open_table, recode
from countveil.tables import table_options

K = 5


def people(rows: int = 600) -> pa.Table:
    rng = np.random.default_rng(8)
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(n)) for n in rng.integers(0, 700, rows)]
    return pa.table({
        "age": rng.integers(18, 80, rows).tolist(),
        "day": days,
        "town": rng.choice([f"{n:04d}" for n in range(60)], rows).tolist(),
        "sex": rng.choice(["F", "M"], rows).tolist(),
        "job": rng.choice(["nurse", "cook", "clerk"], rows).tolist(),
    })  # fmt: skip


def measured(table: pa.Table, plain: list[str], **options: Any) -> Linkability:
    reading, shaping = table_options(**options)
    source = open_table(table, reading, shaping, ["job"])
    recode(source, shaping)
    return find_linkability(source, plain, K)


def by_hand(table: pa.Table, plain: list[str]) -> int:
    """How many rows have a combination that fewer than K rows have."""
    rows = list(zip(*(table[name].to_pylist() for name in plain), strict=True))
    counts = Counter(rows)
    return sum(counts[row] < K for row in rows)


def test_rows_in_small_combinations_are_counted_as_by_hand() -> None:
    table, plain = people(), ["age", "sex"]
    found = measured(table, plain)
    assert 0 < found.small == by_hand(table, plain)
    assert {r.column: r.rows for r in found.without} == {
        "age": by_hand(table, ["sex"]),
        "sex": by_hand(table, ["age"]),
    }


@pytest.mark.slow
def test_each_remedy_leaves_what_its_option_leaves() -> None:
    """The option that is advised, used: as many rows are left as was said."""
    table, plain = people(), ["age", "day", "town", "sex"]
    found = measured(table, plain)
    assert {remedy.name for remedy in found.remedies} == {"round", "bins", "levels", "merge"}
    for remedy in found.remedies:
        option = {remedy.name: {remedy.column: remedy.value}}
        assert measured(table, plain, **option).small == remedy.rows, remedy
    options: dict[str, dict[str, str]] = {}
    for remedy in found.together:
        options.setdefault(remedy.name, {})[remedy.column] = remedy.value
    left = measured(table, plain, **options).small
    assert left == found.together[-1].rows < found.small


def test_nothing_is_advised_where_nothing_is_small() -> None:
    found = measured(people(), ["sex"])
    assert (found.small, found.remedies, found.together) == (0, [], [])
    assert len(found.sentences()) == 1


def test_inspect_gives_the_advice_and_takes_the_same_options() -> None:
    rough = cv.inspect(people(), sensitive="job", k=K)
    assert rough.linkability is not None
    said = " ".join(rough.sentences())
    assert f"{rough.linkability.small:,} of 600 rows" in said
    assert "Together, bins={'day':" in said
    gentle = cv.inspect(
        people(), sensitive="job", k=K, bins={"day": "year"}, round={"age": 20}, drop=["town"],
    )  # fmt: skip
    assert gentle.linkability is not None
    assert gentle.linkability.small < rough.linkability.small
    assert [column.name for column in gentle.columns] == ["age", "day", "sex", "job"]
    assert gentle.as_dict()["linkability"]["k"] == K


@pytest.mark.parametrize("exceptions", [["fifty"], ["fifty", "about 30"]])
def test_a_cell_that_is_no_number_is_named_and_not_quoted(exceptions: list[str]) -> None:
    ages = [str(20 + n % 60) for n in range(600)]
    for place, text in enumerate(exceptions):
        ages[400 + place] = text
    table = people().set_column(0, "age", pa.array(ages))
    number = "1 of 600 cells is not one" if len(exceptions) == 1 else "2 of 600 cells are not"
    said = f"'age' would hold numbers, but {number} (the first in row 401, counted from 1"
    hints = " ".join(cv.inspect(table, sensitive="job").hints)
    assert said in hints
    assert "fifty" not in hints
    with pytest.raises(cv.CountveilError, match=r"'age' is text because .* of its 600 cells"):
        cv.inspect(table, sensitive="job", bins={"age": "10"})


def test_codes_and_marks_are_no_odd_cells() -> None:
    codes = [f"{250 + n % 9}.1" for n in range(590)] + ["V57"] * 10
    marks = [str(n % 90) for n in range(590)] + ["?"] * 10
    table = people().append_column("code", pa.array(codes)).append_column("old", pa.array(marks))
    assert not any("would hold" in hint for hint in cv.inspect(table, sensitive="job").hints)


def test_more_values_than_a_sample_shows_are_all_counted() -> None:
    many = [f"{n * 1.25:.2f}" for n in range(3000)]
    many[2500] = "unknown amount"
    table = pa.table({"pay": many, "job": ["a", "b", "c"] * 1000})
    hints = " ".join(cv.inspect(table, sensitive="job").hints)
    assert (
        "'pay' would hold numbers, but 1 of 3,000 cells is not one (the first in row 2,501" in hints
    )
