"""A release in a database says what it says in its folder."""

from __future__ import annotations

import contextlib
import datetime as dt
import sqlite3
import sys
from pathlib import Path
from typing import Literal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.cli.app import app
from countveil.errors import (
    CountveilError,
    InputError,
    MissingExtraError,
    QueryError,
    ReleaseError,
    SettingsError,
    TargetError,
)
from countveil.release.formats.data_files import OUTPUT_FORMATS
from tests.asking.portable.test_plain_sql import table

QUESTIONS = [
    "SELECT gender, count(*) FROM release WHERE age >= 40 AND job = 'nurse' GROUP BY gender",
    "SELECT job, avg(pay) AS mean, count(*) AS n FROM release WHERE born > '2020-01-01' GROUP BY 1",
    "SELECT age // 20 AS part, insured, count(*) FROM release WHERE job <> 'cook' GROUP BY ALL",
    "SELECT job, grade, count(*) FROM release GROUP BY ALL",
]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    folder = tmp_path_factory.mktemp("export") / "release"
    return cv.publish(table(), {"job": 3, "grade": 2}, folder, seed=1)


@pytest.fixture(params=["postgresql", "duckdb", "duckdb schema", "duckdb quoted"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    tables = {
        "duckdb": "own",
        "duckdb schema": "census.own",
        "duckdb quoted": '"a ""schema""."."my.table"',
    }
    if request.param in tables:
        return f"duckdb:{tmp_path}/own #1.duckdb#{tables[request.param]}"
    server: str = request.getfixturevalue("postgres")
    return f"{server}#public.own {tmp_path.name}"


@pytest.mark.few(1)
def test_answers_are_those_of_the_folder(release: cv.Release, address: str) -> None:
    cv.export(release.folder, address)
    inside = cv.open(address)
    assert inside.manifest == release.manifest
    for question in QUESTIONS:
        ours, theirs = release.sql(question), inside.sql(question)
        key = repr
        expected = sorted(map(tuple, ours.rows()), key=key)
        found = sorted(map(tuple, theirs.rows()), key=key)
        assert len(found) == len(expected) > 0
        for own, other in zip(expected, found, strict=True):
            assert list(other) == [
                pytest.approx(v, rel=1e-9) if isinstance(v, float) else v for v in own
            ]
    told = inside.counts(["age > 3 AND job = 'nurse'", "job = 'cook'"])
    same = release.counts(["age > 3 AND job = 'nurse'", "job = 'cook'"])
    assert [e.estimate for e in told.estimates] == pytest.approx(
        [e.estimate for e in same.estimates]
    )
    statement = inside.plain_sql(QUESTIONS[0], dialect="duckdb")
    assert statement == release.plain_sql(QUESTIONS[0], dialect="duckdb")


@pytest.mark.few(1)
def test_what_is_there_is_not_lost(release: cv.Release, address: str) -> None:
    cv.export(release.folder, address)
    with pytest.raises(TargetError, match="exists already: replace it with force=True"):
        cv.export(release.folder, address)
    cv.export(release.folder, address, force=True)
    assert cv.open(address).rows == release.rows


def test_a_table_of_somebody_else_is_never_replaced(release: cv.Release, tmp_path: Path) -> None:
    file = tmp_path / "theirs.duckdb"
    with duckdb.connect(str(file)) as own:
        own.execute("CREATE TABLE precious AS SELECT 42 AS answer")
    with pytest.raises(TargetError, match="it is not a release"):
        cv.export(release.folder, f"duckdb:{file}#precious", force=True)
    with duckdb.connect(str(file)) as own:
        assert own.execute("SELECT answer FROM precious").fetchall() == [(42,)]


def test_sqlite_holds_the_rows_and_plain_sql_asks_them(release: cv.Release, tmp_path: Path) -> None:
    file = tmp_path / "own.sqlite"
    cv.export(release.folder, f"sqlite:{file}#own")
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        found = database.execute(
            release.plain_sql(QUESTIONS[0], dialect="sqlite", table="own")
        ).fetchall()
        manifest = database.execute("SELECT manifest FROM own_manifest").fetchone()[0]
        days = {row[0] for row in database.execute("SELECT DISTINCT born FROM own")}
    database.close()
    ours = release.sql(QUESTIONS[0], method="unbiased")
    assert {row[0]: row[1] for row in found} == pytest.approx(
        {g[0]: e.estimate for g, e in zip(ours.groups, ours.estimates, strict=True)}
    )
    assert manifest == (release.folder / "manifest.json").read_text()
    assert days == {None, "2019-12-31", "2020-02-29", "2021-07-04"}
    with pytest.raises(ReleaseError, match="countveil sql"):
        cv.open(f"sqlite:{file}#own")


def test_rows_that_are_not_the_manifests_are_refused(release: cv.Release, tmp_path: Path) -> None:
    file = tmp_path / "cut.duckdb"
    cv.export(release.folder, f"duckdb:{file}#own")
    with duckdb.connect(str(file)) as own:
        own.execute("DELETE FROM own WHERE age = 33")
    with pytest.raises(ReleaseError, match="the manifest says 900"):
        cv.open(f"duckdb:{file}#own")
    with pytest.raises(ReleaseError, match="does not hold"):
        cv.open(f"duckdb:{file}#other")
    with pytest.raises(ReleaseError, match="no DuckDB file"):
        cv.open(f"duckdb:{tmp_path}/nothing#own")


@pytest.mark.slow
def test_types_that_would_change_are_refused(tmp_path: Path) -> None:
    from decimal import Decimal

    rows = 60
    odd = {
        "price": pa.array([Decimal("1.10")] * rows, pa.decimal128(9, 2)),
        "when": pa.array([dt.datetime(2024, 1, 1)] * rows, pa.timestamp("us", "UTC")),  # noqa: DTZ001
        "nan": pa.array([float("nan")] * rows),
    }
    for name, values in odd.items():
        plain = pa.table({name: values, "s": list("abcdef") * 10})
        folder = tmp_path / name
        cv.publish(plain, {"s": 2}, folder, keep=[name], seed=1)
        file = tmp_path / f"{name}.sqlite"
        with pytest.raises(TargetError, match=r"would not keep exactly|not a number"):
            cv.export(folder, f"sqlite:{file}#own")
        assert not file.exists()
        cv.export(folder, f"duckdb:{tmp_path}/{name}.duckdb#own")
        assert cv.open(f"duckdb:{tmp_path}/{name}.duckdb#own").rows == rows


def test_lengths_of_time_that_duckdb_would_cut_are_refused(tmp_path: Path) -> None:
    units: list[tuple[Literal["ns", "us"], str | None]] = [
        ("ns", "cut to microseconds"),
        ("us", None),
    ]
    for unit, said in units:
        spans = pa.array(list(range(60)), pa.int64()).cast(pa.duration(unit))
        rows = pa.table({"span": spans, "s": list("abcdef") * 10})
        folder = tmp_path / unit
        cv.publish(rows, {"s": 2}, folder, keep=["span"], seed=1)
        to = f"duckdb:{tmp_path}/{unit}.duckdb#own"
        if said is None:
            cv.export(folder, to)
            with duckdb.connect(f"{tmp_path}/{unit}.duckdb") as own:
                longest = own.execute("SELECT max(span) FROM own").fetchall()
            assert longest == [(dt.timedelta(microseconds=59),)]
        else:
            with pytest.raises(TargetError, match=said):
                cv.export(folder, to)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me:hunter2@host/db#t",
        "postgres://me:hunter2@host/db#t",
        "postgresql://host/db?user=me&password=hunter2#t",
        "POSTGRESQL://me:hunter2@host/db#t",
        "postgresql://me:hunter2@[bad/db#t",
    ],
)
def test_a_password_is_refused_and_not_repeated(text: str, release: cv.Release) -> None:
    for attempt in (lambda: cv.open(text), lambda: cv.export(release.folder, text)):
        with pytest.raises(SettingsError) as caught:
            attempt()
        assert "hunter2" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_a_server_that_is_not_there_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "hunter2")
    with pytest.raises(CountveilError, match="nothing answers there") as caught:
        cv.open("postgresql://me@127.0.0.1:1/db#t")
    assert "hunter2" not in str(caught.value)


