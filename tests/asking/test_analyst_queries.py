"""Of 80 queries as analysts write them, at least 70 are answered, and all agree with the truth.

DuckDB answers the same text about the true table. What involves no sensitive column must be the
same number; an estimate must lie within seven standard errors of the truth, which a right one
misses with a probability below 1e-11 (the release is seeded, so that the outcome is fixed too).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import countveil as cv
from countveil.errors import QueryError
from tests.asking.analyst_queries import QUERIES, TABLES, Asked, patients

SENSITIVE = {"occupation": 4, "diagnosis": 4, "income": 4}
EDGES = "10000,20000,30000,40000,60000,80000"
MISSED = 7.0
# The mean of a class is not the mean of its numbers.
CLASSES = {"SELECT AVG(income) FROM release WHERE income >= 10000 AND income < 80000"}
ANSWERED = [asked for asked in QUERIES if not asked.refused]
REFUSED = [asked for asked in QUERIES if asked.refused]


@pytest.fixture(scope="module")
def truth() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    connection.register("release", patients())
    for name, columns in TABLES.items():
        connection.register(name, pa.table(columns))
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    folder: Path = tmp_path_factory.mktemp("hospital") / "release"
    return cv.publish(patients(), SENSITIVE, folder, bins={"income": EDGES}, seed=5)


def test_the_list_is_long_and_most_of_it_is_answered() -> None:
    assert len(QUERIES) == len({asked.text for asked in QUERIES}) == 80
    assert len(ANSWERED) >= 70


@pytest.mark.few(15)
@pytest.mark.parametrize("asked", ANSWERED, ids=lambda asked: asked.text[:60])
def test_answers_agree_with_the_truth(
    asked: Asked, release: cv.Release, truth: duckdb.DuckDBPyConnection
) -> None:
    answer = release.sql(asked.text, **inputs(asked))
    expected = list(truth.execute(asked.text, asked.params).fetchall())
    n_keys, estimated = len(answer.group_columns), is_estimated(asked.text)
    names = [column[0] for column in truth.description or []]
    places = [names.index(name) for name in answer.group_columns]
    by_key = {tuple(normal(row[place]) for place in places): row for row in expected}
    rows = {tuple(normal(value) for value in row[:n_keys]): row for row in answer.rows()}
    limited = " LIMIT " in asked.text or "HAVING" in asked.text or "n > 1500" in asked.text
    if not limited:
        # A sensitive value may be listed that no row of a group has.
        assert rows.keys() >= by_key.keys()
        assert estimated or rows.keys() == by_key.keys()
    assert rows
    measures = [place for place in range(len(names)) if place not in places]
    for key, row in rows.items():
        if limited and key not in by_key:
            continue
        true_row = by_key.get(key)
        for number, place in enumerate(measures):
            estimate, error = row[n_keys + 5 * number], row[n_keys + 5 * number + 1]
            true = 0.0 if true_row is None else float(true_row[place] or 0)
            check(estimate, error, true, asked, exact=not estimated)


def check(estimate: Any, error: Any, true: float, asked: Asked, *, exact: bool) -> None:
    if exact:
        assert math.isclose(estimate, true, rel_tol=1e-9), asked.text
    elif estimate is not None:
        slack = 0.05 * true if "AVG(income)" in asked.text else 1e-9 * abs(true)
        assert abs(estimate - true) <= MISSED * error + slack, asked.text


@pytest.mark.parametrize("asked", REFUSED, ids=lambda asked: asked.text[:60])
def test_what_is_refused_says_what_to_write(asked: Asked, release: cv.Release) -> None:
    with pytest.raises(QueryError) as refusal:
        release.sql(asked.text, **inputs(asked))
    assert asked.refused in str(refusal.value)


def inputs(asked: Asked) -> dict[str, Any]:
    given: dict[str, Any] = {"tables": asked.tables} if asked.tables else {}
    return given if asked.params is None else given | {"params": asked.params}


def is_estimated(text: str) -> bool:
    return any(name in text for name in ("occupation", "diagnosis", "income", "sector"))


def normal(value: Any) -> Any:
    """Dates and times, whole and other numbers alike."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return str(value)[:10] if hasattr(value, "isoformat") else value
