"""Tables of a real PostgreSQL server, which the tests start themselves and throw away."""

from __future__ import annotations

import builtins
import datetime as dt
import re
import threading
import traceback
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.errors import CountveilError, InputError, MissingExtraError, QueryError
from countveil.sql import postgres_connection as postgres_link
from countveil.tables import DatabaseSource
from countveil.tables.readers import streams
from countveil.tables.readers.patience import Patience
from countveil.tables.readers.postgres import postgres_batches
from tests.sample_tables import open_local

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
ROWS = 5_000
SECRET = "hunter2-S3CRET"


@pytest.fixture(scope="module")
def address(postgres: str) -> str:
    _fill(postgres)
    return postgres


def _fill(address: str) -> None:
    statements = f"""
        CREATE TYPE mood AS ENUM ('calm', 'cross');
        CREATE SCHEMA "own schema";
        CREATE TABLE "own schema".people AS SELECT
            g % 90 AS age, CASE WHEN g % 7 > 0 THEN g / 8.0::float8 END AS wage,
            (g / 4.0)::numeric(10, 2) AS price, g / 8.0 AS ratio,
            (ARRAY['cook', 'smith', 'nurse', 'clerk'])[1 + (g * 7919) % 4] AS job,
            DATE '2024-01-01' + g % 300 AS day, TIMESTAMP '2024-01-01' + g * INTERVAL '1 s' AS at,
            g % 2 = 0 AS ok, (ARRAY['calm', 'cross'])[1 + g % 2]::mood AS mood,
            md5((g % 10)::text)::uuid AS code
        FROM generate_series(0, {ROWS - 1}) g;
        CREATE TABLE secrets (s text);
        INSERT INTO secrets VALUES ('CANARY');
        CREATE ROLE guest LOGIN;
    """
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        for statement in filter(str.strip, statements.split(";")):
            cursor.execute(statement)
        connection.commit()


def values(source: str, **options: Any) -> dict[str, list[Any]]:
    opened = open_local(source, **options)
    found = {}
    for column in opened.facts.columns:
        known = opened.histogram(column.name, np.zeros(0, np.int64))
        found[column.name] = [known.values[code] for code in opened.codes(column.name).tolist()]
    return found


def people(address: str) -> str:
    return f"{address}#own%20schema.people"


@pytest.mark.few(1)
@pytest.mark.parametrize("small", [False, True])
def test_every_row_is_read_with_its_types(
    address: str, monkeypatch: pytest.MonkeyPatch, small: bool
) -> None:
    if small:
        monkeypatch.setattr(streams, "SPAN_ROWS", 700)
        monkeypatch.setattr(postgres_link, "BATCH_BYTES", "20000")
        monkeypatch.setattr("countveil.tables.storage.memory.COLUMNS_SHARE", 1e-9)
    found = values(people(address))
    assert found["age"] == [g % 90 for g in range(ROWS)]
    assert found["wage"] == [g / 8 if g % 7 else None for g in range(ROWS)]
    cents = Decimal("0.01")
    assert found["price"][:9] == [Decimal(g * 25).scaleb(-2).quantize(cents) for g in range(9)]
    assert found["ratio"] == [g / 8 for g in range(ROWS)]
    jobs = ["cook", "smith", "nurse", "clerk"]
    assert found["job"] == [jobs[(g * 7919) % 4] for g in range(ROWS)]
    assert found["day"][299] == dt.date(2024, 1, 1) + dt.timedelta(days=299)
    assert found["at"][60] == dt.datetime(2024, 1, 1, 0, 1)  # noqa: DTZ001 - it has no zone
    assert found["ok"] == [g % 2 == 0 for g in range(ROWS)]
    assert found["mood"] == [["calm", "cross"][g % 2] for g in range(ROWS)]
    assert re.fullmatch(r"[0-9a-f-]{36}", found["code"][0])


def test_a_query_and_a_part(address: str) -> None:
    query = 'SELECT job, age + 1 AS next FROM "own schema".people WHERE age < 30 -- a comment'
    assert values(address, query=query)["next"] == [g % 90 + 1 for g in range(ROWS) if g % 90 < 30]
    part = values(people(address), where="age < 30", columns=["ok"])
    assert part == {"ok": [g % 2 == 0 for g in range(ROWS) if g % 90 < 30]}


