"""Plain SQL, run in three databases, gives our own unbiased answer to 1e-9."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

import countveil as cv
from countveil.errors import QueryError, SettingsError
from tests.plain_sql import Ask, can_be_written, compare, loaded
from tests.strategies import examples

# Values that nobody publishes are asked for on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:The release has no row with:UserWarning")

ROWS = 900
HOSTILE = """it's "x" \\ -- %s; DROP TABLE release; {0} é"""


def table() -> pa.Table:
    rng = np.random.default_rng(5)

    def some(values: list[Any], missing: float = 0.1) -> list[Any]:
        picked = rng.integers(0, len(values), ROWS)
        gone = rng.random(ROWS) < missing
        return [None if g else values[i] for i, g in zip(picked, gone, strict=True)]

    days = [dt.date(2019, 12, 31), dt.date(2020, 2, 29), dt.date(2021, 7, 4)]
    jobs = ["nurse", "cook", "clerk", "driver", "judge", "smith", HOSTILE]
    return pa.table(
        {
            "age": pa.array(some(list(range(-5, 90))), pa.int32()),
            "gender": some(["F", "M", "f%", "Éa"]),
            "pay": pa.array(some([0.5, -2.0, 10.25, 1000.0, 2.5]), pa.float64()),
            "insured": pa.array(some([True, False]), pa.bool_()),
            "born": pa.array(some(days), pa.date32()),
            "job": some(jobs),
            "grade": pa.array(some([1, 2, 3, 4, 5, 6, 7]), pa.int64()),
        }
    )


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    folder = tmp_path_factory.mktemp("plain") / "release"
    return cv.publish(table(), {"job": 3, "grade": 2}, folder, seed=1)


@pytest.fixture(scope="module")
def databases(release: cv.Release, postgres: str) -> Iterator[dict[str, Ask]]:
    with loaded(release, postgres) as engines:
        yield engines


PLAIN = [
    "age >= 60", "gender = 'F'", "gender <> 'M'", "gender IN ('F', 'M')", "age // 10 = 4",
    "age BETWEEN 30 AND 50", "gender IS NULL", "pay > 0", "insured", "insured = FALSE",
    "gender LIKE 'f%'", "gender LIKE '_a'", "age % 3 = -1", "born >= '2020-02-29'",
    "CASE WHEN age < 40 THEN 1 ELSE 2 END = 1", "coalesce(age, 0) = 0", "pay * 2 + 1 > age",
    "CAST(age AS VARCHAR) = '33'", "abs(pay) > 1", "length(gender) = 1", "pay / 2 > 1",
    "year(born) = 2020", "month(born) > 6", "greatest(age, pay, 3) = 3", "least(age, pay) < 0",
    "nullif(age, 33) IS NULL", "substr(gender, 2) = '%'", "left(gender, 1) = 'f'",
    "right(gender, 1) = 'a'", "trim(gender) || 'x' = 'Fx'", "round(pay) = 3", "floor(pay) = 2",
    "ceil(pay) = 3", "sqrt(pay) > 1", "ln(pay) > 1", "sign(age) = -1", "gender < 'a'",
    "CAST(age AS DOUBLE) / 4 > 9.3", "-age > 2", "pay IN (0.5, 2.5)",
]  # fmt: skip
JOB = [
    "job = 'nurse'", "job <> 'cook'", "job IN ('nurse', 'clerk')", "job NOT IN ('driver')",
    "job IS NULL", "job IS NOT NULL", "job = 'nobody'", "job IN ('a', 'nurse')",
]  # fmt: skip
GRADE = ["grade = 2", "grade > 2", "grade BETWEEN 2 AND 4", "grade <> 1", "grade IS NULL"]
MEASURES = [
    "count(*)", "sum(pay)", "avg(age)", "count(age)", "count(job)", "2.5 * count(*)",
    "count(*) FILTER (WHERE {}) / count(*)", "sum(age) FILTER (WHERE {})", "-1 * sum(pay) / 7",
    "avg(pay) FILTER (WHERE {})", "count(*) AS n, avg(age) AS mean",
]  # fmt: skip
KEYS = ["", "gender", "job", "gender, job", "age // 20", "insured, job", "born"]


