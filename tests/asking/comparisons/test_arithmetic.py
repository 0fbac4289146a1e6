"""Arithmetic on aggregates in SQL: what it computes, its errors, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import countveil as cv
from countveil.errors import QueryError

ROWS = 6_000


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    rng = np.random.default_rng(3)
    jobs = np.array(["nurse", "cook", "clerk", "driver", "baker", "smith"])
    table = pa.table({
        "gender": rng.choice(["F", "M"], ROWS),
        "age": rng.integers(18, 80, ROWS),
        "job": rng.choice(jobs, ROWS, p=[0.2, 0.2, 0.2, 0.15, 0.15, 0.1]),
    })  # fmt: skip
    return cv.publish(table, {"job": 3}, tmp_path_factory.mktemp("arithmetic") / "r", seed=4)


def one(release: cv.Release, what: str, rest: str = "", method: str = "unbiased") -> cv.Estimate:
    return release.sql(f"SELECT {what} FROM release {rest}", method=method).estimates[0]


NURSES = "count(*) FILTER (WHERE job = 'nurse')"
COOKS = "count(*) FILTER (WHERE job = 'cook')"


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("text", "compute"),
    [
        ("{n} - {c}", lambda n, c: n - c),
        ("{n} + 2 * {c}", lambda n, c: n + 2 * c),
        ("-{n}", lambda n, _c: -n),
        ("10 / {n}", lambda n, _c: 10 / n),
        ("{n} * {c}", lambda n, c: n * c),
        ("({n} / count(*)) / ({c} / count(*))", lambda n, c: n / c),
        ("round(100.0 * {n} / count(*), 1)", lambda n, _c: round(100 * n / ROWS, 1)),
        ("coalesce({n} / nullif({c}, 0), 0)", lambda n, c: n / c),
        ("coalesce({n} / nullif(count(*) - count(*), 0), 7)", lambda _n, _c: 7.0),
        ("abs({c} - {n})", lambda n, c: abs(c - n)),
        ("ln({n}) - ln({c})", lambda n, c: np.log(n / c)),
        ("exp(ln({n}))", lambda n, _c: n),
        ("sqrt(power({n}, 2))", lambda n, _c: n),
    ],
)
def test_what_is_computed(text: str, compute: object, release: cv.Release) -> None:
    n, c = (one(release, what).estimate for what in (NURSES, COOKS))
    assert callable(compute)
    answer = one(release, text.format(n=NURSES, c=COOKS))
    assert answer.estimate == pytest.approx(compute(n, c), rel=1e-9)
    assert answer.std_error is not None
    assert answer.std_error >= 0


def test_groups_that_make_up_a_table_depend_on_each_other(release: cv.Release) -> None:
    parts = [f"count(*) FILTER (WHERE gender = '{g}' AND job = 'nurse')" for g in "FM"]
    one_error, other = (one(release, part).std_error for part in parts)
    total = one(release, " + ".join(parts)).std_error
    difference = one(release, " - ".join(parts)).std_error
    assert one_error is not None
    assert other is not None
    assert total is not None
    assert difference is not None
    # The whole table is known much better than a half: errors cancel in the sum.
    assert total == pytest.approx(one(release, NURSES).std_error, rel=0.05)
    assert total < 0.5 * np.hypot(one_error, other) < np.hypot(one_error, other) < difference


def test_a_difference_of_the_same_is_nothing(release: cv.Release) -> None:
    answer = one(release, f"{NURSES} - {NURSES}")
    assert (answer.estimate, answer.std_error) == (0, 0)


def test_shares_of_a_total_over_groups(release: cv.Release) -> None:
    query = (
        "SELECT job, count(*) AS n, count(*) / sum(count(*)) OVER () AS s FROM release GROUP BY 1"
    )
    answer = release.sql(query)
    counts, shares = (block.estimates for block in answer.blocks)
    assert sum(share.estimate or 0 for share in shares) == pytest.approx(1)
    for count, share in zip(counts, shares, strict=True):
        # The total is known: a share has the interval of the count.
        assert count.low is not None
        assert share.low == pytest.approx(count.low / ROWS)
        assert share.std_error == pytest.approx((count.std_error or 0) / ROWS)


def test_totals_over_parts_of_the_groups(release: cv.Release) -> None:
    query = (
        "SELECT gender, job, count(*) / sum(count(*)) OVER (PARTITION BY gender) "
        "FROM release GROUP BY ALL"
    )
    answer = release.sql(query)
    for gender in "FM":
        here = [
            cell.estimate or 0
            for group, cell in zip(answer.groups, answer.estimates, strict=True)
            if group[0] == gender
        ]
        assert sum(here) == pytest.approx(1)


def test_an_estimated_total_over_groups_has_an_error(release: cv.Release) -> None:
    query = (
        "SELECT gender, count(*) / sum(count(*)) OVER () FROM release "
        "WHERE job IN ('nurse', 'cook') GROUP BY 1"
    )
    shares = release.sql(query, method="unbiased").estimates
    assert sum(share.estimate or 0 for share in shares) == pytest.approx(1)
    # What one has more the other has less.
    assert shares[0].std_error == pytest.approx(shares[1].std_error, rel=1e-6)
    assert 0 < (shares[0].std_error or 0) < 0.2


def test_weights_and_having_and_order_work_on_what_is_computed(release: cv.Release) -> None:
    query = (
        "SELECT job, round(100.0 * count(*) / sum(count(*)) OVER (), 1) AS pct FROM release "
        "GROUP BY job HAVING pct > 5 ORDER BY pct DESC LIMIT 3"
    )
    numbers = [cell.estimate or 0 for cell in release.sql(query).estimates]
    assert len(numbers) == 3
    assert numbers == sorted(numbers, reverse=True)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("rank() OVER (ORDER BY count(*))", "not supported"),
        ("sum(count(*)) OVER (PARTITION BY age)", "not grouped by"),
        ("sum(avg(age)) OVER ()", "only counts and sums"),
        ("min(age) - max(age)", "cannot be joined"),
    ],
)
def test_what_is_refused(what: str, message: str, release: cv.Release) -> None:
    with pytest.raises(QueryError, match=message):
        release.sql(f"SELECT gender, {what} FROM release GROUP BY gender")


def test_plain_sql_says_that_it_cannot(release: cv.Release) -> None:
    with pytest.raises(QueryError, match="covariance"):
        release.plain_sql(f"SELECT {NURSES} - {COOKS} FROM release")


def test_missing_values_may_have_been_removed_by_the_draw(release: cv.Release) -> None:
    answer = release.sql("SELECT count(*) FROM release WHERE job IS NULL").estimates[0]
    assert answer.estimate == 0
    assert answer.verdict == "hidden"
    assert answer.high is not None
    assert 1 < answer.high < 10
    assert one(release, "count(job)").estimate == ROWS


def test_columns_published_apart_are_joined_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    table = pa.table({
        "a": rng.choice(list("pqrstu"), 2_000), "b": rng.choice(list("vwxyz"), 2_000),
        "c": rng.integers(0, 2, 2_000),
    })  # fmt: skip
    release = cv.publish(table, {"a": 2, "b": 2}, tmp_path / "r", seed=1)
    what = "count(*) FILTER (WHERE a = 'p' AND b = 'v') - count(*) FILTER (WHERE a = 'q')"
    answer = one(release, what)
    assert answer.estimate is not None
    assert answer.std_error is not None
    with pytest.raises(QueryError, match="one such column"):
        release.sql("SELECT c, count(*) / sum(count(*)) OVER () FROM release "
                    "WHERE a = 'p' AND b = 'v' GROUP BY c")  # fmt: skip


def test_what_becomes_infinite_is_hidden(release: cv.Release) -> None:
    answer = one(release, "power(count(*), count(*))")
    assert (answer.verdict, answer.low, answer.high) == ("hidden", None, None)
