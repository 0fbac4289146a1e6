"""A PostgreSQL server that demands a password: where it is read, and that nobody is told."""

from __future__ import annotations

import os
import pty
import subprocess
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import countveil as cv
from countveil.errors import CountveilError, InputError
from tests.robustness.conftest import Quick
from tests.robustness.tools import COMMAND, assert_refused, names_in

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
SECRET, WRONG = "hunter2-S3CRET", "wrong-S3CRET"
ROWS = 400
WISHES = ("-s", "job:3", "--keep", "age")


def told(server: str, *statements: str) -> Any:
    with dbapi.connect(server, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchone()


@pytest.fixture(scope="module")
def locked(postgres: str) -> Iterator[str]:
    """The address of a user whom the server asks for a password, as `scram-sha-256`."""
    server = postgres
    (rules,) = told(server, "SELECT current_setting('hba_file')")
    old = Path(rules).read_text()
    Path(rules).write_text(f"local all locked scram-sha-256\n{old}")
    told(
        server,
        f"CREATE ROLE locked LOGIN PASSWORD '{SECRET}'",
        "CREATE SCHEMA own AUTHORIZATION locked",
        f"CREATE TABLE own.people AS SELECT g % 60 AS age, 'job ' || g % 5 AS job "
        f"FROM generate_series(1, {ROWS}) g",
        "GRANT SELECT ON own.people TO locked",
        "SELECT pg_reload_conf()",
    )
    yield server.replace("postgres@", "locked@", 1)
    Path(rules).write_text(old)
    told(server, "DROP OWNED BY locked CASCADE", "DROP SCHEMA IF EXISTS own CASCADE",
         "DROP ROLE locked", "SELECT pg_reload_conf()")  # fmt: skip


@pytest.fixture(autouse=True)
def no_passwords(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))


def rows(address: str) -> int:
    return cv.inspect(f"{address}#own.people").rows


def password_file(folder: Path, password: str) -> Path:
    path = folder / ".pgpass"
    path.write_text(f"*:*:*:locked:{password}\n")
    path.chmod(0o600)
    return path


def test_from_the_environment(locked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", SECRET)
    assert rows(locked) == ROWS


def test_from_the_file(locked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSFILE", str(password_file(tmp_path, SECRET)))
    assert rows(locked) == ROWS


@pytest.mark.slow
def test_from_the_file_in_the_home_folder(locked: str, tmp_path: Path) -> None:
    password_file(tmp_path, SECRET)
    env = {key: text for key, text in os.environ.items() if not key.startswith("PG")}
    done = subprocess.run(
        [COMMAND, "inspect", f"{locked}#own.people", "--format", "json"],
        env={**env, "HOME": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert '"rows": 400' in done.stdout


@pytest.mark.parametrize("place", ["PGPASSWORD", "PGPASSFILE"])
def test_a_wrong_one(
    locked: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = WRONG if place == "PGPASSWORD" else str(password_file(tmp_path, WRONG))
    monkeypatch.setenv(place, given)
    with pytest.raises(InputError, match=r"does not accept the password\. .*PGPASSWORD") as found:
        rows(locked)
    assert WRONG not in "".join(traceback.format_exception(found.value))


def test_none(locked: str) -> None:
    with pytest.raises(InputError, match=r"asks for a password\. .*PGPASSWORD.*\.pgpass"):
        rows(locked)


@pytest.mark.few(1)
@pytest.mark.parametrize("password", [WRONG, None])
def test_releases_in_the_database_ask_for_it_too(
    locked: str, password: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cv.publish(cv.generate(200, seed=1), {"occupation": 2}, tmp_path / "release")
    if password is not None:
        monkeypatch.setenv("PGPASSWORD", password)
    for ask in (
        lambda: cv.open(f"{locked}#own.release"),
        lambda: cv.export(tmp_path / "release", f"{locked}#own.release"),
    ):
        with pytest.raises(CountveilError, match="password") as found:
            ask()
        assert WRONG not in "".join(traceback.format_exception(found.value))
        assert "\n" not in str(found.value)


@pytest.mark.slow
def test_nobody_is_told(locked: str, tmp_path: Path) -> None:
    """Neither the screen, with all of its progress, nor a file of the release or beside it."""
    place = tmp_path / "place"
    place.mkdir()
    parent, child = pty.openpty()
    seen: list[bytes] = []

    def read() -> None:
        try:
            while part := os.read(parent, 1 << 16):
                seen.append(part)
        except OSError:
            return

    reader = threading.Thread(target=read)
    reader.start()
    words = ("publish", f"{locked}#own.people", *WISHES, "--to", place / "release")
    done = subprocess.run(
        [COMMAND, *words, "--private-report", place / "own.html"],
        env={**os.environ, "PGPASSWORD": SECRET}, stdout=child, stderr=child, check=False,
    )  # fmt: skip
    os.close(child)
    reader.join(20)
    os.close(parent)
    screen = b"".join(seen)
    assert done.returncode == 0, screen
    assert b"400 rows" in screen
    assert SECRET.encode() not in screen
    files = [path for path in place.rglob("*") if path.is_file()]
    assert len(files) > 3
    for path in files:
        content = path.read_bytes()
        assert SECRET.encode() not in content, path
        # Nor where the table lives.
        assert b"locked@" not in content, path


ADDRESSES = [
    f"postgresql://me:{SECRET}@localhost/db#t",
    f"POSTGRESQL://me:{SECRET}@localhost/db#t",
    f"postgresql:me:{SECRET}@localhost/db#t",
    f"postgresql:/me:{SECRET}@localhost/db#t",
    f"postgresql+psycopg://me:{SECRET}@localhost/db#t",
    f"mysql://me:{SECRET}@localhost/db#t",
    f"postgresql://localhost/db?password={SECRET}#t",
]


@pytest.mark.few(1)
@pytest.mark.parametrize("address", ADDRESSES)
def test_one_in_an_address_is_refused_by_every_command(
    quick: Quick, published: Path, address: str, tmp_path: Path
) -> None:
    sql = "SELECT count(*) FROM release"
    for words in (
        ("inspect", address),
        ("publish", address, "-s", "job:3", "--to", tmp_path / "release"),
        ("advise", address, "-s", "job"),
        ("audit", address, "-s", "job:3"),
        ("compare", address, "-s", "job:3"),
        ("query", address, sql),
        ("show", address),
        ("verify", address),
        ("sql", address, sql),
        ("export", published, "--to", address),
        ("publish", published.parent / "in.parquet", "-s", "job:3", "--to", address),
    ):
        outcome = quick(*words)
        assert_refused(outcome)
        assert SECRET not in outcome.err, words
    assert names_in(tmp_path) == []


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    cv.generate(300, folder / "in.parquet", seed=1)
    cv.publish(folder / "in.parquet", {"occupation": 3}, folder / "release")
    return folder / "release"


def test_a_query_that_would_write_is_refused_by_the_server_in_one_sentence(
    locked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads like any other, and its user may do it: the read-only transaction ends it."""
    monkeypatch.setenv("PGPASSWORD", SECRET)
    writing = "SELECT lo_create(0)::text AS job"
    with pytest.raises(InputError) as found:
        cv.inspect(locked, query=writing)
    assert str(found.value) == "PostgreSQL: the query would write; it may only read."
    told(locked, writing)
