"""Two sensitive columns with many values: only what is asked about is told apart.

Estimates must lie within seven standard errors of the truth (a right one misses that with a
probability below 1e-11; releases are seeded).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import countveil as cv
from countveil.errors import QueryError
from countveil.maths.channel import view_of_release
from countveil.maths.channel.merged_view import merged_view
from countveil.sql.query import plan

ROWS = 60_000
# What the publisher is warned of: rare values, and columns that say something of each other.
pytestmark = pytest.mark.filterwarnings("ignore:Beware", "ignore:.*are associated")
QUESTIONS = [
    "SELECT count(*) FROM release WHERE a = 'a003' AND b = 'b003'",
    "SELECT count(*) FROM release WHERE a IN ('a000', 'a001') AND b IN ('b000', 'b001') AND x < 25",
    "SELECT a, b, count(*) FROM release WHERE a IN ('a000', 'a001') AND b < 'b002' GROUP BY a, b",
    "SELECT count(*) FROM release WHERE a = 'a003' OR b = 'b003'",
    "SELECT x < 25 AS half, sum(x) FROM release WHERE a = 'a000' AND b <> 'b000' GROUP BY half",
    "SELECT count(*) FROM release WHERE a <> 'a000' AND b <> 'b001'",
    "SELECT a, count(*) FROM release WHERE a LIKE 'a00%' AND NOT b LIKE 'b00%' GROUP BY a",
]


def table(first: int, second: int) -> pa.Table:
    rng = np.random.default_rng(2)
    a, b = (rng.choice(size, ROWS, p=shares(size)) for size in (first, second))
    b = np.where(rng.random(ROWS) < 0.3, a % second, b)
    return pa.table(
        {
            "x": pa.array(rng.integers(0, 50, ROWS)),
            "a": [f"a{value:03d}" for value in a],
            "b": [f"b{value:03d}" for value in b],
        }
    )


def shares(size: int) -> Any:
    weights = 1 / np.arange(1, size + 1) ** 0.8
    return weights / weights.sum()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[cv.Release, pa.Table]:
    rows = table(680, 703)
    folder: Path = tmp_path_factory.mktemp("large") / "release"
    return cv.publish(rows, {"a": 4, "b": 4}, folder, seed=8), rows


@pytest.mark.slow
@pytest.mark.parametrize("query", QUESTIONS)
@pytest.mark.parametrize("method", ["unbiased", "shrunk"])
def test_few_of_many_combinations_are_estimated(
    query: str, method: str, large: tuple[cv.Release, pa.Table]
) -> None:
    release, rows = large
    answer = release.sql(query, method=method)
    connection = duckdb.connect()
    connection.register("release", rows)
    expected = {tuple(row[:-1]): row[-1] for row in connection.execute(query).fetchall()}
    assert len(answer) >= len(expected)
    for row in answer.rows():
        key, (estimate, error) = row[:-5], row[-5:-3]
        assert abs(estimate - expected.get(key, 0)) <= 7 * error


@pytest.mark.slow
def test_all_combinations_are_refused_with_what_would_work(
    large: tuple[cv.Release, pa.Table],
) -> None:
    with pytest.raises(QueryError, match="WHERE"):
        large[0].sql("SELECT a, b, count(*) FROM release GROUP BY a, b")
    with pytest.raises(QueryError, match="unbiased"):
        large[0].sql(QUESTIONS[0], method="bayes")


@pytest.mark.few(1)
@pytest.mark.parametrize("groups", ["mixed", "random"])
def test_merged_values_give_the_estimates_of_all_values(
    groups: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = cv.publish(table(40, 30), {"a": 4, "b": 4}, tmp_path / "r", seed=8, groups=groups)
    # With OR, most of the cells are counted once values are merged, and the complement is asked.
    questions = [query for query in QUESTIONS if " OR " not in query]
    whole = [release.sql(query, method="unbiased") for query in questions]
    monkeypatch.setattr(plan, "MOST_CELLS", 250)
    for query, expected in zip(questions, whole, strict=True):
        answer = release.sql(query, method="unbiased")
        assert answer.groups == expected.groups
        for one, other in zip(answer.estimates, expected.estimates, strict=True):
            assert one.estimate is not None
            assert other.estimate is not None
            assert one.std_error is not None
            assert other.std_error is not None
            # Of a merged value more is known: its errors may be smaller.
            assert 0.6 * other.std_error <= one.std_error <= 1.05 * other.std_error
            assert abs(one.estimate - other.estimate) <= 0.2 * other.std_error


def test_a_merged_view_sends_what_its_values_send() -> None:
    counts = np.array([400, 300, 200, 100, 100, 50, 50], np.int64)
    view = view_of_release(counts, int(counts.sum()), 3, "mixed")
    classes = np.array([0, 1, 2, 2, 2, 2, 2])
    merged = merged_view(view, classes)
    assert merged is not None
    assert merged.published.tolist() == [400, 300, 500]
    assert merged.a[:2].tolist() == [view.keep, view.keep]
    assert merged.whole is not None
    assert np.allclose(merged.whole.sum(axis=1), 1)
    assert np.allclose(merged.published @ merged.whole, merged.published, rtol=1e-3)
    assert merged_view(view, np.arange(7)) is view
