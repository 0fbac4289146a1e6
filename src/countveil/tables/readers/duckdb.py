"""A table of a DuckDB file, or the result of a query on it, as record batches.

Enters: a description, a number of bytes. Leaves: a schema and batches, from one statement. Must not
know: what the columns are for.

The file is opened for reading only. The connection can reach no other file, loads no extension and
may not spill: what does not fit into memory is an error, not a file with plain values. Types that
Arrow does not have become text.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from countveil.errors import InputError, option
from countveil.sql.interruptible import InterruptibleCalls
from countveil.sql.locked_duckdb import connect_to_file, is_duckdb_file
from countveil.system.address import quoted_name
from countveil.tables import DatabaseSource
from countveil.tables.readers.patience import Patience
from countveil.tables.readers.sqlite import chosen_table

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 1 << 16
LEAST_BYTES = 128 << 20
# Through Arrow, DuckDB would cut off zones and large numbers, and give bits as it stores them.
_AS_TEXT = frozenset({"uhugeint", "bignum", "bit", "time with time zone", "union"})
_NESTED = frozenset({"list", "struct", "map", "array"})
_TABLES = (
    "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal UNION ALL "
    "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1, 2"
)


@contextlib.contextmanager
def duckdb_batches(
    source: DatabaseSource, room: int, waiting: Patience
) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The schema, and the batches while the database is open."""
    path = Path(source.place)
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    if not is_duckdb_file(path):
        raise InputError(f"{path} is not a readable DuckDB file, or one of a later version.")
    with contextlib.ExitStack() as stack:
        stack.enter_context(_explained(path))
        connection = connect_to_file(path, most_bytes=max(room, LEAST_BYTES))
        calls = InterruptibleCalls(connection.interrupt, waiting.tick)
        stack.callback(_close, calls, connection)
        asked = source.query
        if asked is None:
            asked = f"SELECT * FROM {quoted_name(_table(connection, source))}"
        else:
            _check_select(connection, asked)
        relation = calls.run(lambda: connection.sql(asked))
        names = relation.columns
        if len(set(names)) < len(names):
            raise InputError("The query gives a column name more than once. Name them with AS.")
        if any(_only_as_text(kind) for kind in relation.types):
            listed = ", ".join(
                f"{quoted_name((name,))}::VARCHAR AS {quoted_name((name,))}"
                if _only_as_text(kind)
                else quoted_name((name,))
                for name, kind in zip(names, relation.types, strict=True)
            )
            relation = calls.run(
                lambda: connection.sql(f"SELECT {listed} FROM ({asked}\n) AS asked")
            )
        reader = calls.run(lambda: relation.to_arrow_reader(_BATCH))
        yield reader.schema, waiting.checked(calls.each(reader.read_next_batch))


def _close(calls: InterruptibleCalls, connection: Any) -> None:
    if calls.end():
        connection.close()


def _table(connection: Any, source: DatabaseSource) -> tuple[str, ...]:
    # A table of the main schema needs no schema before its name.
    names = {
        name if schema == "main" else f"{schema}.{name}": (schema, name)
        for schema, name in connection.execute(_TABLES).fetchall()
    }
    if len(source.table) == 2 and source.table in names.values():
        return source.table
    return names[chosen_table(source, list(names))]


def _only_as_text(kind: Any) -> bool:
    """Whether Arrow has no such type, or DuckDB passes on another one."""
    if kind.id in _NESTED:
        return any(_only_as_text(inner) for _, inner in kind.children if hasattr(inner, "id"))
    return kind.id in _AS_TEXT


def _check_select(connection: Any, text: str) -> None:
    statements = connection.extract_statements(text)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise InputError(f"{option('query')} must be one SELECT.")


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Replace DuckDB's message by a sentence of ours: it may quote a value."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.OutOfMemoryException:
        raise InputError(
            f"DuckDB needs more memory for the query on {path} than it may use, and may not put "
            f"plain values on a disk. Allow more with {option('memory')}, or ask for less."
        ) from None
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
        reason = str(error).split("\n", 1)[0][:160]
        raise InputError(f"DuckDB does not understand the query: {reason}") from None
    except duckdb.PermissionException:
        raise InputError(
            f"{option('query')} may read the tables of its own database, and nothing else."
        ) from None
    except duckdb.Error as error:
        if "lock" in str(error):
            why = f"{path} is locked: another program has it open. Try again when it is closed."
        elif isinstance(error, duckdb.IOException | duckdb.SerializationException):
            why = f"{path} is not a readable DuckDB file, or one of a later version."
        else:
            why = f"The query on {path} fails: {type(error).__name__}."
        raise InputError(why) from None