@st.composite
def questions(draw: st.DrawFn, sensitive: list[str]) -> str:
    def formula(depth: int = 2) -> str:
        if not depth or draw(st.booleans()):
            return draw(st.sampled_from(PLAIN) | st.sampled_from(sensitive))
        word = draw(st.sampled_from(["AND", "OR"]))
        result = f"({formula(depth - 1)} {word} {formula(depth - 1)})"
        return f"NOT {result}" if draw(st.booleans()) else result

    measure = draw(st.sampled_from(MEASURES))
    measure = measure.format(formula(1)) if "{}" in measure else measure
    keys = draw(st.sampled_from(KEYS if sensitive is not GRADE else ["", "gender", "grade"]))
    where = f" WHERE {formula()}" if draw(st.booleans()) else ""
    by = f" GROUP BY {keys}" if keys else ""
    return f"SELECT {keys + ', ' if keys else ''}{measure} FROM release{where}{by}"


@pytest.mark.slow
@examples(
    20,
    # Three databases for every step of shrinking would take minutes.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(query=questions(JOB) | questions(GRADE))
def test_any_question_has_the_answer_of_method_unbiased(
    query: str, release: cv.Release, databases: dict[str, Ask]
) -> None:
    for dialect, ask in databases.items():
        if can_be_written(query, release):
            compare(query, release, dialect, ask)


@pytest.mark.few(3, slow=40)
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
@pytest.mark.parametrize("condition", PLAIN)
def test_every_condition_means_the_same(
    condition: str, dialect: str, release: cv.Release, databases: dict[str, Ask]
) -> None:
    query = f"SELECT count(*) FROM release WHERE job = 'nurse' AND {condition}"
    compare(query, release, dialect, databases[dialect])


@pytest.mark.few(1)
@pytest.mark.parametrize("keys", ["", "gender", "gender, grade"])
@pytest.mark.parametrize("measure", ["2.5 * count(*)", "sum(pay)"])
def test_conditions_that_no_value_meets(
    measure: str, keys: str, release: cv.Release, databases: dict[str, Ask]
) -> None:
    where = "grade = 2 AND NOT grade BETWEEN 2 AND 4"
    columns, by = (f"{keys}, ", f" GROUP BY {keys}") if keys else ("", "")
    query = f"SELECT {columns}{measure} FROM release WHERE {where}{by}"
    for dialect, ask in databases.items():
        if "grade" not in keys:
            compare(query, release, dialect, ask)
            continue
        with pytest.raises(QueryError, match="No value of the sensitive column"):
            release.plain_sql(query, dialect=dialect)


@pytest.mark.few(1)
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
def test_having_order_and_limit(
    dialect: str, release: cv.Release, databases: dict[str, Ask]
) -> None:
    compare(
        "SELECT gender, job, count(*) AS n FROM release GROUP BY ALL "
        "HAVING n > 15 AND NOT n BETWEEN 20 AND 25 "
        "ORDER BY gender DESC, n DESC, job LIMIT 7 OFFSET 2",
        release,
        dialect,
        databases[dialect],
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT job, grade, count(*) FROM release WHERE age > 30 GROUP BY ALL",
        "SELECT count(*) FROM release WHERE job = 'nurse' AND grade = 2",
        "SELECT gender, count(*) FROM release WHERE job = 'nurse' OR grade > 2 GROUP BY 1",
        "SELECT grade, avg(age) FROM release WHERE job IN ('nurse', 'cook') GROUP BY grade",
    ],
)
def test_several_columns_multiply_their_weights(
    query: str, dialect: str, release: cv.Release, databases: dict[str, Ask]
) -> None:
    # A single combination has a sharper error with us; sets and averages the same one.
    single = "ALL" in query or "grade = 2" in query
    compare(query, release, dialect, databases[dialect], errors=not single)
    if single:
        errors = [row[-1] for row in databases[dialect](release.plain_sql(query, dialect=dialect))]
        ours = [cell.std_error for cell in release.sql(query, method="unbiased").estimates]
        # Noisy for one cell, on average of the same size.
        known = [error for error in errors if error is not None]
        assert all(error > 0 for error in known)
        errors = [number for number in ours if number is not None]
        assert np.mean(known) == pytest.approx(np.mean(errors), rel=0.6)


