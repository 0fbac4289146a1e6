"""Tables in SQLite and DuckDB files: read once, only read, every mistake with its sentence."""

from __future__ import annotations

import contextlib
import datetime as dt
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.errors import CountveilError, InputError, SettingsError
from countveil.tables.readers import streams
from tests.sample_tables import open_local

ROWS = 3_000


def rows() -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(3)
    return [
        (
            int(rng.integers(0, 90)),
            None if n % 7 == 0 else float(rng.normal()),
            str(rng.choice(["cook", "smith", "nurse", "clerk"])),
            str(dt.date(2020, 1, 1) + dt.timedelta(days=n % 500)),
            n % 2,
        )
        for n in range(ROWS)
    ]


@pytest.fixture
def sqlite_file(tmp_path: Path) -> Path:
    path = tmp_path / "in #1.db"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (age INT, wage REAL, job TEXT, day DATE, ok BOOLEAN)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows())
    return path


@pytest.fixture
def duckdb_file(tmp_path: Path) -> Path:
    path = tmp_path / "in.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (age INT, wage DOUBLE, job TEXT, day DATE, ok BOOLEAN)")
        names = ["age", "wage", "job", "day", "ok"]
        columns = [list(column) for column in zip(*rows(), strict=True)]
        connection.register("given", pa.table(columns, names=names))
        connection.execute("INSERT INTO t SELECT age, wage, job, day::DATE, ok = 1 FROM given")
        connection.execute("CREATE SCHEMA own; CREATE VIEW own.v AS SELECT age, job FROM t")
    return path


def table_of(source: str, **options: Any) -> pa.Table:
    opened = open_local(source, **options)
    columns = {}
    for column in opened.facts.columns:
        found = opened.histogram(column.name, np.zeros(0, np.int64))
        columns[column.name] = [found.values[code] for code in opened.codes(column.name).tolist()]
    return pa.table(columns)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
