"""Medians, quantiles, variances and extremes in SQL."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import countveil as cv
from countveil.errors import QueryError

ROWS = 8_000
KEYS = "SELECT sex, {} FROM release WHERE age > 30 GROUP BY sex ORDER BY sex"
AGGREGATES = [
    "median(age)", "quantile_cont(pay, 0.9)", "quantile_disc(age, 0.25)", "quantile(age, 0.4)",
    "percentile_cont(0.1) WITHIN GROUP (ORDER BY pay)", "stddev(age)", "stddev_samp(pay)",
    "percentile_cont(0.1) WITHIN GROUP (ORDER BY pay DESC)", "stddev_pop(age)", "var_samp(age)",
    "variance(age - 3)", "var_pop(age) FILTER (WHERE pay > 1000)", "min(age)", "max(pay)",
]  # fmt: skip


def table() -> pa.Table:
    rng = np.random.default_rng(4)
    job = rng.choice(8, ROWS, p=np.arange(12, 4, -1) / 68)
    return pa.table({
        "job": [f"job {n}" for n in job],
        "sex": rng.choice(["F", "M"], ROWS),
        "age": np.clip(rng.normal(35 + 3 * job, 10, ROWS), 15, 90).round().astype(int),
        "pay": pa.array(np.exp(rng.normal(7 + 0.2 * job, 0.5, ROWS)).round(-1), mask=job == 7),
        "w": rng.integers(1, 4, ROWS) * 1.0,
    })  # fmt: skip


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    to = tmp_path_factory.mktemp("m") / "release"
    return cv.publish(table(), {"job": 3}, to, weight="w", keep=["age", "pay"], seed=1)


def truth(query: str) -> list[tuple[object, ...]]:
    release = table()  # noqa: F841 - DuckDB reads it by its name
    return duckdb.execute(query).fetchall()


@pytest.mark.few(2)
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_of_plain_rows_it_is_what_duckdb_says(aggregate: str, release: cv.Release) -> None:
    query = KEYS.format(aggregate)
    answer = release.sql(query)
    expected = truth(query)
    assert [group[0] for group in answer.groups] == [row[0] for row in expected]
    assert [cell.estimate for cell in answer.estimates] == pytest.approx([r[1] for r in expected])
    assert [cell.std_error for cell in answer.estimates] == pytest.approx([0.0] * len(expected))


@pytest.mark.few(3)
@pytest.mark.parametrize("aggregate", AGGREGATES[:-2])
def test_given_a_true_value_the_truth_is_within_the_errors(
    aggregate: str, release: cv.Release
) -> None:
    """At 1 - 2e-9, 16 intervals miss the truth in one of 3 * 10^7 runs."""
    query = f"SELECT sex, job, {aggregate} FROM release GROUP BY sex, job ORDER BY 1, 2"
    answer = release.sql(query, level=1 - 2e-9)
    expected = {row[:2]: row[2] for row in truth(query)}
    compared = 0
    for group, cell in zip(answer.groups, answer.estimates, strict=True):
        if expected[tuple(group)] is not None and cell.low is not None and cell.high is not None:
            assert cell.low <= expected[tuple(group)] <= cell.high  # type: ignore[operator]
            compared += 1
    assert compared >= 10


def test_they_stand_beside_other_aggregates(release: cv.Release) -> None:
    query = (
        "SELECT sex, count(*) AS n, median(age) AS middle, avg(age) AS mean FROM release "
        "WHERE job = 'job 1' GROUP BY sex HAVING count(*) > 10 ORDER BY n DESC LIMIT 1"
    )
    answer = release.sql(query)
    assert [block.name for block in answer.blocks] == ["n", "middle", "mean"]
    assert len(answer) == 1
    (group,) = answer.groups
    alone = f"sex = '{group[0]}' AND job = 'job 1'"
    middle = answer.blocks[1].estimates[0]
    assert middle == release.quantile("age", where=alone)
    assert answer.blocks[0].estimates[0].estimate == pytest.approx(release.count(alone).estimate)


def test_survey_weights_weigh(release: cv.Release) -> None:
    rows = table().to_pandas()
    spread = release.sql("SELECT var_pop(age) FROM release", weighted=True).estimates[0]
    mean = np.average(rows["age"], weights=rows["w"])
    expected = np.average((rows["age"] - mean) ** 2, weights=rows["w"])
    assert spread.estimate == pytest.approx(expected)
    ordered = rows.sort_values("age")
    middle = ordered["age"][ordered["w"].cumsum() >= rows["w"].sum() / 2].iloc[0]
    assert release.quantile("age", weighted=True).estimate == middle


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT min(age) FROM release WHERE job = 'job 1'", "a sensitive column chooses"),
        ("SELECT job, max(age) FROM release GROUP BY job", "a sensitive column"),
        ("SELECT median(job) FROM release", "is sensitive"),
        ("SELECT median(sex) FROM release", "of numbers"),
        ("SELECT median(age) + 1 FROM release", "not supported"),
        ("SELECT median(DISTINCT age) FROM release", "not supported"),
        ("SELECT quantile_cont(age, 2) FROM release", "between 0 and 1"),
        ("SELECT quantile_cont(age, [0.1, 0.9]) FROM release", "between 0 and 1"),
        ("SELECT sex, median(age) AS m FROM release GROUP BY 1 ORDER BY m", "not supported there"),
        ("SELECT median(age) AS m FROM release HAVING median(age) > 3", "not supported there"),
        ("SELECT median(age), count(*) FROM release", "name of its own"),
        ("SELECT median(age) FROM release GROUP BY sex", "Select every key"),
        ("SELECT median(age) FROM elsewhere", "no table"),
        ("SELECT median(wage) FROM release", "no column"),
    ],
)  # fmt: skip
def test_what_has_no_answer_is_refused(query: str, message: str, release: cv.Release) -> None:
    with pytest.raises(QueryError, match=message):
        release.sql(query)


def test_too_few_rows_are_hidden(tmp_path: Path) -> None:
    release = cv.publish(table().slice(0, 200), {"job": 5}, tmp_path / "r", seed=1, keep=["pay"])
    (cell,) = release.sql("SELECT median(age) FROM release WHERE job = 'job 6'").estimates
    assert cell.verdict == "hidden"
    assert cell.estimate is None


def test_a_word_in_text_is_no_aggregate(release: cv.Release) -> None:
    assert (
        release.sql("SELECT count(*) FROM release WHERE sex = 'min(x)'").estimates[0].estimate == 0
    )
