"""What commands write, looked at afterwards: is it the old one, the new one, or broken?

Enters: a folder. Leaves: one word or sentence for each thing in it, the same for the same content
up to what chance and the clock decide. Must not know: faults.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

import countveil as cv
from countveil.publishing.publications.record import RECORD_NAME, read_record

Thing = Callable[[Path], str]
NOTHING = "nothing"
BROKEN = "broken"


def release(name: str) -> Thing:
    """A release: how many rows it has."""

    def look(place: Path) -> str:
        folder = place / name
        if not folder.exists():
            return NOTHING
        try:
            found = cv.verify(folder)
            return f"{BROKEN}: {found}" if found else f"{cv.open(folder).rows} rows"
        except cv.CountveilError as error:
            return f"{BROKEN}: {error}"

    return look


def page(name: str, end: str) -> Thing:
    """A page or another text, which has to end like this; "old" is one that we put there."""

    def look(place: Path) -> str:
        path = place / name
        if not path.exists():
            return NOTHING
        text = path.read_text(errors="replace")
        if text == "old":
            return "old"
        return "whole" if re.search(end + r"\s*\Z", text) else f"{BROKEN}: ends with {text[-40:]!r}"

    return look


def table(name: str) -> Thing:
    """A table in a file: how many rows it has."""

    def look(place: Path) -> str:
        path = place / name
        if not path.exists():
            return NOTHING
        try:
            if name.endswith(".parquet"):
                return f"{pq.read_table(path).num_rows} rows"
            return f"{pc.read_csv(path).num_rows} rows"
        except (pa.ArrowException, OSError) as error:
            return f"{BROKEN}: {error}"

    return look


def in_sqlite(name: str, tables: tuple[str, ...]) -> Thing:
    """Tables in a SQLite file: how many rows each has."""

    def look(place: Path) -> str:
        path = place / name
        if not path.exists():
            return NOTHING
        try:
            with contextlib.closing(sqlite3.connect(path)) as connection:
                (sound,) = connection.execute("PRAGMA integrity_check").fetchone()
                known = "SELECT name FROM sqlite_master WHERE name = ?"
                counts = [
                    connection.execute(f'SELECT count(*) FROM "{each}"').fetchone()[0]
                    if connection.execute(known, [each]).fetchone()
                    else None
                    for each in tables
                ]
        except sqlite3.Error as error:
            return f"{BROKEN}: {error}"
        return f"rows {counts}" if sound == "ok" else f"{BROKEN}: {sound}"

    return look


def in_duckdb(name: str, tables: tuple[str, ...]) -> Thing:
    """Tables in a DuckDB file: how many rows each has."""

    def look(place: Path) -> str:
        path = place / name
        if not path.exists():
            return NOTHING
        try:
            with duckdb.connect(str(path), read_only=True) as connection:
                known = {row[0] for row in connection.execute("SHOW TABLES").fetchall()}
                counts = [
                    connection.execute(f'SELECT count(*) FROM "{each}"').fetchall()[0][0]
                    if each in known
                    else None
                    for each in tables
                ]
        except duckdb.Error as error:
            return f"{BROKEN}: {error}"
        return f"rows {counts}"

    return look


def ledger(name: str) -> Thing:
    """A ledger with its key: how many releases it has, and that nothing waits to be settled."""

    def look(place: Path) -> str:
        there = [(place / each).exists() for each in (name, f"{name}.key")]
        if not any(there):
            return NOTHING
        if there == [False, True] and any(place.glob(f".{name}.draft-*/{name}")):
            # Two files come one after the other; until the second, the next run takes both away.
            return NOTHING
        if not all(there):
            return f"{BROKEN}: a ledger without its key, or a key without its ledger"
        try:
            opened = cv.Ledger(place / name)
            states = {each.state for each in opened.show().releases}
            problems = [each for each in opened.verify() if "prepared" not in each.problem]
            if problems:
                return f"{BROKEN}: {problems}"
            count = len(opened.show().releases)
            return f"{count} releases" + ", one prepared" * ("prepared" in states)
        except cv.CountveilError as error:
            return f"{BROKEN}: {error}"

    return look


def record(place: Path) -> str:
    """The private record, which may lack a publication, but is never damaged."""
    found = read_record(place)
    return f"{BROKEN}: {found.problem}" if found.problem else NOTHING


RECORD = RECORD_NAME
