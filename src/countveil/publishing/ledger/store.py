"""The tables of a ledger, in one SQLite file.

Enters: marks, numbers, sealed content. Leaves: the same again. Must not know: keys, what is sealed.

Whoever opens a ledger to write locks it until it is closed, so that there is one publisher at a
time, and a process that dies lets go. Everything that a release adds bears its number and is
written in one transaction, before the release is put in its place; a release that never came to its
place is taken back the same way.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.errors import LedgerError
from countveil.publishing.ledger.keys import Words, as_marks
from countveil.system.files import new_private_file

VERSION = 1
_APPLICATION = 0x43564C47
_TABLES = """
CREATE TABLE ledger (id TEXT NOT NULL, key_check BLOB NOT NULL, created TEXT NOT NULL);
CREATE TABLE releases (number INTEGER PRIMARY KEY, state TEXT NOT NULL, day TEXT NOT NULL,
    rows INTEGER NOT NULL, sealed BLOB NOT NULL);
CREATE TABLE sets (number INTEGER PRIMARY KEY, release INTEGER NOT NULL, sealed BLOB NOT NULL);
CREATE TABLE vectors (set_number INTEGER NOT NULL, code INTEGER NOT NULL, release INTEGER NOT NULL,
    sealed BLOB NOT NULL, PRIMARY KEY (set_number, code));
CREATE TABLE batches (set_number INTEGER NOT NULL, number INTEGER NOT NULL,
    release INTEGER NOT NULL, cases INTEGER NOT NULL, sealed BLOB NOT NULL,
    PRIMARY KEY (set_number, number));
CREATE TABLE cases (set_number INTEGER NOT NULL, mark BLOB NOT NULL, release INTEGER NOT NULL,
    batch INTEGER NOT NULL, published INTEGER NOT NULL, PRIMARY KEY (set_number, mark))
    WITHOUT ROWID;