@pytest.mark.parametrize("small", [False, True])
def test_every_row_is_read_with_its_types(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, kind: str, small: bool
) -> None:
    path = request.getfixturevalue(f"{kind}_file")
    if small:
        monkeypatch.setattr(streams, "SPAN_ROWS", 700)
        monkeypatch.setattr("countveil.tables.storage.memory.COLUMNS_SHARE", 1e-9)
    found = table_of(f"{kind}:{path}#t")
    expected = [
        (age, wage, job, dt.date.fromisoformat(day), bool(ok)) for age, wage, job, day, ok in rows()
    ]
    assert list(zip(*found.to_pydict().values(), strict=True)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_query_and_a_part_of_a_table(request: pytest.FixtureRequest, kind: str) -> None:
    path = request.getfixturevalue(f"{kind}_file")
    # People end it with a semicolon.
    query = "SELECT job, age + 1 AS next FROM t WHERE age < 30;\n"
    found = table_of(f"{kind}:{path}", query=query)
    expected = [(row[2], row[0] + 1) for row in rows() if row[0] < 30]
    assert list(zip(*found.to_pydict().values(), strict=True)) == expected
    part = table_of(f"{kind}:{path}#t", where="age < 30", columns=["job"])
    assert part.to_pydict() == {"job": [row[2] for row in rows() if row[0] < 30]}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_release_of_a_database(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> None:
    path = request.getfixturevalue(f"{kind}_file")
    before = path.read_bytes()
    release = cv.publish(
        f"{kind}:{path}#t", {"job": 3}, tmp_path / "release", keep=["wage", "day", "ok"]
    )
    assert release.rows == ROWS
    assert path.read_bytes() == before
    found = pq.read_table(tmp_path / "release" / "data")
    assert sorted(found["age"].to_pylist()) == sorted(row[0] for row in rows())
    assert str(path) not in (tmp_path / "release" / "manifest.json").read_text()


@pytest.mark.slow
def test_a_schema_of_duckdb(duckdb_file: Path) -> None:
    assert table_of(f"duckdb:{duckdb_file}#own.v").num_rows == ROWS
    with pytest.raises(InputError, match=r"has 2 tables.*'own.v'"):
        table_of(f"duckdb:{duckdb_file}")


def test_the_only_table_needs_no_name(sqlite_file: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.db"
    sqlite_file.rename(plain)
    assert table_of(f"sqlite:{plain}").num_rows == ROWS
    with contextlib.closing(sqlite3.connect(plain)) as connection, connection:
        connection.execute("CREATE TABLE u (a)")
    with pytest.raises(InputError, match=r"has 2 tables. Name one, sqlite:.*#table"):
        table_of(f"sqlite:{plain}")


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("DROP TABLE t", "must be|may read|SELECT"),
        ("SELECT 1; SELECT 2", "SELECT"),
        ("SELECT * FROM nosuch", "nosuch"),
        ("SELEC job FROM t", "understand"),
        ("ATTACH 'other.db' AS o", "SELECT|may read"),
        ("SELECT job, job FROM t", "more than once"),
    ],
)
def test_a_query_can_only_read(
    request: pytest.FixtureRequest, kind: str, query: str, said: str
) -> None:
    path = request.getfixturevalue(f"{kind}_file")
    before = path.read_bytes()
    with pytest.raises(InputError, match=said):
        table_of(f"{kind}:{path}", query=query)
    assert path.read_bytes() == before


def test_duckdb_reaches_no_other_file(duckdb_file: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match="nothing else"):
        table_of(f"duckdb:{duckdb_file}", query=f"SELECT * FROM '{tmp_path / 'secret.csv'}'")
    with pytest.raises(InputError, match="nothing else"):
        table_of(f"duckdb:{duckdb_file}", query=f"SELECT * FROM read_text('{tmp_path}/secret.csv')")


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_what_is_not_there_or_not_readable(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    path = request.getfixturevalue(f"{kind}_file")
    with pytest.raises(InputError, match=r"no table 'tt'.*Did you mean 't'"):
        table_of(f"{kind}:{path}#tt")
    with pytest.raises(InputError, match="There is no file"):
        table_of(f"{kind}:{tmp_path / 'nowhere.db'}#t")
    (tmp_path / "odd.db").write_bytes(b"not a database at all" * 1000)
    with pytest.raises(InputError, match="is not a readable"):
        table_of(f"{kind}:{tmp_path / 'odd.db'}#t")
    with pytest.raises(InputError, match="No file is named"):
        table_of(f"{kind}:#t")
    with pytest.raises(SettingsError, match="Leave one of them out"):
        table_of(f"{kind}:{path}#t", query="SELECT 1")
    with pytest.raises(SettingsError, match=r"query=\.\.\. is for a table in a database"):
        cv.inspect(cv.generate(20), query="SELECT 1")


@contextlib.contextmanager
def other_program(code: str) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-c", code + "\nprint('ready', flush=True)\ninput()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield
        process.communicate("\n")


def test_a_locked_file_says_so(
    sqlite_file: Path, duckdb_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("countveil.tables.readers.sqlite.BUSY_SECONDS", 0.1)
    code = f"import sqlite3; c = sqlite3.connect({str(sqlite_file)!r}, isolation_level=None)"
    with (
        other_program(f"{code}; c.execute('BEGIN EXCLUSIVE')"),
        pytest.raises(InputError, match="is locked"),
    ):
        table_of(f"sqlite:{sqlite_file}#t")
    with (
        other_program(f"import duckdb; c = duckdb.connect({str(duckdb_file)!r})"),
        pytest.raises(InputError, match="is locked"),
    ):
        table_of(f"duckdb:{duckdb_file}#t")


def test_sqlite_columns_that_mix_types(tmp_path: Path) -> None:
    path = tmp_path / "in.db"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (n, m, d DATE, b BOOLEAN, e)")
        values = [(1, "CANARY", "2024-01-01", 1, None), (2.5, 3, "soon", 7, None)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", values)
    with pytest.raises(InputError, match=r"'m' mixes integer and text.*CAST") as told:
        table_of(f"sqlite:{path}#t")
    assert "CANARY" not in str(told.value)
    found = table_of(f"sqlite:{path}", query="SELECT n, CAST(m AS TEXT) AS m, d, b, e FROM t")
    assert found.to_pydict() == {
        "n": [1.0, 2.5], "m": ["CANARY", "3"], "d": ["2024-01-01", "soon"], "b": [1, 7],
        "e": [None, None],
    }  # fmt: skip


def test_duckdb_may_not_put_plain_values_on_a_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("countveil.tables.readers.duckdb.LEAST_BYTES", 20 << 20)
    monkeypatch.setattr("countveil.tables.storage.memory.COLUMNS_SHARE", 1e-9)
    path = tmp_path / "in.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT hash(range) AS h FROM range(3000000)")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(CountveilError, match="more memory"):
        table_of(f"duckdb:{path}", query="SELECT h, h::TEXT AS t FROM t ORDER BY t")
    assert sorted(tmp_path.iterdir()) == before