@pytest.mark.slow
def test_a_release(address: str, tmp_path: Path) -> None:
    keep = ["wage", "price", "ratio", "day", "at", "ok", "mood", "code"]
    release = cv.publish(people(address), {"job": 3}, tmp_path / "release", keep=keep)
    assert release.rows == ROWS
    assert sorted(pq.read_table(tmp_path / "release" / "data")["age"].to_pylist()) == sorted(
        g % 90 for g in range(ROWS)
    )
    manifest = (tmp_path / "release" / "manifest.json").read_text()
    assert "postgresql:" not in manifest
    assert "own schema" not in manifest


def test_the_transaction_reads_one_moment_and_cannot_write(address: str) -> None:
    text = (
        "SELECT current_setting('transaction_isolation') AS level, "
        "current_setting('transaction_read_only') AS only"
    )
    assert values(address, query=text) == {"level": ["repeatable read"], "only": ["on"]}
    for query in ("DELETE FROM secrets", "SELECT 1; DELETE FROM secrets", "DROP TABLE secrets"):
        with pytest.raises(QueryError, match="one SELECT"):
            values(address, query=query)
    with pytest.raises(QueryError, match="may only read"):
        values(address, query="WITH x AS (DELETE FROM secrets RETURNING s) SELECT s FROM x")
    _numbers(address)
    with pytest.raises(InputError, match="may only read"):
        values(address, query="SELECT nextval('numbers') AS n")
    assert values(f"{address}#secrets") == {"s": ["CANARY"]}


def _numbers(address: str) -> None:
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE SEQUENCE IF NOT EXISTS numbers")
        connection.commit()


def test_rows_that_others_add_meanwhile_are_not_seen(address: str) -> None:
    source = DatabaseSource("postgresql", address, ("own schema", "people"))
    with postgres_batches(source, Patience(source, None, None)) as (_, batches):
        first = next(batches)
        writer = threading.Thread(target=_add, args=(address,))
        writer.start()
        writer.join(20)
        assert first.num_rows + sum(batch.num_rows for batch in batches) == ROWS
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute('DELETE FROM "own schema".people WHERE age = 1000')
        connection.commit()


def _add(address: str) -> None:
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute('INSERT INTO "own schema".people (age) VALUES (1000)')
        connection.commit()


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://me:{SECRET}@localhost/db#t",
        f"postgres://me:{SECRET}@localhost/db#t",
        f"postgresql://localhost/db?password={SECRET}#t",
        f"postgresql://localhost/db?user=me&PASSWORD={SECRET}#t",
        f"postgresql://localhost/db?sslpassword={SECRET}#t",
        f"postgresql://me:a#{SECRET}@localhost/db#t",
        f"postgresql://me:a/{SECRET}@localhost/db#t",
        f"postgresql://[me:{SECRET}@localhost/db#t",
    ],
)
def test_a_password_in_the_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(CountveilError) as told:
        cv.inspect(text)
    assert re.search("password", str(told.value))
    assert SECRET not in "".join(traceback.format_exception(told.value))


def test_a_password_of_the_environment_is_used_and_not_repeated(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", SECRET)
    assert values(f"{address}#secrets") == {"s": ["CANARY"]}
    with pytest.raises(InputError) as told:
        values("postgresql://me@127.0.0.1:9/db#t")
    assert SECRET not in "".join(traceback.format_exception(told.value))


def test_every_mistake_has_its_sentence(address: str) -> None:
    guest = address.replace("postgres@", "guest@")
    query = "SELECT s::int AS n FROM secrets"
    cases: list[tuple[str, str | None, str]] = [
        ("postgresql://me@127.0.0.1:9/db#t", None, "nothing answers there"),
        ("postgresql://me@nosuch.invalid/db#t", None, "no such host|refused"),
        ("postgresql:///db?host=/nowhere#t", None, "no server listens"),
        (address.replace("/postgres?", "/nosuch?") + "#t", None, "no such database"),
        (f"{address}#nosuch", None, "no such table"),
        (f"{address}#secrets.s.x", None, "not readable"),
        (address, None, "No table is named"),
        (f"{guest}#secrets", None, "may not read"),
        (address, "SELECT nosuch FROM secrets", "column that does not exist"),
        (address, query, "cannot become the type"),
        (address, "SELECT s, s FROM secrets", "more than once"),
    ]
    for source, asked, said in cases:
        with pytest.raises(InputError, match=said) as told:
            values(source, query=asked)
        assert "CANARY" not in "".join(traceback.format_exception(told.value)), source


def test_without_the_library_there_is_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("adbc_driver"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=re.escape("pip install '.[postgres]'")):
        cv.inspect("postgresql://me@localhost/db#t")
