"""Every DuckDB connection that countveil opens reaches its own data and nothing else."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.engines.databases.duckdb_file import DuckdbFile
from countveil.engines.local.release_table import LocalRelease
from countveil.errors import CountveilError
from countveil.sql.locked_duckdb import connect, connect_to_file, is_duckdb_file

USES = ["in memory", "beside a folder", "file to read", "file to write"]
FORBIDDEN = [
    "SELECT * FROM read_csv('{other}/secret.csv')",
    "SELECT * FROM '{other}/secret.csv'",
    "SELECT * FROM read_text('{other}/secret.csv')",
    "SELECT * FROM glob('{other}/*')",
    "COPY (SELECT 1) TO '{other}/out.csv'",
    "ATTACH '{other}/other.duckdb'",
    "EXPORT DATABASE '{other}/exported'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET allowed_directories = ['/']",
    "SET temp_directory = '{other}'",
    "SET autoload_known_extensions = true",
    "RESET enable_external_access",
    "SELECT * FROM secret_of_python",
]


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A folder with a file that must stay out of reach."""
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "secret.csv").write_text("a,b\n1,2\n")
    with duckdb.connect(str(folder / "other.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    return folder


@pytest.fixture(params=USES)
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> duckdb.DuckDBPyConnection:
    own = tmp_path / "own"
    own.mkdir()
    file = own / "own.duckdb"
    if request.param == "in memory":
        return connect()
    if request.param == "beside a folder":
        return connect([own])
    with duckdb.connect(str(file)) as made:
        made.execute("CREATE TABLE t AS SELECT 1 AS a")
    return connect_to_file(file, read_only=request.param == "file to read")


@pytest.mark.few(4)
@pytest.mark.parametrize("statement", FORBIDDEN)
def test_nothing_else_is_reached(
    statement: str, connection: duckdb.DuckDBPyConnection, other: Path
) -> None:
    secret_of_python = pa.table({"a": [1]})
    assert secret_of_python.num_rows == 1
    before = sorted(other.iterdir())
    with pytest.raises(duckdb.Error):
        connection.execute(statement.format(other=other))
    assert sorted(other.iterdir()) == before


def test_a_file_that_is_read_is_not_written_and_does_not_spill(tmp_path: Path) -> None:
    file = tmp_path / "own.duckdb"
    with duckdb.connect(str(file)) as made:
        made.execute("CREATE TABLE t AS SELECT 1 AS a")
    with connect_to_file(file, most_bytes=128 << 20) as connection:
        with pytest.raises(duckdb.Error, match="read-only"):
            connection.execute("INSERT INTO t VALUES (2)")
        settings = connection.execute(
            "SELECT current_setting('temp_directory'), current_setting('memory_limit')"
        ).fetchall()
    assert settings == [("", "128.0 MiB")]


def test_files_of_duckdb_are_told_by_their_content(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "own.duckdb")):
        pass
    (tmp_path / "in.csv").write_text("a,b\n1,2\n")
    assert is_duckdb_file(tmp_path / "own.duckdb")
    assert not is_duckdb_file(tmp_path / "in.csv")


class TestWhoUsesIt:
    """The three uses: a table in a DuckDB file, a release in one, a release in a folder."""

    def test_a_query_of_the_publisher(self, tmp_path: Path, other: Path) -> None:
        with duckdb.connect(str(tmp_path / "own.duckdb")) as made:
            made.execute("CREATE TABLE t AS SELECT range AS a FROM range(9)")
        for forbidden in (f"FROM '{other}/secret.csv'", f"FROM read_text('{other}/secret.csv')"):
            with pytest.raises(CountveilError, match="nothing else"):
                cv.inspect(f"duckdb:{tmp_path}/own.duckdb", query=f"SELECT * {forbidden}")

    def test_a_release_in_a_file(self, tmp_path: Path, other: Path) -> None:
        file = tmp_path / "own.duckdb"
        with DuckdbFile.writing(str(file)) as database:
            database.write(("t",), pa.schema([("a", pa.int64())]), [])
            with pytest.raises(CountveilError):
                database.fetch(f"SELECT * FROM '{other}/secret.csv'")
        with pytest.raises(CountveilError):
            DuckdbFile.reading(str(file)).fetch(f"SELECT * FROM '{other}/secret.csv'")

    def test_a_release_in_a_folder(self, tmp_path: Path, other: Path) -> None:
        pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
        pq.write_table(pa.table({"a": [1]}), other / "a.parquet")
        release = LocalRelease(tmp_path, ["a.parquet"], ["a"])
        reached = release._connection
        with pytest.raises(duckdb.Error):
            reached.execute("SELECT * FROM '/etc/passwd'")
