# ruff: noqa: E501 - a query is one line
"""With a channel that changes nothing, every answer must be the database's own.

The logic of queries (three-valued formulas over plain and sensitive columns, groups, filters, sums,
averages, ratios, HAVING, ORDER BY, LIMIT) is tested apart from noise: the release's published
values are taken for true ones, and DuckDB answers the same SQL on the same rows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import countveil as cv
from countveil.engines.local import release_table
from countveil.engines.pivot import pivot
from countveil.maths.channel import ChannelView
from tests.strategies import examples

ROWS = 600


class Noiseless(cv.Release):
    """A release whose published values are taken for the true ones."""

    def _view(self, name: str, domain: tuple[Any, ...]) -> ChannelView:
        published = super()._view(name, domain).published
        return ChannelView(self.rows, 1.0, published, np.eye(published.size), two_state_holds=True)


def table() -> pa.Table:
    rng = np.random.default_rng(5)

    def some(values: list[Any], missing: float = 0.1) -> list[Any]:
        picked = rng.integers(0, len(values), ROWS)
        gone = rng.random(ROWS) < missing
        return [None if g else values[i] for i, g in zip(picked, gone, strict=True)]

    return pa.table(
        {
            "age": pa.array(some(list(range(17, 90))), pa.int32()),
            "gender": some(["F", "M"]),
            "pay": pa.array(some([0.5, -2.0, 10.25, 1000.0]), pa.float64()),
            "insured": pa.array(some([True, False]), pa.bool_()),
            "job": some(["nurse", "cook", "clerk", "driver", "judge"]),
            "grade": pa.array(some([1, 2, 3, 4]), pa.int64()),
            "day": pa.array(some([dt.date(1970 + n, 1 + n, 28 + n % 4) for n in range(0, 12, 2)])),
            "moment": pa.array(
                some(
                    [
                        dt.datetime.fromisoformat(f"202{n}-03-0{1 + n} {5 * n:02}:1{n}")
                        for n in range(5)
                    ]
                ),
                pa.timestamp("us"),
            ),
        }
    )


@pytest.fixture(scope="module", params=["files", "memory"])
def release(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Noiseless]:
    """Answered from the files, or from codes in memory where they suffice."""
    folder = tmp_path_factory.mktemp("duckdb") / "release"
    cv.publish(table(), {"job": 2, "grade": 2}, folder, seed=1)
    with pytest.MonkeyPatch.context() as patch:
        from_files = 0 if request.param == "memory" else 1 << 60
        patch.setattr("countveil.engines.local.release_table.FROM_FILES", from_files)
        yield Noiseless(folder)


@pytest.fixture(scope="module")
def database(release: Noiseless) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    files = str(release.folder / "data" / "*.parquet")
    connection.execute(f"CREATE TABLE release AS SELECT * FROM '{files}'")
    return connection


def compare(query: str, release: Noiseless, database: duckdb.DuckDBPyConnection) -> None:
    """Same rows, in the same order if the query orders them; sums to rounding."""
    answer = release.sql(query)
    n_keys = len(answer.group_columns)
    ours = [
        (*group, *(block.estimates[row].estimate for block in answer.blocks))
        for row, group in enumerate(answer.groups)
    ]
    theirs = database.execute(query).fetchall()
    # A group by a sensitive value is answered also where no row publishes it: with nothing.
    there = {row[:n_keys] for row in theirs}
    for row in ours:
        assert row[:n_keys] in there or not any(row[n_keys:]), query
    ours = [row for row in ours if row[:n_keys] in there]
    if "ORDER BY" not in query:
        # The total over a key has the same key as the rows that lack it.
        ours, theirs = (
            sorted(rows, key=lambda r: (repr(r[:n_keys]), [float(n or 0) for n in r[n_keys:]]))
            for rows in (ours, theirs)
        )
    assert [row[:n_keys] for row in ours] == [row[:n_keys] for row in theirs], query
    for row, other in zip(ours, theirs, strict=True):
        # DuckDB's 0/0 is not a number; ours is missing.
        expected = [0.0 if n is None or n != n else n for n in other[n_keys:]]  # noqa: PLR0124
        results = [0.0 if number is None else number for number in row[n_keys:]]
        assert results == pytest.approx(expected, abs=1e-6), query


PLAIN = [
    "age >= 60", "age < 30", "gender = 'F'", "gender <> 'M'", "gender IN ('F', 'M')",
    "age BETWEEN 30 AND 50", "gender IS NULL", "age IS NOT NULL", "pay > 0", "insured",
    "gender LIKE 'F%'", "age % 2 = 0", "age // 10 = 4", "lower(gender) = 'f'",
    "CASE WHEN age < 40 THEN 1 ELSE 2 END = 1", "coalesce(age, 0) = 0", "pay * 2 + 1 > age",
    "CAST(age AS VARCHAR) = '33'", "abs(pay) > 1", "length(gender) = 1", "pay / 2 > 1",
    "gender NOT LIKE 'F%'", "starts_with(gender, 'F')", "suffix(gender, 'M')",
    "contains(gender, 'M')", "regexp_matches(gender, '^[F]')", "replace(gender, 'F', 'x') = 'x'",
    "gender IS DISTINCT FROM 'F'", "age IS NOT DISTINCT FROM 33", "(age > 40) IS TRUE",
    "(age > 40) IS NOT TRUE", "CASE gender WHEN 'F' THEN 1 WHEN 'M' THEN 2 END = 1",
    "if(age > 50, 1, 0) = 1", "power(age, 2) > 1600", "age IN (30, 30 + 1)",
    "date_trunc('month', day) = DATE '1972-03-01'", "day + INTERVAL 1 MONTH > DATE '1976-08-01'",
    "day >= DATE '1976-08-31' - INTERVAL 2 YEAR", "extract(dow FROM day) = 3", "quarter(day) = 2",
    "strftime(day, '%Y-%m') = '1972-03'", "date_diff('month', day, DATE '1980-01-01') > 60",
    "DATE '1980-01-01' - day > 2000", "week(day) > 20", "dayname(day) = 'Friday'",
    "hour(moment) >= 10", "date_trunc('hour', moment) > '2022-01-01'", "day > '1974-01-01'",
    "day - 3 < DATE '1972-03-27'", "date_part('year', moment) = 2021", "monthname(day) = 'May'",
]  # fmt: skip
SENSITIVE = [
    "job = 'nurse'", "job <> 'cook'", "job IN ('nurse', 'clerk')", "job NOT IN ('driver')",
    "job IS NULL", "job IS NOT NULL", "'judge' = job", "grade = 2", "grade > 2", "2 >= grade",
    "grade BETWEEN 2 AND 3", "grade NOT BETWEEN 2 AND 3", "grade <> 1", "grade IS NULL",
    "job LIKE 'c%'", "job NOT LIKE 'c%'", "left(job, 1) = 'c'", "upper(job) IN ('COOK', 'NURSE')",
    "job > 'cook'", "job BETWEEN 'clerk' AND 'driver'", "coalesce(job, 'none') = 'none'",
    "length(job) = 5", "grade % 2 = 1", "grade + 1 > 3", "grade * 2 BETWEEN 3 AND 6",
    "CASE WHEN job = 'cook' THEN 'a' ELSE 'b' END = 'a'", "(job = 'cook') IS TRUE",
    "(job = 'cook') IS NOT TRUE", "job IS DISTINCT FROM 'cook'", "grade IN (1, 1 + 1)",
    "lower('NURSE') = job", "regexp_matches(job, '^(c|n)')", "contains(job, 'r')",
    "CASE WHEN job = 'cook' AND age > 40 THEN 'x' WHEN grade = 1 THEN 'y' END = 'x'",
    "CASE WHEN job = 'cook' THEN age > 40 ELSE insured END",
    "CASE WHEN job = 'cook' THEN 1 WHEN age > 50 THEN 2 END IN (1, 2)",
    "CASE WHEN grade = 1 THEN gender ELSE 'F' END = 'F'",
    "CASE WHEN job = 'cook' THEN 1 WHEN age > 50 THEN 2 END IS NULL",
    "CASE job WHEN 'cook' THEN 'x' WHEN 'nurse' THEN gender END <> 'M'",
]  # fmt: skip


def formulas() -> st.SearchStrategy[str]:
    atoms = st.sampled_from(PLAIN) | st.sampled_from(SENSITIVE)
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.builds("({} AND {})".format, inner, inner),
            st.builds("({} OR {})".format, inner, inner),
            st.builds("(NOT {})".format, inner),
        ),
        max_leaves=6,
    )


@pytest.mark.slow
@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=formulas())
def test_any_formula_counts_what_the_database_counts(
    release: Noiseless, database: duckdb.DuckDBPyConnection, where: str
) -> None:
    query = f"SELECT count(*) FROM release WHERE {where}"
    compare(query, release, database)
    (truth,) = database.execute(query).fetchall()[0]
    assert release.count(where).estimate == pytest.approx(truth, abs=1e-6)


KEYS = [
    "gender", "age // 10", "job", "grade", "insured", "CASE WHEN pay > 0 THEN 'in' END",
    "left(job, 1)", "job = 'nurse'", "grade % 2", "job = 'nurse' AND age > 40", "year(day)",
    "CASE WHEN job IN ('nurse', 'cook') THEN 'a' WHEN grade > 2 THEN 'b' END",
    "CASE WHEN job = 'cook' AND age > 30 THEN 1 ELSE 0 END", "strftime(day, '%m/%Y')",
    "if(job LIKE '%r%', 'r', 'no r')",
]  # fmt: skip
MEASURES = [
    "count(*)", "count(age)", "count(job)", "count(NULL)", "count(1)", "sum(age)", "sum(pay * 2)",
    "avg(pay)", "avg(age)", "count(*) FILTER (WHERE {f})", "sum(pay) FILTER (WHERE {f})",
    "avg(age) FILTER (WHERE {f})", "100.0 * count(*) FILTER (WHERE {f}) / count(*)",
    "count(*) / 2", "2 * sum(age)", "sum(CASE WHEN {f} THEN 1 ELSE 0 END)", "count_if({f})",
    "sum(if({f}, age, 0))", "avg(CASE WHEN {f} THEN 1.0 ELSE 0 END)",
    "count(CASE WHEN {f} THEN 1 END)", "avg(CASE WHEN {f} THEN age END)",
    "sum(CASE WHEN {f} THEN pay END)", "sum(CAST({f} AS INT))",
    "sum(CASE WHEN {f} THEN 0 WHEN job = 'cook' THEN 1 ELSE 0 END)",
    "count(CASE WHEN {f} THEN 'x' ELSE 'y' END)", "avg(CASE WHEN {f} THEN 2 ELSE 0 END)",
    "sum(CASE WHEN {f} THEN 1 END) FILTER (WHERE age > 20)",
]  # fmt: skip


@pytest.mark.slow
@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    keys=st.lists(st.sampled_from(KEYS), max_size=3, unique=True),
    measures=st.lists(st.sampled_from(MEASURES), min_size=1, max_size=3),
    where=formulas(),
    filter_=formulas(),
)
def test_any_grouping_and_measure(
    release: Noiseless,
    database: duckdb.DuckDBPyConnection,
    keys: list[str],
    measures: list[str],
    where: str,
    filter_: str,
) -> None:
    items = keys + [f"{m.format(f=filter_)} AS m{i}" for i, m in enumerate(measures)]
    clause = "GROUP BY ALL" if keys else ""
    compare(f"SELECT {', '.join(items)} FROM release WHERE {where} {clause}", release, database)


REWRITTEN = [
    "SELECT left(job, 1) l, count(*) n FROM release GROUP BY l HAVING n > 50 ORDER BY l",
    "SELECT gender, grade, count(*) n FROM release GROUP BY ROLLUP (gender, grade)",
    "SELECT gender, left(job, 1) l, avg(age) a FROM release GROUP BY CUBE (gender, l)",
    "SELECT gender, job, count(*) FROM release WHERE age > 30 GROUP BY GROUPING SETS ((gender), (job), ())",
    "SELECT grade, gender, sum(age) s FROM release GROUP BY grade, ROLLUP (gender)",
    "SELECT gender, count(*) FROM release GROUP BY gender HAVING gender = 'F'",
    "WITH a AS (SELECT r.*, age + 1 AS older FROM release r) SELECT job, avg(older) FROM a GROUP BY 1",
    "SELECT job, count(*) n FROM release GROUP BY 1 HAVING job <> 'cook' AND n > 10 ORDER BY 1",
    "SELECT left(job, 1) AS l, count(*) n FROM release GROUP BY 1 HAVING l <> 'c' ORDER BY l",
    "WITH a AS (SELECT * FROM release WHERE age > 30) SELECT job, count(*) FROM a GROUP BY job",
    "WITH a AS (SELECT age + 1 AS older, job FROM release), b AS (SELECT * FROM a WHERE older > 40) SELECT left(job, 1) l, avg(older) FROM b WHERE job <> 'cook' GROUP BY l",
    "SELECT t.kind, count(*) FROM (SELECT CASE WHEN job = 'cook' THEN 'c' ELSE gender END IS NULL AS kind, age FROM release) AS t WHERE t.age > 20 GROUP BY t.kind",
    "SELECT job, n FROM (SELECT job, count(*) AS n FROM release GROUP BY job) WHERE n > 90 ORDER BY n DESC, job LIMIT 3",
    "SELECT * FROM (SELECT gender, count(*) AS n FROM release GROUP BY 1) ORDER BY n",
    "SELECT sum(n) FROM (SELECT gender, job, count(*) AS n FROM release GROUP BY ALL)",
    "SELECT gender, sum(s) FROM (SELECT gender, job, sum(age) AS s FROM release GROUP BY ALL) GROUP BY gender",
    "SELECT count(*) FROM release WHERE age > (SELECT avg(age) FROM release) AND job = 'cook'",
    "WITH a AS (SELECT * FROM release WHERE gender = 'F') SELECT count(*) FROM a WHERE pay > (SELECT avg(pay) FROM a)",
    "SELECT DISTINCT gender, insured FROM release WHERE age > 50",
    "SELECT gender FROM release GROUP BY gender ORDER BY gender DESC NULLS LAST",
    "SELECT count(DISTINCT gender) FROM release",
    "SELECT insured, count(DISTINCT age) d, min(age) lo, max(pay) hi, count(*) n FROM release WHERE gender = 'F' GROUP BY insured",
    "SELECT min(age) * 2 AS twice FROM release WHERE age > 20 HAVING twice > 3",
    "SELECT count(DISTINCT age // 10) FROM release WHERE insured",
    "SELECT date_trunc('year', moment) AS y, count(*) FROM release GROUP BY y ORDER BY y",
]


@pytest.mark.few(13)
@pytest.mark.parametrize(
    "query",
    [
        *REWRITTEN,
        "SELECT job, count(*) AS n FROM release GROUP BY job ORDER BY n DESC, job",
        "SELECT job, count(*) AS n FROM release GROUP BY job HAVING count(*) > 100 ORDER BY job",
        "SELECT job, count(*) n FROM release GROUP BY 1 HAVING NOT n < 100 ORDER BY 1 DESC",
        "SELECT age // 10 d, count(*) n FROM release GROUP BY d ORDER BY d NULLS FIRST LIMIT 4",
        "SELECT gender, job, count(*) FROM release GROUP BY 1, 2 ORDER BY 3, 1, 2 LIMIT 3 OFFSET 1",
        "SELECT gender, avg(age) a FROM release GROUP BY ALL HAVING a BETWEEN 10 AND 99 ORDER BY a",
        "SELECT gender g, count(*) n FROM release WHERE job = 'cook' GROUP BY gender ORDER BY g",
        "SELECT grade, sum(pay) s FROM release GROUP BY 1 HAVING s > 0 OR count(*) > 9 ORDER BY 1",
        "SELECT job, grade, count(*) n FROM release GROUP BY 1, 2 ORDER BY n DESC, job, grade",
    ],
)
def test_arranged_answers(
    release: Noiseless, database: duckdb.DuckDBPyConnection, query: str
) -> None:
    compare(query, release, database)


@pytest.mark.few(1)
def test_the_tally_is_one_statement(release: Noiseless, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the number of cells: one GROUP BY per query, once the histogram is known."""
    query = (
        "SELECT gender, job, grade, count(*) n, avg(pay * age) FILTER (WHERE job = 'cook' OR age > 4) a "
        "FROM release WHERE grade > 1 OR insured GROUP BY ALL"
    )
    release.sql(query)
    statements: list[Any] = []

    def counted(rows: Any, tally: Any, domains: Any) -> Any:
        statements.append(tally)
        return pivot(rows, tally, domains)

    monkeypatch.setattr(release_table, "pivot", counted)
    release.sql(query)
    # Codes in memory answer without any.
    assert len(statements) <= 1
    assert Path(release.folder).exists()
