"""With a channel that changes nothing, every answer must be the database's own.

The logic of queries (three-valued formulas over plain and sensitive columns, groups, filters, sums,
averages, ratios, HAVING, ORDER BY, LIMIT) is tested apart from noise: the release's published
values are taken for true ones, and DuckDB answers the same SQL on the same rows.
"""

from __future__ import annotations

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
        ours, theirs = (sorted(rows, key=lambda r: repr(r[:n_keys])) for rows in (ours, theirs))
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
]  # fmt: skip
SENSITIVE = [
    "job = 'nurse'", "job <> 'cook'", "job IN ('nurse', 'clerk')", "job NOT IN ('driver')",
    "job IS NULL", "job IS NOT NULL", "'judge' = job", "grade = 2", "grade > 2", "2 >= grade",
    "grade BETWEEN 2 AND 3", "grade NOT BETWEEN 2 AND 3", "grade <> 1", "grade IS NULL",
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


@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=formulas())
def test_any_formula_counts_what_the_database_counts(
    release: Noiseless, database: duckdb.DuckDBPyConnection, where: str
) -> None:
    query = f"SELECT count(*) FROM release WHERE {where}"
    compare(query, release, database)
    (truth,) = database.execute(query).fetchall()[0]
    assert release.count(where).estimate == pytest.approx(truth, abs=1e-6)


KEYS = ["gender", "age // 10", "job", "grade", "insured", "CASE WHEN pay > 0 THEN 'in' END"]
MEASURES = [
    "count(*)", "count(age)", "count(job)", "count(NULL)", "count(1)", "sum(age)", "sum(pay * 2)",
    "avg(pay)", "avg(age)", "count(*) FILTER (WHERE {f})", "sum(pay) FILTER (WHERE {f})",
    "avg(age) FILTER (WHERE {f})", "100.0 * count(*) FILTER (WHERE {f}) / count(*)",
    "count(*) / 2", "2 * sum(age)",
]  # fmt: skip


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


@pytest.mark.parametrize(
    "query",
    [
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


def test_the_tally_is_one_statement(release: Noiseless, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the number of cells: one GROUP BY per query, once the histogram is known."""
    query = (
        "SELECT gender, job, grade, count(*) n, avg(pay) FILTER (WHERE job = 'cook' OR age > 4) a "
        "FROM release WHERE grade > 1 OR insured GROUP BY ALL"
    )
    release.sql(query)
    statements: list[Any] = []

    def counted(rows: Any, tally: Any, domains: Any) -> Any:
        statements.append(tally)
        return pivot(rows, tally, domains)

    monkeypatch.setattr(release_table, "pivot", counted)
    release.sql(query)
    assert len(statements) == 1
    assert Path(release.folder).exists()
