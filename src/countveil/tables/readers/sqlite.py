"""A table of an SQLite file, or the result of a query on it, as record batches.

Enters: a description. Leaves: a schema and batches, in one read transaction. Must not know: what
the columns are for.

The file is opened for reading only, and an authorizer allows a query to read and nothing else: no
other file, no setting. SQLite stores a type with every value, so the types in a column are queried
first; whole numbers beside other numbers become floating point, any other mixture is refused. A
column declared as dates, times or true/false gets that type if every value fits.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from countveil.errors import InputError, nearest, option
from countveil.system.address import quoted_name
from countveil.tables import DatabaseSource
from countveil.tables.readers.csv.types import fitting
from countveil.tables.readers.patience import Patience

_BATCH = 1 << 15
BUSY_SECONDS = 5.0
_STEPS = 200_000
_ALLOWED = (
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
)  # fmt: skip
_KINDS: dict[frozenset[str], pa.DataType] = {
    frozenset(): pa.string(),
    frozenset({"integer"}): pa.int64(),
    frozenset({"real"}): pa.float64(),
    frozenset({"integer", "real"}): pa.float64(),
    frozenset({"text"}): pa.string(),
    frozenset({"blob"}): pa.binary(),
}

# How SQLite stores values of a type that it does not have.
_STORED: dict[type, pa.DataType] = {bool: pa.int64(), str: pa.string()}


@contextlib.contextmanager
def sqlite_batches(
    source: DatabaseSource, waiting: Patience
) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The schema, and the batches while the database is open."""
    path = Path(source.place)
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    with contextlib.ExitStack() as stack:
        stack.enter_context(_explained(path, waiting))
        address = f"{Path(os.path.realpath(path)).as_uri()}?mode=ro"
        connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        stack.callback(connection.close)
        # Python runs from time to time, and can react to Ctrl-C.
        connection.set_progress_handler(lambda: _goes_on(waiting), _STEPS)
        connection.execute("BEGIN")
        asked = source.query
        if asked is None:
            asked = f"SELECT * FROM {quoted_name(_table(connection, source))}"
        connection.set_authorizer(_allow)
        cursor = connection.execute(asked)
        if cursor.description is None:
            raise InputError(f"{option('query')} must be a SELECT: it gave no rows and no columns.")
        names = [column[0] for column in cursor.description]
        cursor.close()
        if len(set(names)) < len(names):
            raise InputError("The query gives a column name more than once. Name them with AS.")
        declared = {} if source.query else _declared(connection, source)
        fields = [_field(connection, asked, name, declared.get(name, "")) for name in names]
        schema = pa.schema([field for field, _ in fields])
        batches = _batches(connection.execute(asked), schema, [turn for _, turn in fields])
        yield schema, waiting.checked(batches)


def _goes_on(waiting: Patience) -> int:
    """0, or 1 if SQLite shall stop."""
    if not waiting.is_over:
        waiting.tick()
    return int(waiting.is_over)


def _table(connection: sqlite3.Connection, source: DatabaseSource) -> tuple[str, ...]:
    listed = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name"
    )
    names = [name for (name,) in listed]
    return (chosen_table(source, names),)


def chosen_table(source: DatabaseSource, names: Sequence[str]) -> str:
    """The table that is meant: the named one, or the only one."""
    name = ".".join(source.table)
    if not name:
        if len(names) == 1:
            return names[0]
        raise InputError(
            f"{source.place} has {len(names)} tables. Name one, {source.kind}:{source.place}"
            f"#table, or ask with {option('query')}. {nearest('', names)}"
        )
    if name not in names:
        raise InputError(f"There is no table {name!r} in {source.place}. {nearest(name, names)}")
    return name


def _declared(connection: sqlite3.Connection, source: DatabaseSource) -> dict[str, str]:
    connection.set_authorizer(None)
    name = _table(connection, source)[0]
    columns = connection.execute("SELECT name, type FROM pragma_table_info(?)", (name,)).fetchall()
    connection.set_authorizer(_allow)
    return {column: str(kind).upper() for column, kind in columns}


def _field(
    connection: sqlite3.Connection, asked: str, name: str, declared: str
) -> tuple[pa.Field[Any], type | None]:
    """The type of a column, and the Python type that its values are stored as, if another one."""
    column = quoted_name((name,))
    text = f"SELECT DISTINCT typeof({column}) FROM ({asked}\n) WHERE {column} IS NOT NULL"
    kinds = frozenset(kind for (kind,) in connection.execute(text))
    if kinds not in _KINDS:
        raise InputError(
            f"Column {name!r} mixes {' and '.join(sorted(kinds))}. Give every value one type, with "
            f'{option("query")} "SELECT CAST({name} AS TEXT) AS {name}, ..." for instance.'
        )
    stored = _KINDS[kinds]
    different = f"SELECT DISTINCT {column} FROM ({asked}\n) WHERE {column} IS NOT NULL"
    if stored == pa.int64() and declared.startswith("BOOL"):
        few = {value for (value,) in connection.execute(f"{different} LIMIT 3")}
        if few <= {0, 1}:
            return pa.field(name, pa.bool_()), bool
    if stored == pa.string() and kinds and declared.startswith(("DATE", "TIMESTAMP")):
        kind = pa.date32() if declared == "DATE" else pa.timestamp("us")
        cursor = connection.execute(different)
        while rows := cursor.fetchmany(_BATCH):
            if kind not in fitting(pa.array([value for (value,) in rows], pa.string())):
                return pa.field(name, stored), None
        return pa.field(name, kind), str
    return pa.field(name, stored), None


def _batches(
    cursor: sqlite3.Cursor, schema: pa.Schema, turns: Sequence[type | None]
) -> Iterator[pa.RecordBatch]:
    while rows := cursor.fetchmany(_BATCH):
        arrays = []
        for field, turn, values in zip(schema, turns, zip(*rows, strict=True), strict=True):
            start = field.type if turn is None else _STORED[turn]
            arrays.append(pa.array(values, start, from_pandas=False).cast(field.type))
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _allow(action: int, *_: Any) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


@contextlib.contextmanager
def _explained(path: Path, waiting: Patience) -> Iterator[None]:
    """Replace SQLite's message by a sentence of ours: it may quote a value."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        message = str(error).lower()
        if message == "interrupted":
            waiting.check()
            raise KeyboardInterrupt from None
        if "locked" in message or "busy" in message:
            why = f"{path} is locked: another program writes to it. Try again when it is done."
        elif "not a database" in message or "malformed" in message:
            why = f"{path} is not a readable SQLite file."
        elif "not authorized" in message or "prohibited" in message:
            why = f"{option('query')} may read the tables of its own database, and nothing else."
        elif "one statement" in message:
            why = f"{option('query')} has more than one statement; one SELECT is needed."
        elif "no such" in message or "syntax" in message or "incomplete" in message:
            why = f"SQLite does not understand the query: {_reason(str(error))}."
        elif "unable to open" in message:
            why = f"No permission to read {path}, or to read it beside its journal."
        else:
            why = (
                f"{path} cannot be read: SQLite refused ({getattr(error, 'sqlite_errorname', '')})."
            )
        raise InputError(why) from None
    except (sqlite3.ProgrammingError, sqlite3.Warning, OverflowError, pa.ArrowException):
        raise InputError(
            f"{path}: {option('query')} must be one SELECT, and its values must fit their types."
        ) from None


def _reason(text: str) -> str:
    """Names of tables and columns, and words of the query: nothing of the data."""
    return text.split("\n", 1)[0][:120]