"""
_WITH_RELEASE = ("sets", "vectors", "batches", "cases")
# How a release stands: written down before it is in its place, then in its place. A release that
# is not where it should be, without a sign that it never was, stays `lost`.
PREPARED, DONE, LOST = "prepared", "done", "lost"


@dataclass(frozen=True, slots=True)
class ReleaseRow:
    """A release of the ledger."""

    number: int
    state: str
    day: str
    rows: int
    sealed: bytes


@dataclass(frozen=True, slots=True)
class StoredCases:
    """Cases of a set: their marks, their batches, what they published under a pad."""

    marks: Words
    batches: NDArray[np.int64]
    published: Words


class Store:
    """An open file."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path, self._connection = path, connection
        row = next(iter(self._all("SELECT id, key_check, created FROM ledger")), None)
        if row is None:
            raise LedgerError(f"The ledger {path} is damaged. Restore its newest copy.")
        self.id, self.key_check, self.created = row

    @classmethod
    def create(cls, path: Path, ledger: str, key_check: bytes, created: str) -> None:
        """Make an empty ledger, which its owner alone can read."""
        try:
            os.close(new_private_file(path))
        except FileExistsError as error:
            raise LedgerError(
                f"{path} exists already, and a ledger is never replaced. Name another file."
            ) from error
        except OSError as error:
            raise LedgerError(f"The ledger {path} cannot be made: {error.strerror}.") from error
        try:
            with _explained(path), contextlib.closing(sqlite3.connect(path)) as connection:
                connection.executescript(
                    f"PRAGMA synchronous = EXTRA; PRAGMA application_id = {_APPLICATION}; "
                    f"PRAGMA user_version = {VERSION}; BEGIN; {_TABLES} COMMIT;"
                )
                connection.execute(
                    "INSERT INTO ledger VALUES (?, ?, ?)", (ledger, key_check, created)
                )
                connection.commit()
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path, *, write: bool) -> Iterator[Store]:
        """Open a ledger, alone if it is to `write`."""
        _check_file(path)
        # What a killed process left half written is undone by the next one, even if it only reads.
        undo = path.with_name(path.name + "-journal").exists()
        address = f"{Path(os.path.realpath(path)).as_uri()}?mode={'rw' if write or undo else 'ro'}"
        with _explained(path):
            connection = sqlite3.connect(address, uri=True, timeout=1.0, isolation_level=None)
        with contextlib.closing(connection):
            with _explained(path):
                if write:
                    connection.execute("PRAGMA synchronous = EXTRA")
                    connection.execute("BEGIN EXCLUSIVE")
                    # The lock is kept after the end of a transaction, until the file is closed. Set
                    # earlier, two publishers would keep the locks of readers, wait for each other
                    # and both be refused.
                    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                    connection.execute("COMMIT")
                _check_kind(path, connection)
            yield cls(path, connection)

    def releases(self) -> list[ReleaseRow]:
        """All releases, in order."""
        return [ReleaseRow(*row) for row in self._all("SELECT * FROM releases ORDER BY number")]

    def sets(self) -> list[tuple[int, bytes]]:
        """The sets of columns that are drawn together: number and sealed description."""
        return self._all("SELECT number, sealed FROM sets ORDER BY number")

    def vectors(self, set_number: int) -> list[bytes]:
        """The sealed values of a set, by code."""
        question = "SELECT sealed FROM vectors WHERE set_number = ? ORDER BY code"
        return [sealed for (sealed,) in self._all(question, set_number)]

    def batches(self, set_number: int) -> list[tuple[int, int, int, bytes]]:
        """The batches of a set: number, release, cases, sealed description."""
        question = (
            "SELECT number, release, cases, sealed FROM batches WHERE set_number = ? "
            "ORDER BY number"
        )
        return self._all(question, set_number)

    def cases(self, set_number: int) -> StoredCases:
        """All cases of a set, in the order of their marks."""
        question = "SELECT mark, batch, published FROM cases WHERE set_number = ? ORDER BY mark"
        rows = self._all(question, set_number)
        marks, batches, published = zip(*rows, strict=True) if rows else ((), (), ())
        return StoredCases(
            as_marks(b"".join(marks)),
            np.array(batches, np.int64),
            np.array(published, np.int64).view(np.uint64),
        )

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Store]:
        """All that is added inside is written, or nothing of it."""
        with _explained(self._path):
            self._connection.execute("BEGIN EXCLUSIVE")
            try:
                yield self
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def add(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Put rows into a table."""
        places = ", ".join("?" * len(rows[0])) if rows else ""
        if rows:
            self._connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)

    def add_cases(self, set_number: int, release: int, cases: StoredCases) -> None:
        """Put new cases beside those that are there."""
        marks = cases.marks.astype("<u8").tobytes()
        rows = (
            (set_number, marks[16 * number : 16 * number + 16], release, batch, published)
            for number, (batch, published) in enumerate(
                zip(cases.batches.tolist(), cases.published.view(np.int64).tolist(), strict=True)
            )
        )
        self._connection.executemany("INSERT INTO cases VALUES (?, ?, ?, ?, ?)", rows)

    def set_state(self, release: int, state: str) -> None:
        """Say how a release stands."""
        with self.transaction():
            self._connection.execute(
                "UPDATE releases SET state = ? WHERE number = ?", (state, release)
            )

    def take_back(self, release: int) -> None:
        """Forget a release that never came to its place, and all that it added."""
        with self.transaction():
            for table in _WITH_RELEASE:
                self._connection.execute(f"DELETE FROM {table} WHERE release = ?", (release,))
            self._connection.execute("DELETE FROM releases WHERE number = ?", (release,))

    def problems(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        return [text for (text,) in self._all("PRAGMA integrity_check") if text != "ok"]

    def _all(self, question: str, *values: Any) -> list[Any]:
        with _explained(self._path):
            return self._connection.execute(question, values).fetchall()


def _check_file(path: Path) -> None:
    if not path.exists():
        raise LedgerError(
            f"There is no ledger at {path}. If it was moved or deleted, restore its newest copy: "
            f"it alone knows what was published about whom, and without it everybody in the table "
            f"would be drawn a second time. For people about whom nothing was published yet, make "
            f"a new one: countveil ledger init {path}"
        )
    if not path.is_file():
        raise LedgerError(f"{path} is not a file, so it is not a ledger.")


def _check_kind(path: Path, connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise LedgerError(f"{path} is not a ledger of countveil.")
    if version != VERSION:
        raise LedgerError(
            f"The ledger {path} has version {version}; this countveil reads version {VERSION}. A "
            f"newer countveil may read it."
        )


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say in a sentence what SQLite says in its own words."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname in ("SQLITE_BUSY", "SQLITE_LOCKED"):
            raise LedgerError(
                f"The ledger {path} is in use by another publication. Wait for it to end: there "
                f"is one publisher at a time."
            ) from error
        raise LedgerError(f"The ledger {path} cannot be used: {error}.") from error
    except sqlite3.DatabaseError as error:
        raise LedgerError(
            f"{path} is not a ledger, or is damaged ({error}). Restore its newest copy."
        ) from error
