from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from countveil.randomness import Randomness
from study.data import PLAIN, StudyTable, load
from study.data.table import equal_frequency
from study.measures import BANDS, PASSING, SMALL, USUAL, errors
from study.pool import KINDS, QUERIES, draw_pool


@pytest.fixture(scope="module")
def table() -> StudyTable:
    return load("census", 4_000)


def test_the_pool_of_the_paper_has_5000_queries(table: StudyTable) -> None:
    assert table.size("Occupation") == 50
    pool = draw_pool(table, PLAIN, QUERIES // 50, Randomness(1).stream("pool"))
    assert pool.tallies(table.occupation, 50).size == QUERIES


@pytest.mark.parametrize("kind", KINDS)
def test_predicates_are_conjunctions_of_up_to_three_columns(table: StudyTable, kind: str) -> None:
    pool = draw_pool(table, PLAIN, 60, Randomness(2).stream("pool"), kind)
    assert len(pool.predicates) == 60
    for rows in pool.predicates:
        assert rows.size > 0
        # Everybody else who agrees in the columns that are alike belongs to it.
        alike = [name for name in PLAIN if np.unique(table.columns[name][rows]).size == 1]
        assert alike
        met = np.all(
            [table.columns[name] == table.columns[name][rows[0]] for name in alike], axis=0
        )
        assert np.array_equal(np.flatnonzero(met), rows)


def test_distinct_pools_repeat_nothing(table: StudyTable) -> None:
    pool = draw_pool(table, PLAIN, 150, Randomness(3).stream("pool"), "distinct")
    tallied = {rows.tobytes() for rows in pool.predicates}
    plain = draw_pool(table, PLAIN, 150, Randomness(3).stream("pool"))
    assert len({rows.tobytes() for rows in plain.predicates}) < len(tallied)


def test_tallies_are_crosstabs(table: StudyTable) -> None:
    pool = draw_pool(table, PLAIN, 5, Randomness(4).stream("pool"))
    found = pool.tallies(table.occupation, 50)
    for line, rows in zip(found, pool.predicates, strict=True):
        assert line.sum() == rows.size
        assert line[7] == sum(1 for row in rows if table.occupation[row] == 7)


def test_an_unknown_kind_is_refused(table: StudyTable) -> None:
    with pytest.raises(ValueError, match="kind"):
        draw_pool(table, PLAIN, 5, Randomness(4).stream("pool"), "all")


def test_samples_are_nested_and_keep_their_codes(table: StudyTable) -> None:
    some = table.first(1_000)
    assert some.rows == 1_000
    assert np.array_equal(some.occupation, table.occupation[:1_000])
    with pytest.raises(ValueError, match="asked of a table"):
        table.first(5_000)


def test_classes_have_equal_frequencies_and_keep_equal_numbers_together() -> None:
    values = np.repeat(np.arange(40), np.arange(1, 41))
    classes = equal_frequency(values, 10)
    assert np.bincount(classes).size == 10
    for before, after in pairwise(range(40)):
        own = set(classes[values == before].tolist()), set(classes[values == after].tolist())
        assert len(own[0]) == 1
        assert max(own[0]) <= min(own[1])
    assert np.bincount(classes).max() <= values.size / 10 + 40


def test_errors_by_hand() -> None:
    rows = 10_000
    true = np.array([[300.0, 4, 0, 150]])
    said = np.array([[330.0, 5, 9, 75]])
    found = {(row["kind"], row["low"]): row for row in errors(true, said, rows)}
    assert found["band", 0.02]["error"] == pytest.approx(0.1)
    assert found["band", 0.01]["error"] == pytest.approx(0.5)
    assert found["passing", 0.01]["error"] == pytest.approx(0.3)
    assert found["passing", 0.01]["off"] == pytest.approx(0.5)
    # A count of 0 has no relative error, and a negative estimate is read as 0.
    assert found["small", 0]["cells"] == 1
    assert found["small", 0]["error"] == pytest.approx(0.25)
    (row,) = errors(np.array([[3.0]]), np.array([[-50.0]]), rows, [SMALL])
    assert (row["error"], row["off"]) == (1.0, 1.0)


def test_off_by_exactly_30_percent_is_not_more_than_30_percent() -> None:
    (row,) = errors(np.array([[10.0]]), np.array([[13.0]]), 10_000, [SMALL])
    assert row["off"] == 0.0


def test_bands_meet_and_thresholds_hold_them() -> None:
    for before, after in pairwise(BANDS):
        assert before.high == after.low
    true = np.arange(1, 600, dtype=np.float64)
    for band in PASSING:
        inside = band.holds(true, 10_000)
        parts = [b.holds(true, 10_000) for b in BANDS if b.low >= band.low]
        if band.low in {b.low for b in BANDS}:
            assert np.array_equal(inside, np.any(parts, axis=0))
    assert len(set(USUAL)) == len(USUAL)
