"""One grammar for every address: the same text names the same table, wherever it is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.errors import CountveilError, InputError, SettingsError
from countveil.system.address import (
    DUCKDB,
    POSTGRES,
    SQLITE,
    DatabaseAddress,
    parse_address,
    parse_release_address,
    quoted_name,
    split_sheet,
)
from countveil.tables import DatabaseSource, describe_source

ADDRESSES = {
    "sqlite:in.db#t": (SQLITE, "in.db", ("t",)),
    "SQLite:in.db#t": (SQLITE, "in.db", ("t",)),
    'sqlite:in.db#"my.table"': (SQLITE, "in.db", ("my.table",)),
    "duckdb:/tmp/a b.duckdb#t": (DUCKDB, "/tmp/a b.duckdb", ("t",)),
    "duckdb:in #1.duckdb#t": (DUCKDB, "in #1.duckdb", ("t",)),
    "duckdb:in.duckdb#census.t": (DUCKDB, "in.duckdb", ("census", "t")),
    'duckdb:in.duckdb#"a.b"."c ""d"""': (DUCKDB, "in.duckdb", ("a.b", 'c "d"')),
    "postgresql://me@host/db#t": (POSTGRES, "postgresql://me@host/db", ("t",)),
    "postgres://me@host:5433/db?x=1#s.t": (
        POSTGRES,
        "postgresql://me@host:5433/db?x=1",
        ("s", "t"),
    ),
    "postgresql:///db#my%20table": (POSTGRES, "postgresql:///db", ("my table",)),
}
NO_DATABASES = ["census-release", "./postgres", "in.csv", "*.parquet", "C:census", "sqlite", ""]
UNREADABLE = [
    "duckdb:#t",
    "sqlite:",
    "duckdb:f#a.b.c",
    'duckdb:f#"open',
    "duckdb:f#a/b",
    "postgresql:host/db#t",
    "postgresql://host:port/db#t",
    "postgresql://h/d#a.b.c",
    "postgresql://me:a/b@host/db#t",
]
PASSWORDS = [
    "postgresql://me:hunter2@host/db#t",
    "POSTGRES://me:hunter2@host/db#t",
    "postgresql://host/db?user=me&PASSWORD=hunter2#t",
    "postgresql://host/db?sslpassword=hunter2#t",
    "postgresql://me:a#hunter2@host/db#t",
    "postgresql://me:hunter2@[bad/db#t",
]


@pytest.mark.parametrize("text", ADDRESSES)
def test_an_address_is_one_table_as_source_and_as_release(text: str) -> None:
    expected = DatabaseAddress(*ADDRESSES[text])
    assert parse_address(text) == expected
    assert parse_release_address(text) == expected
    source = describe_source(text)
    assert isinstance(source, DatabaseSource)
    assert (source.kind, source.place, source.table) == ADDRESSES[text]


@pytest.mark.parametrize("text", NO_DATABASES)
def test_files_and_folders_are_not_databases(text: str) -> None:
    assert parse_address(text) is None
    assert parse_release_address(text) is None


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_is_not_readable_says_how_it_is_written(text: str) -> None:
    with pytest.raises(SettingsError, match=r"[Ww]rite|is written"):
        parse_release_address(text)
    with pytest.raises(InputError, match=r"[Ww]rite|is written"):
        describe_source(text)


@pytest.mark.parametrize("text", PASSWORDS)
def test_a_password_is_refused_and_never_repeated(text: str) -> None:
    for attempt in (parse_address, parse_release_address, describe_source):
        with pytest.raises(CountveilError) as caught:
            attempt(text)
        assert "hunter2" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_a_release_needs_a_table_and_a_source_does_not() -> None:
    for text in ("duckdb:file", "sqlite:f#", "postgresql://host/db"):
        assert describe_source(text, "SELECT 1").table == ()  # type: ignore[union-attr]
        with pytest.raises(SettingsError, match="No table is named"):
            parse_release_address(text)
    with pytest.raises(SettingsError, match="SQLite has no schemas"):
        parse_release_address("sqlite:f#schema.table")


def test_a_number_sign_in_the_name_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "in#1").touch()
    assert parse_address(f"sqlite:{tmp_path}/in#1") == DatabaseAddress(SQLITE, f"{tmp_path}/in#1")


def test_sheets_of_workbooks(tmp_path: Path) -> None:
    endings = (".xlsx",)
    assert split_sheet("book.xlsx#people", endings) == ("book.xlsx", "people")
    assert split_sheet("book.xlsx", endings) == ("book.xlsx", None)
    assert split_sheet("table.csv#people", endings) == ("table.csv#people", None)
    there = tmp_path / "book.xlsx#people"
    there.touch()
    assert split_sheet(str(there), endings) == (str(there), None)


def test_names_longer_than_those_of_files(tmp_path: Path) -> None:
    long = "t" * 5_000
    address = parse_address(f"duckdb:{tmp_path}/in.duckdb#{long}")
    assert address is not None
    assert address.table == (long,)
    assert split_sheet(f"book.xlsx#{long}", (".xlsx",)) == ("book.xlsx", long)


NAMES = st.text(st.characters(exclude_characters="@", exclude_categories=["Cs"]), min_size=1)


@given(st.lists(NAMES, min_size=1, max_size=2))
def test_any_name_can_be_quoted(parts: list[str]) -> None:
    table = quoted_name(tuple(parts))
    # Behind the last # is the table; a # in its own name belongs to a file that exists.
    if "#" not in table:
        address = parse_address(f"duckdb:in.duckdb#{table}")
        assert address is not None
        assert address.table == tuple(parts)
