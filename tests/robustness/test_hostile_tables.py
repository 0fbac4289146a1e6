"""Tables and files of a stranger: they end in a sentence, within bounded time and memory."""

from __future__ import annotations

import os
import sqlite3
import time
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import pytest

import countveil as cv
from countveil.asking.questions.inputs import read_lookups
from countveil.publishing.ledger.keys import LedgerKey
from countveil.tables import DatabaseSource
from countveil.tables.readers import excel
from countveil.tables.readers.patience import Patience
from tests.robustness.conftest import Quick
from tests.robustness.tools import assert_refused, names_in, small_csv
from tests.workbooks import workbook

SHEET = "xl/worksheets/sheet1.xml"
ROWS: list[list[Any]] = [
    ["row", "sex", "job"],
    *([i, "FM"[i % 2], f"job {i % 8}"] for i in range(80)),
]
PUBLISH = ("-s", "job", "--ell", "4", "--keep", "row", "--to")


def with_sheet(path: Path, change: tuple[str, str] | None = None, padding: int = 0) -> Path:
    """A workbook with its sheet changed, or with so many bytes of blanks in it."""
    sound = workbook(path.with_name("sound.xlsx"), {"people": ROWS})
    with zipfile.ZipFile(sound) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name).decode()
            if name == SHEET and change is not None:
                text = text.replace(*change)
            if name == SHEET:
                text = text.replace("</sheetData>", " " * padding + "</sheetData>")
            new.writestr(name, text)
    sound.unlink()
    return path


@pytest.mark.slow
def test_one_cell_at_the_end_of_a_sheet_does_not_end_the_process(
    tmp_path: Path, quick: Quick
) -> None:
    far = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    book = with_sheet(tmp_path / "far.xlsx", ("</sheetData>", far))
    outcome = quick("publish", book, *PUBLISH, tmp_path / "release")
    assert_refused(outcome, "far.xlsx", "too large", "save the sheet as csv")
    assert names_in(tmp_path) == ["far.xlsx"]


@pytest.mark.slow
def test_a_packed_workbook_that_unpacks_to_far_more_is_refused_at_once(tmp_path: Path) -> None:
    book = with_sheet(tmp_path / "bomb.xlsx", padding=300 << 20)
    assert book.stat().st_size < 2 << 20
    with pytest.raises(cv.CountveilError, match="would unpack to 300 MB"):
        cv.inspect(book)


@pytest.mark.slow
def test_a_sheet_that_needs_more_memory_than_there_is_ends_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A million rows of one far column: a range of 32 million cells.
    rows = '<row r="1000000"><c r="AF1000000"><v>1</v></c></row></sheetData>'
    book = with_sheet(tmp_path / "wide.xlsx", ("</sheetData>", rows))
    monkeypatch.setattr(excel, "available_memory", lambda: 0)
    with pytest.raises(cv.CountveilError, match="too large for 512 MB of memory"):
        cv.inspect(book)


NEVER = (
    "WITH RECURSIVE steps(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM steps) "
    "SELECT n, 'F' AS sex FROM steps"
)


def endless(folder: Path, kind: str) -> str:
    """A file with a view that never ends, as an address."""
    path = folder / f"endless.{kind}"
    if kind == "sqlite":
        with sqlite3.connect(path) as connection:
            connection.execute(f"CREATE VIEW people AS {NEVER}")
        connection.close()
    else:
        rows = "SELECT 1 AS n FROM range(100000000) a, range(100000000) b"
        with duckdb.connect(str(path)) as opened:
            opened.execute(f"CREATE VIEW people AS SELECT sum(n) AS n, 'F' AS sex FROM ({rows})")
    return f"{kind}:{path}#people"


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_view_that_never_ends_is_given_up_after_a_while(tmp_path: Path, kind: str) -> None:
    address = endless(tmp_path, kind)
    began = time.monotonic()
    with pytest.raises(cv.CountveilError, match=r"people of .* took more than 0\.5 seconds"):
        cv.inspect(address, timeout=0.5)
    assert time.monotonic() - began < 60


