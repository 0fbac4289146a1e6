"""Plain SQL for columns together, random groups, common values and noise, in three databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

import countveil as cv
from countveil.errors import QueryError
from tests.plain_sql import Ask, can_be_written, compare, loaded
from tests.strategies import examples

# Values that nobody publishes are asked for on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:The release has no row with:UserWarning")

ROWS = 900
JOBS = ["nurse", "cook", "clerk", "driver", 'it\'s "x" -- %s']


def table() -> pa.Table:
    rng = np.random.default_rng(3)
    job = rng.choice(5, ROWS, p=[0.4, 0.2, 0.2, 0.15, 0.05])
    grade = np.where(rng.random(ROWS) < 0.4, job, rng.integers(0, 6, ROWS))
    return pa.table({
        "age": rng.integers(-5, 80, ROWS).tolist(),
        "town": [["A", "B", None][n] for n in rng.choice(3, ROWS, p=[0.5, 0.4, 0.1])],
        "pay": rng.choice([0.5, -2.0, 10.25], ROWS).tolist(),
        "job": [JOBS[n] for n in job],
        "grade": [None if n == 5 else int(n) for n in grade],
        "colour": rng.choice(["red", "green", "blue"], ROWS).tolist(),
    })  # fmt: skip


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    to = tmp_path_factory.mktemp("together") / "release"
    ells = {"job": 3, "grade": 3, "colour": 3}
    return cv.publish(table(), ells, to, together=True, seed=1)


@pytest.fixture(scope="module")
def databases(release: cv.Release, postgres: str) -> Iterator[dict[str, Ask]]:
    with loaded(release, postgres) as engines:
        yield engines


SENSITIVE = [
    "job = 'nurse'", "job <> 'cook'", "job IN ('nurse', 'clerk')", "job = 'nobody'", "grade = 2",
    "grade > 2", "grade IS NULL", "grade BETWEEN 1 AND 3", "colour = 'red'", "colour <> 'blue'",
    "(job = 'cook' OR grade = 1)", "NOT (job = 'cook' AND colour = 'red')",
]  # fmt: skip
PLAIN = ["age >= 40", "town = 'A'", "town IS NULL", "pay > 0", "age // 10 = 4"]
MEASURES = [
    "count(*)", "sum(pay)", "avg(age)", "count(grade)", "2.5 * count(*)",
    "count(*) FILTER (WHERE {}) / count(*)", "sum(age) FILTER (WHERE {})",
    "count(*) AS n, avg(age) AS mean",
]  # fmt: skip
KEYS = ["", "town", "job", "job, grade", "town, job", "job, grade, colour", "grade, town, colour"]


@st.composite
def questions(draw: st.DrawFn) -> str:
    def formula(depth: int = 2) -> str:
        if not depth or draw(st.booleans()):
            return draw(st.sampled_from(SENSITIVE) | st.sampled_from(PLAIN))
        word = draw(st.sampled_from(["AND", "OR"]))
        return f"({formula(depth - 1)} {word} {formula(depth - 1)})"

    measure = draw(st.sampled_from(MEASURES))
    measure = measure.format(formula(1)) if "{}" in measure else measure
    keys = draw(st.sampled_from(KEYS))
    where = f" WHERE {formula()}" if draw(st.booleans()) else ""
    by = f" GROUP BY {keys}" if keys else ""
    return f"SELECT {keys + ', ' if keys else ''}{measure} FROM release{where}{by}"


@pytest.mark.slow
@examples(
    30,
    # Three databases for every step of shrinking would take minutes.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(query=questions())
def test_any_question_has_the_answer_of_method_unbiased(
    query: str, release: cv.Release, databases: dict[str, Ask]
) -> None:
    for dialect, ask in databases.items():
        if can_be_written(query, release):
            compare(query, release, dialect, ask)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM release WHERE job = 'nurse' AND grade = 2",
        "SELECT count(*) FROM release WHERE job = 'nurse' AND grade = 2 AND town = 'A'",
        "SELECT town, count(*) FROM release WHERE job = 'nurse' OR grade > 2 GROUP BY 1",
        "SELECT job, grade, count(*) FROM release WHERE age > 30 GROUP BY ALL",
        "SELECT job, grade, count(*) FROM release GROUP BY ALL ORDER BY count(*) DESC, job LIMIT 5",
        "SELECT job, count(*) FROM release WHERE grade < 3 AND (pay > 0 OR job = 'x') GROUP BY 1",
        "SELECT avg(age) FROM release WHERE job IN ('nurse', 'cook') AND colour = 'red'",
        "SELECT count(*) FROM release WHERE job IS NOT NULL AND colour <> 'red'",
    ],
)
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
def test_sets_margins_and_pairs(
    query: str, dialect: str, release: cv.Release, databases: dict[str, Ask]
) -> None:
    compare(query, release, dialect, databases[dialect])


def test_the_text_grows_with_what_is_asked(release: cv.Release) -> None:
    where = "WHERE job = 'nurse' AND grade = 2 AND colour = 'red'"
    text = release.plain_sql(f"SELECT count(*) FROM release {where}", dialect="duckdb")
    # The values of three columns, and what is asked about them; not all of their 90 combinations.
    assert text.count("\n    (") < 40


@pytest.mark.slow
def test_a_column_that_was_published_apart_is_refused(tmp_path: Path) -> None:
    ells = {"job": 3, "grade": 3, "colour": 2}
    crossed = cv.publish(table(), ells, tmp_path / "r", together=["job", "grade"], seed=1)
    query = "SELECT count(*) FROM release WHERE job = 'cook' AND grade = 1 AND colour = 'red'"
    with pytest.raises(QueryError, match=r"not published with them\. 'countveil query' answers"):
        crossed.plain_sql(query)
    assert crossed.sql(query).estimates[0].estimate is not None
    with pytest.raises(QueryError, match="more than sums over rows"):
        crossed.plain_sql("SELECT avg(grade) FROM release WHERE job = 'cook'")


WAYS: dict[str, dict[str, Any]] = {
    "random": {"groups": "random"},
    "common": {"common": {"job": ["nurse"]}},
    "noised": {"odds": 40, "domain": {"job": JOBS}},
    "noised random": {"odds": 40, "domain": {"job": JOBS}, "groups": "random"},
    "noised common": {"odds": 40, "domain": {"job": JOBS}, "common": "auto"},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.slow
def test_one_column_of_every_kind(way: str, tmp_path: Path, postgres: str) -> None:
    release = cv.publish(table(), {"job": 2}, tmp_path / "r", seed=2, **WAYS[way])
    with loaded(release, postgres) as engines:
        for dialect, ask in engines.items():
            for query in (
                "SELECT job, count(*) FROM release GROUP BY job",
                "SELECT town, job, count(*) FROM release WHERE age > 20 GROUP BY ALL",
                "SELECT count(*) FROM release WHERE job IN ('cook', 'clerk') AND town = 'A'",
                "SELECT count(*) FROM release WHERE job <> 'cook' AND age > 20",
                "SELECT town, avg(age) FROM release WHERE job = 'cook' GROUP BY town",
                "SELECT count(*) FILTER (WHERE job = 'cook') / count(*) FROM release",
                "SELECT sum(pay) FROM release WHERE job = 'nobody'",
            ):
                compare(query, release, dialect, ask)