def test_the_table_can_be_named_and_names_cannot_break_out(release: cv.Release) -> None:
    text = release.plain_sql("SELECT count(*) FROM release", dialect="duckdb", table='own.a"b')
    assert '"own"."a""b"' in text
    for wrong in ("", "a..b", "a.b.c.d", "a\0b"):
        with pytest.raises(QueryError):
            release.plain_sql("SELECT count(*) FROM release", table=wrong)


@pytest.mark.parametrize(
    ("dialect", "condition"),
    [
        ("sqlite", "lower(gender) = 'f'"),
        ("sqlite", "gender ILIKE 'f'"),
        ("postgres", "round(pay, 1) = 2.5"),
        ("postgres", "pay % 2 = 0"),
        ("sqlite", "CAST(gender AS INTEGER) = 1"),
        ("postgres", "substr(gender, -1) = 'F'"),
        ("sqlite", "gender LIKE gender"),
    ],
)
def test_what_a_database_would_answer_otherwise_is_refused(
    dialect: str, condition: str, release: cv.Release
) -> None:
    with pytest.raises(QueryError, match="not the same in"):
        release.plain_sql(f"SELECT count(*) FROM release WHERE {condition}", dialect=dialect)
    release.plain_sql(f"SELECT count(*) FROM release WHERE {condition}", dialect="duckdb")


def test_what_no_sum_can_say_is_refused(tmp_path: Path, release: cv.Release) -> None:
    with pytest.raises(SettingsError, match="no dialect 'oracle'"):
        release.plain_sql("SELECT count(*) FROM release", dialect="oracle")
    greedy = cv.publish(table(), {"job": 3}, tmp_path / "greedy", groups="anatomy", seed=1)
    with pytest.raises(QueryError, match="more than sums"):
        greedy.plain_sql("SELECT job, count(*) FROM release GROUP BY 1")
    assert "SELECT" in greedy.plain_sql("SELECT gender, count(*) FROM release GROUP BY 1")
    two = pa.table({"x": [1, 2] * 300, "y": (["a"] * 299 + ["b"] * 101 + ["c"] * 200)})
    frequent = cv.publish(two, {"y": 2}, tmp_path / "frequent", seed=1)
    with pytest.raises(QueryError, match=r"so frequent|more than sums"):
        frequent.plain_sql("SELECT y, count(*) FROM release GROUP BY 1")
    many = pa.table({"y": [f"v{i % 400}" for i in range(4_000)]})
    wide = cv.publish(many, {"y": 2}, tmp_path / "wide", seed=1)
    with pytest.raises(QueryError, match="160,000 weights"):
        wide.plain_sql("SELECT y, count(*) FROM release GROUP BY 1")
    bits = " OR ".join(f"(job = '{j}' AND age > {i})" for i, j in enumerate("abcdefg"))
    with pytest.raises(QueryError, match="simpler"):
        release.plain_sql(f"SELECT count(*) FROM release WHERE {bits}")


@pytest.mark.slow
def test_the_command_prints_what_runs(release: cv.Release, databases: dict[str, Ask]) -> None:
    from typer.testing import CliRunner

    from countveil.cli.app import app

    query = "SELECT job, count(*) FROM release GROUP BY job"
    done = CliRunner().invoke(app, ["sql", str(release.folder), query, "--dialect", "sqlite"])
    assert done.exit_code == 0
    ours = {g: e.estimate for (g,), e in _pairs(release.sql(query, method="unbiased"))}
    theirs = {row[0]: row[1] for row in databases["sqlite"](done.stdout)}
    assert theirs == pytest.approx(ours)


def _pairs(answer: Any) -> Any:
    return zip(answer.groups, answer.estimates, strict=True)