def test_a_question_is_given_up_after_a_while(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text(small_csv(), encoding="utf-8")
    cv.publish(path, {"job": 2}, tmp_path / "release", seed=1, keep="row")
    cv.export(tmp_path / "release", f"duckdb:{tmp_path / 'in.duckdb'}#people")
    with duckdb.connect(str(tmp_path / "in.duckdb")) as opened:
        opened.execute("ALTER TABLE people RENAME TO once")
        more = "SELECT once.* FROM once, range(100000000) a, range(100000000) b"
        opened.execute(f"CREATE VIEW people AS {more}")
    began = time.monotonic()
    with pytest.raises(cv.CountveilError, match=r"took more than 0\.5 seconds.*timeout"):
        cv.open(f"duckdb:{tmp_path / 'in.duckdb'}#people", timeout=0.5)
    assert time.monotonic() - began < 60
    assert cv.open(tmp_path / "release", timeout=60).sql("SELECT count(*) FROM release")
    for wrong in (0, -1):
        with pytest.raises(cv.CountveilError, match="number of seconds"):
            cv.open(tmp_path / "release", timeout=wrong).sql("SELECT count(*) FROM release")


def test_who_looks_is_told_what_is_waited_for() -> None:
    said: list[str] = []
    source = DatabaseSource("sqlite", "a.db", ("people",))
    waiting = Patience(source, None, lambda stage, _done, _total: said.append(stage))
    time.sleep(0.25)
    waiting.tick()
    waiting.tick()
    assert said == ["waiting for people of a.db"]


@pytest.mark.slow
@pytest.mark.parametrize("seconds", ["0", "-1", "nan"])
def test_a_time_limit_is_a_number_of_seconds(tmp_path: Path, quick: Quick, seconds: str) -> None:
    (tmp_path / "in.csv").write_text(small_csv(), encoding="utf-8")
    outcome = quick("inspect", tmp_path / "in.csv", f"--timeout={seconds}")
    assert_refused(outcome, "--timeout", "number of seconds")


OPTIONS = {
    "domain": ("--domain", "job={}"),
    "merge": ("--merge", "job={}"),
    "labels": ("--labels", "job={}"),
    "sign": ("--sign", "{}"),
    "recipe": ("--recipe", "{}"),
}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
@pytest.mark.parametrize("special", ["/dev/zero", "pipe", "folder", "link"])
@pytest.mark.parametrize("option", OPTIONS)
def test_options_read_no_device_and_wait_for_no_pipe(
    tmp_path: Path, quick: Quick, option: str, special: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/dev/zero")
    (tmp_path / "in.csv").write_text(small_csv(), encoding="utf-8")
    named = special if special.startswith("/") else str(tmp_path / special)
    words = [word.format(named) for word in OPTIONS[option]]
    outcome = quick("publish", tmp_path / "in.csv", *PUBLISH, tmp_path / "release", *words)
    assert outcome.code in (1, 2), outcome
    assert "regular file" in outcome.err, outcome.err
    assert not (tmp_path / "release").exists()
    if option == "sign":
        with pytest.raises(cv.CountveilError, match="regular file"):
            LedgerKey.read(Path(named))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
def test_a_large_file_is_no_list_of_values(tmp_path: Path, quick: Quick) -> None:
    (tmp_path / "in.csv").write_text(small_csv(), encoding="utf-8")
    with (tmp_path / "huge.csv").open("wb") as file:
        file.truncate(1 << 40)
    words = ("--domain", f"job={tmp_path / 'huge.csv'}")
    outcome = quick("publish", tmp_path / "in.csv", *PUBLISH, tmp_path / "release", *words)
    assert_refused(outcome, "huge.csv", "1,099,511,627,776 bytes")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
@pytest.mark.parametrize("special", ["pipe.csv", "link.csv"])
def test_a_table_is_a_regular_file(tmp_path: Path, quick: Quick, special: str) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "link.csv").symlink_to("/dev/zero")
    assert_refused(quick("inspect", tmp_path / special), special, "not a regular file")
    with pytest.raises(cv.CountveilError, match="cannot be read"):
        read_lookups([f"t={tmp_path / special}"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_database_to_write_to_is_a_regular_file(
    release: Path, tmp_path: Path, quick: Quick, kind: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = quick("export", release, "--to", f"{kind}:{tmp_path / 'pipe'}#people")
    assert_refused(done, "it is a pipe and not a regular file")
    assert names_in(tmp_path) == ["pipe", "release"]