def test_what_the_database_would_count_otherwise_is_refused(
    release: cv.Release, postgres: str
) -> None:
    cv.export(release.folder, f"{postgres}#refused")
    with pytest.raises(QueryError, match="not the same in PostgreSQL"):
        cv.open(f"{postgres}#refused").count("round(pay, 1) = 2.5")


@pytest.mark.slow
def test_the_commands(release: cv.Release, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    to = f"duckdb:{tmp_path}/own.duckdb#own"
    done = CliRunner().invoke(app, ["export", str(release.folder), "--to", to])
    assert done.exit_code == 0
    assert "900 rows" in done.stdout
    asked = CliRunner().invoke(app, ["query", to, "SELECT count(*) FROM release"])
    assert "900" in asked.stdout


def test_only_a_file_of_the_database_is_written_to(
    release: cv.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB opens tables of other formats as well, and what is then written is nowhere."""
    monkeypatch.chdir(tmp_path)
    parquet = tmp_path / "in.parquet"
    pq.write_table(table(), parquet)
    (tmp_path / "in.csv").write_text("a,b\n1,2\n")
    sqlite3.connect("other.sqlite").close()
    Path("other.sqlite").write_bytes(b"SQLite format 3\0" + bytes(84))
    for name in ("in.parquet", "in.csv", "other.sqlite"):
        before = Path(name).read_bytes()
        with pytest.raises(TargetError, match="not a DuckDB file"):
            cv.export(release.folder, f"duckdb:{name}#own")
        with pytest.raises(ReleaseError, match="not a DuckDB file"):
            cv.open(f"duckdb:{name}#own")
        with pytest.raises(InputError, match="not a readable DuckDB file"):
            cv.inspect(f"duckdb:{name}#own")
        assert Path(name).read_bytes() == before
    # Names that mean something else to the libraries are those of files.
    cv.export(release.folder, "duckdb::memory:#own")
    assert cv.open("duckdb::memory:#own").rows == release.rows
    Path(":memory:").unlink()
    cv.export(release.folder, "sqlite::memory:#own")
    with contextlib.closing(sqlite3.connect(tmp_path / ":memory:")) as own, own:
        assert own.execute("SELECT count(*) FROM own").fetchone() == (release.rows,)
    own.close()


@pytest.mark.slow
@pytest.mark.parametrize("wished", OUTPUT_FORMATS)
def test_releases_of_every_format_are_exported(wished: str, tmp_path: Path) -> None:
    rows = table()
    plain = cv.publish(rows, {"job": 3, "grade": 2}, tmp_path / "plain", seed=1)
    other = cv.publish(
        rows, {"job": 3, "grade": 2}, tmp_path / "other", seed=1, output_format=wished,
        rows_per_file=400,
    )  # fmt: skip
    for number, release in enumerate((plain, other)):
        cv.export(release.folder, f"duckdb:{tmp_path}/own.duckdb#t{number}")
        cv.export(release.folder, f"sqlite:{tmp_path}/own.sqlite#t{number}")
    with duckdb.connect(f"{tmp_path}/own.duckdb") as own:
        one, two = (own.sql(f"SELECT * FROM t{number}").to_arrow_table() for number in (0, 1))
    assert one.equals(two)
    with contextlib.closing(sqlite3.connect(f"{tmp_path}/own.sqlite")) as lite, lite:
        first, second = (lite.execute(f"SELECT * FROM t{n}").fetchall() for n in (0, 1))
    lite.close()
    assert first == second
    inside = cv.open(f"duckdb:{tmp_path}/own.duckdb#t1")
    for question in QUESTIONS:
        answers = [list(asked.sql(question).rows()) for asked in (plain, other, inside)]
        assert answers[0] == answers[1]
        assert sorted(map(repr, answers[0])) == sorted(map(repr, answers[2]))


@pytest.mark.slow
def test_what_is_shown_and_verified_of_a_database(release: cv.Release, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    to = f"duckdb:{tmp_path}/own.duckdb#own"
    cv.export(release.folder, to)
    shown = CliRunner().invoke(app, ["show", to, "--format", "csv"])
    same = CliRunner().invoke(app, ["show", str(release.folder), "--format", "csv"])
    assert (shown.exit_code, shown.stdout) == (0, same.stdout)
    checked = CliRunner().invoke(app, ["verify", to])
    assert isinstance(checked.exception, SettingsError)
    assert "Only files have checksums" in str(checked.exception)


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(MissingExtraError, match=r"'\.\[postgres\]'"):
        cv.open("postgresql://me@host/db#t")
