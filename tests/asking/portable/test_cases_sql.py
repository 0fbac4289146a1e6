"""Plain SQL about a release in which persons have several rows: the answer of method unbiased."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import countveil as cv
from countveil.errors import QueryError
from tests.plain_sql import Ask, compare, loaded, rows_of
from tests.publishing.test_persons import visits

QUERIES = [
    "SELECT count(*) FROM release",
    "SELECT count(*) FROM release WHERE diagnosis = 'D01'",
    "SELECT count(*) FROM release WHERE diagnosis <> 'D01' AND sex = 'F'",
    "SELECT diagnosis, count(*) FROM release GROUP BY diagnosis",
    "SELECT sex, diagnosis, count(*) AS n FROM release GROUP BY ALL HAVING n > 400",
    "SELECT count(*) FROM release WHERE diagnosis IN ('D01', 'D02') OR sex = 'M'",
    "SELECT diagnosis, avg(number) FROM release WHERE sex = 'F' GROUP BY diagnosis",
    "SELECT sex, sum(number) FROM release WHERE diagnosis = 'D03' GROUP BY sex",
    "SELECT count(*) FILTER (WHERE diagnosis = 'D04') / count(*) FROM release WHERE sex = 'F'",
]


@pytest.fixture(scope="module", params=["mixed", "random"])
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    folder = tmp_path_factory.mktemp("plain") / "release"
    return cv.publish(
        visits(), {"diagnosis": 4}, folder, person="patient", keep="number", groups=request.param
    )


@pytest.fixture(scope="module")
def databases(release: cv.Release, postgres: str) -> Iterator[dict[str, Ask]]:
    with loaded(release, postgres) as engines:
        yield engines


@pytest.mark.few(1)
@pytest.mark.parametrize("query", QUERIES)
def test_the_answer_is_that_of_method_unbiased(
    query: str, release: cv.Release, databases: dict[str, Ask]
) -> None:
    for dialect, ask in databases.items():
        compare(query, release, dialect, ask)


@pytest.mark.slow
def test_of_columns_together_one_can_be_asked_about(tmp_path: Path) -> None:
    both = {"diagnosis": 4, "ward": 4}
    release = cv.publish(
        visits(), both, tmp_path / "r", person="patient", keep="number", together=True
    )
    duck = duckdb.connect()
    duck.register("published", rows_of(release))
    duck.execute("CREATE TABLE release AS FROM published")
    for query in QUERIES:
        compare(query, release, "duckdb", lambda text: duck.execute(text).fetchall())
    with pytest.raises(QueryError, match="no plain SQL"):
        release.plain_sql("SELECT diagnosis, ward, count(*) FROM release GROUP BY ALL")


@pytest.mark.slow
def test_a_batch_from_which_cases_left(tmp_path: Path) -> None:
    """Published counts of those who stayed are not their estimates."""
    table = visits(persons=12_000)
    ledger = cv.Ledger.init(tmp_path / "ledger").path
    given: dict[str, Any] = {"person": "patient", "keep": "number", "ledger": ledger}
    cv.publish(table, {"diagnosis": 4}, tmp_path / "1", **given)
    stayed = cv.publish(table.slice(0, 8_000), {"diagnosis": 4}, tmp_path / "2", **given)
    duck = duckdb.connect()
    duck.register("published", rows_of(stayed))
    duck.execute("CREATE TABLE release AS FROM published")
    for query in QUERIES:
        compare(query, stayed, "duckdb", lambda text: duck.execute(text).fetchall())
