"""A release in somebody's PostgreSQL server, and questions that would steer a terminal."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import adbc_driver_postgresql.dbapi as adbc
import duckdb
import pyarrow as pa
import pytest

import countveil as cv
from countveil.display import visible
from tests.robustness.conftest import Quick
from tests.robustness.tools import assert_refused, run
from tests.servers import postgres

__all__ = ["postgres"]
ESCAPE = "\x1b]0;owned\x07"
SEX = "SELECT sex, count(*) FROM release GROUP BY sex"
JOBS = [f"job {number}" for number in range(7)] + [f"{ESCAPE}job's"]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with control characters in a value."""
    table = {"sex": [*"FM"] * 40, "job": [JOBS[row // 2 % 8] for row in range(80)]}
    folder = tmp_path_factory.mktemp("release") / "release"
    cv.publish(pa.table(table), {"job": 2}, folder, seed=1)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["postgres", "sqlite", "duckdb"])
def test_sql_text_holds_no_control_characters(release: Path, quick: Quick, dialect: str) -> None:
    question = f"SELECT sex, count(*) AS n FROM release WHERE job = '{ESCAPE}job''s' GROUP BY sex"
    outcome = quick("sql", release, question, "--dialect", dialect)
    assert outcome.code == 0, outcome
    assert visible(outcome.out) == outcome.out
    assert "chr(27)" in outcome.out or "char(27)" in outcome.out
    named = quick("sql", release, f'SELECT sex AS "{ESCAPE}", count(*) FROM release GROUP BY sex')
    assert_refused(named, "control characters", "name columns with as")


def test_the_text_means_the_same_in_databases(release: Path) -> None:
    question = f"SELECT sex, count(*) FROM release WHERE job = '{ESCAPE}job''s' GROUP BY sex"
    opened = cv.open(release)
    ours = {row[0]: row[1] for row in opened.sql(question, method="unbiased").rows()}
    duck = duckdb.connect()
    duck.execute(f"CREATE TABLE release AS FROM '{release}/data/*.parquet'")
    theirs = duck.execute(opened.plain_sql(question, dialect="duckdb")).fetchall()
    assert {row[0]: row[1] for row in theirs} == pytest.approx(ours)
    rows = duck.execute("FROM release").fetchall()
    with closing(sqlite3.connect(":memory:")) as lite:
        lite.execute("CREATE TABLE release (sex TEXT, job TEXT)")
        lite.executemany("INSERT INTO release VALUES (?, ?)", rows)
        found = lite.execute(opened.plain_sql(question, dialect="sqlite")).fetchall()
    assert {row[0]: row[1] for row in found} == pytest.approx(ours)


@pytest.fixture
def exported(release: Path, postgres: str) -> Iterator[str]:
    """The same release in a server."""
    cv.export(release, f"{postgres}#hostile", force=True)
    yield f"{postgres}#hostile"
    execute(postgres, "DROP VIEW IF EXISTS noisy", "DROP VIEW IF EXISTS noisy_manifest")


def execute(address: str, *statements: str) -> None:
    with adbc.connect(address, autocommit=True) as server, server.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.mark.slow
def test_remarks_of_a_server_cannot_steer_the_terminal(exported: str, postgres: str) -> None:
    remark = "E'\\x1b]0;owned\\x07'"
    execute(
        postgres,
        f"CREATE OR REPLACE FUNCTION loud(t text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN "
        f"PERFORM set_config('client_min_messages', 'notice', false); "
        f"RAISE NOTICE '%', {remark}; RETURN t; END $$",
        "CREATE VIEW noisy AS SELECT loud(sex) AS sex, job FROM hostile",
        "CREATE VIEW noisy_manifest AS SELECT * FROM hostile_manifest",
    )
    outcome = run("query", exported.replace("#hostile", "#noisy"), SEX)
    assert outcome.code == 0, outcome
    assert visible(outcome.err) == outcome.err


@pytest.mark.slow
def test_columns_of_another_type_are_refused(exported: str, postgres: str) -> None:
    wrong = {
        "an array": "ARRAY[sex]", "a number": "1", "json": "to_json(sex)", "bytes": "sex::bytea",
        "an interval": "'1 day'::interval",
    }  # fmt: skip
    for text in wrong.values():
        execute(
            postgres,
            "DROP VIEW IF EXISTS noisy", "DROP VIEW IF EXISTS noisy_manifest",
            f"CREATE VIEW noisy AS SELECT {text} AS sex, job FROM hostile",
            "CREATE VIEW noisy_manifest AS SELECT * FROM hostile_manifest",
        )  # fmt: skip
        outcome = run("query", exported.replace("#hostile", "#noisy"), SEX)
        assert_refused(outcome, "another type than the manifest says")


@pytest.mark.slow
def test_a_manifest_that_is_none_is_refused(exported: str, postgres: str) -> None:
    for text in ("NULL::text", "'{}'::bytea", "'[]'", "repeat('x', 40000000)"):
        execute(
            postgres,
            "DROP VIEW IF EXISTS noisy", "DROP VIEW IF EXISTS noisy_manifest",
            "CREATE VIEW noisy AS SELECT * FROM hostile",
            f"CREATE VIEW noisy_manifest AS SELECT {text} AS manifest",
        )  # fmt: skip
        assert_refused(run("query", exported.replace("#hostile", "#noisy"), SEX))
