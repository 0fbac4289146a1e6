"""An export that fails leaves a SQLite file as it was."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import countveil as cv
from countveil.engines.databases.sqlite_file import SqliteFile
from countveil.errors import ReleaseError


class _StoppedError(Exception):
    """Whatever ends an export before its time."""


def tables_in(file: Path) -> dict[str, int]:
    """The tables of a database, and their rows."""
    with contextlib.closing(sqlite3.connect(file)) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master")]
        counts = {name: f'SELECT count(*) FROM "{name}"' for name in names}
        return {name: database.execute(text).fetchone()[0] for name, text in counts.items()}


def some_rows() -> Iterator[pa.Table]:
    """The first rows, and then an end that nobody expected."""
    yield pa.table({"x": [1, 2, 3]})
    raise _StoppedError


def replace_ours(file: Path) -> None:
    with SqliteFile.writing(str(file)) as connection:
        connection.drop(("ours",))
        connection.write(("ours",), pa.schema([("x", pa.int64())]), some_rows())


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A database with somebody else's table, and a release that is to be replaced."""
    file = tmp_path / "there.sqlite"
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE theirs (x)")
        database.execute("INSERT INTO theirs VALUES (1)")
        database.execute("CREATE TABLE ours (x)")
        database.execute("INSERT INTO ours VALUES (1), (2)")
    return file


def test_half_of_an_export_is_taken_back(there: Path) -> None:
    before = tables_in(there)
    with pytest.raises(_StoppedError):
        replace_ours(there)
    assert tables_in(there) == before, "an export that was interrupted leaves half of a release"


def test_a_file_that_it_made_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "new.sqlite"
    with pytest.raises(_StoppedError), SqliteFile.writing(str(file)) as connection:
        connection.write(("ours",), pa.schema([("x", pa.int64())]), some_rows())
    assert list(tmp_path.iterdir()) == [], "a failed export leaves a database behind"


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_release_that_was_changed_is_not_passed_on(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    cv.publish(cv.generate(200, seed=1), {"occupation": 3}, folder, record=False)
    (data,) = (folder / "data").iterdir()
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(content)
    target = tmp_path / f"target.{kind}"
    with pytest.raises(ReleaseError, match="is not what was published"):
        cv.export(folder, f"{kind}:{target}#people")
    assert not target.exists(), "a release that somebody changed is passed on as sound"
