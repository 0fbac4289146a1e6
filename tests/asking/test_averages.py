"""Averages of plain numbers over rows with a sensitive value: never outside the numbers."""

from __future__ import annotations

import itertools

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import countveil as cv

BY = "SELECT education, occupation, avg({}) FROM release{} GROUP BY ALL"


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """A census with a number that may be negative or missing, and with weights."""
    census = cv.generate(3_000, seed=8)
    assert census is not None
    rng = np.random.default_rng(1)
    debt = np.round(rng.normal(0, 50, 3_000), 1)
    debt_or_none = [None if missing else d for d, missing in zip(debt, debt > 80, strict=True)]
    weight = np.round(rng.uniform(1, 9, 3_000), 1)
    return census.append_column("debt", pa.array(debt_or_none)).append_column("w", pa.array(weight))


@pytest.fixture(scope="module")
def release(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    folder = tmp_path_factory.mktemp("averages") / "release"
    return cv.publish(table, {"occupation": 3}, folder, seed=5, weight="w")


@pytest.mark.few(1)
@pytest.mark.parametrize("method", ["shrunk", "unbiased"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("number", "where"),
    [("age", ""), ("debt", ""), ("age", " WHERE age > 50 OR occupation = 'nurse'")],
)
def test_no_average_and_no_end_lies_outside_of_the_numbers(
    release: cv.Release, table: pa.Table, number: str, where: str, weighted: bool, method: str
) -> None:
    answer = release.sql(BY.format(number, where), method=method, weighted=weighted)
    connection = duckdb.connect()
    connection.register("rows", table)
    for nurse in (False, True):
        # Of nurses all rows count; of others those that the other condition leaves.
        left = " WHERE age > 50" if where and not nurse else ""
        query = f"SELECT education, min({number}), max({number}) FROM rows{left} GROUP BY 1"
        ends = {row[0]: row[1:] for row in connection.sql(query).fetchall()}
        for (education, occupation), cell in zip(answer.groups, answer.estimates, strict=True):
            if (occupation == "nurse") != nurse:
                continue
            least, most = ends[education]
            assert cell.low is not None
            assert cell.high is not None
            assert least <= cell.low <= cell.high <= most
            if cell.estimate is None:
                # Of no row at all, as far as the shrunk count says.
                assert cell.verdict == "hidden"
            else:
                assert least <= cell.estimate <= most
    # Debts are 0 on average: no error is small beside that.
    assert ({cell.verdict for cell in answer.estimates} > {"hidden"}) == (number == "age")


def test_an_average_is_hidden_where_its_count_is_not_told_from_zero(release: cv.Release) -> None:
    """Whatever its interval: none of these ages is far from the others."""
    answer = release.sql(
        "SELECT occupation, count(*) AS n, avg(age) AS mean FROM release "
        "WHERE age BETWEEN 30 AND 60 GROUP BY occupation"
    )
    counts, means = (block.estimates for block in answer.blocks)
    shown = 0
    for count, mean in zip(counts, means, strict=True):
        assert count.low is not None
        if mean.verdict != "hidden":
            shown += 1
            assert count.low > 0
            assert mean.low is not None
            assert mean.low >= 30
    assert 0 < shown < len(counts)


def test_ends_that_are_bounds_do_not_depend_on_the_level(release: cv.Release) -> None:
    answers = [release.sql(BY.format("age", ""), level=level) for level in (0.5, 0.95, 0.999)]
    for less, more in itertools.pairwise(answers):
        for one, two in zip(less.estimates, more.estimates, strict=True):
            assert None not in (one.low, one.high, two.low, two.high)
            assert two.low <= one.low + 1e-9  # type: ignore[operator]
            assert one.high <= two.high + 1e-9  # type: ignore[operator]
