"""One row of each person: which one, ties, missing times."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.errors import InputError, SettingsError
from countveil.tables.one_per import OnePer
from tests.strategies import examples


def kept(how: str, persons: list[Any], times: list[Any] | None = None, seed: int = 1) -> list[int]:
    one_per = OnePer.of("p", how).seeded(seed)
    by = None if times is None else pa.chunked_array([times])
    marks = one_per.kept(pa.chunked_array([persons]), by).rows
    return [row for row, mark in enumerate(marks.tolist()) if mark]


def test_the_first_and_the_last() -> None:
    persons = ["a", "b", "a", "a", "b"]
    days = ["2020-05-01", "2021-01-01", "2019-01-01", None, None]
    assert kept("first by day", persons, days) == [1, 2]
    assert kept("LAST by  day", persons, days) == [0, 1]


@examples(100)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3) | st.none()), min_size=1))
def test_each_person_keeps_one_row_at_the_wanted_time(rows: list[tuple[int, int | None]]) -> None:
    persons, times = [person for person, _ in rows], [time for _, time in rows]
    column = pa.array(times, pa.int64())
    for how, best in (("first by t", min), ("last by t", max)):
        chosen = OnePer.of("p", how).kept(pa.chunked_array([persons]), pa.chunked_array([column]))
        rows_kept = [row for row, mark in enumerate(chosen.rows.tolist()) if mark]
        assert sorted(persons[row] for row in rows_kept) == sorted(set(persons))
        for row in rows_kept:
            known = [t for p, t in rows if p == persons[row] and t is not None]
            assert times[row] == (best(known) if known else None)


def test_ties_are_drawn_and_counted() -> None:
    persons, days = ["a"] * 4 + ["b"], ["2020-01-01"] * 4 + ["2020-01-02"]
    chosen = Counter(kept("first by day", persons, days, seed)[0] for seed in range(200))
    # Each of four with a chance of 1/4: none is missing, but with a chance below 1e-24.
    assert set(chosen) == {0, 1, 2, 3}
    one_per = OnePer.of("p", "first by day")
    found = one_per.kept(pa.chunked_array([persons]), pa.chunked_array([days]))
    assert found.tied == 1


def test_any_row_is_as_likely_and_a_choice_is_kept() -> None:
    persons = ["a", "b", "a", "b", "a"]
    chosen = Counter(row for seed in range(300) for row in kept("any", persons, seed=seed))
    assert set(chosen) == {0, 1, 2, 3, 4}
    one_per = OnePer.of("p", "any")
    column = pa.chunked_array([["x"] * 1000])
    # The key goes with the choice: read again, the table gives the same row.
    assert one_per.kept(column, None).rows.tolist() == one_per.kept(column, None).rows.tolist()
    assert "key" not in repr(one_per)


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="2 rows have no value"):
        kept("any", ["a", None, None])
    with pytest.raises(InputError, match="'day' is text, and not all of it is dates") as told:
        kept("first by day", ["a", "b"], ["01.02.2020", "2020-01-01"])
    assert "01.02" not in str(told.value)
    with pytest.raises(SettingsError, match="say of no row"):
        kept("first by day", ["a", "b"], [True, False])
    for text in ("", "first", "by day", "first by ", "some"):
        with pytest.raises(SettingsError, match="Which row of each"):
            OnePer.of("p", text)
