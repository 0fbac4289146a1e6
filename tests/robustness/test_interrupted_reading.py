"""Ctrl-C while a table is read, wherever it lives: the command ends soon and leaves nothing."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import zipfile
from pathlib import Path

import duckdb
import pytest

import countveil as cv
from tests.robustness.processes import (
    bytes_read,
    needs_proc,
    seconds_computed,
    seconds_of_children,
    standing_still,
    wait_for,
    wait_until_computed,
    wait_until_read,
)
from tests.robustness.tools import PATIENCE, names_in, start

TOLD = b"Interrupted. Nothing was left behind.\n"
# Of processor time; the clock only ends what goes on for ever.
SOON = 20.0
FOR_EVER = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) AS n "
    "FROM n",
    "duckdb": "SELECT count(*) AS n FROM range(100000000000) r(i) WHERE hash(i) % 7 = 3",
    "postgresql": "SELECT pg_sleep(600)::text AS job",
}


def assert_interrupted(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    computed = seconds_of_children()
    try:
        out, err = process.communicate(timeout=PATIENCE / 3)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (130, b"", TOLD)
    assert seconds_of_children() - computed < SOON


def publish(source: str, target: Path, *more: str) -> subprocess.Popen[bytes]:
    return start("publish", source, "-s", "job:3", "--to", target / "release", *more)


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_query_on_a_file(kind: str, tmp_path: Path) -> None:
    path, place = tmp_path / "in.db", tmp_path / "place"
    place.mkdir()
    if kind == "sqlite":
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE t (job TEXT)")
    else:
        with duckdb.connect(str(path)) as database:
            database.execute("CREATE TABLE t (job TEXT)")
    process = publish(f"{kind}:{path}", place, "--query", FOR_EVER[kind])
    wait_until_read(process, path)
    # The query never ends, and from here on nothing else uses the processor.
    wait_until_computed(process, seconds_computed(process) + 0.3)
    assert_interrupted(process)
    assert names_in(place) == []


@pytest.mark.slow
def test_a_query_on_a_server_which_then_stops_it_too(postgres: str, tmp_path: Path) -> None:
    from adbc_driver_postgresql import dbapi

    def busy() -> int:
        with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' "
                "AND query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()"
            )
            (number,) = cursor.fetchone()
            return int(number)

    process = publish(postgres, tmp_path, "--query", FOR_EVER["postgresql"])
    wait_for(busy)
    assert_interrupted(process)
    assert names_in(tmp_path) == []
    wait_for(lambda: not busy())


@pytest.mark.slow
@pytest.mark.parametrize("command", ["publish", "query"])
def test_a_server_that_never_answers(command: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"postgresql://me@127.0.0.1:{server.getsockname()[1]}/db#t"
        if command == "publish":
            process = publish(address, tmp_path)
        else:
            process = start("query", address, "SELECT count(*) FROM release")
        server.settimeout(PATIENCE)
        with server.accept()[0]:
            assert_interrupted(process)
    assert names_in(tmp_path) == []


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same people as Latin-1, as UTF-16 and in a zip."""
    folder = tmp_path_factory.mktemp("texts")
    cv.generate(150_000, folder / "in.csv", seed=1)
    text = (folder / "in.csv").read_text(encoding="utf-8")
    (folder / "latin.csv").write_bytes(text.replace("cook", "Köchin").encode("latin-1"))
    (folder / "wide.csv").write_bytes(text.encode("utf-16"))
    with zipfile.ZipFile(folder / "in.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(folder / "in.csv", "in.csv")
    return folder


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("share", [0.05, pytest.param(0.5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["latin.csv", "wide.csv", "in.zip"])
def test_a_file_that_has_to_be_changed_on_the_way(
    texts: Path, name: str, share: float, tmp_path: Path
) -> None:
    source, target = texts / name, tmp_path / "release"
    more = ("--encoding", "latin-1") if name == "latin.csv" else ()
    reached = share * source.stat().st_size
    # Where the machine is busy, the process may be past the file before it stands still.
    for _ in range(20):
        process = start("publish", source, "-s", "occupation:3", "--to", target, *more)
        wait_until_read(process, source, reached)
        with standing_still(process):
            is_reading = bytes_read(process, source) is not None and not target.exists()
            if is_reading:
                process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        if is_reading:
            assert (process.returncode, out, err) == (130, b"", TOLD)
            assert names_in(tmp_path) == []
            return
        shutil.rmtree(target)
    pytest.fail("the process was never stopped while it read")
