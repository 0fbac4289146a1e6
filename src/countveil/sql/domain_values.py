"""Expressions evaluated for every value of a small list: the domain of a sensitive column.

Enters: an expression over one column, and the values of that column. Leaves: what DuckDB makes of
each of them. Must not know: rows, questions. The domain is public, so this needs no engine's rows:
every engine gets the same sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from countveil.errors import QueryError
from countveil.release.values import python_values
from countveil.sql.dialects.dialect import DuckDB

if TYPE_CHECKING:
    import duckdb

    from countveil.sql.query.expressions import Expression


def evaluate(expression: Expression, columns: Mapping[str, Sequence[Any]]) -> list[Any]:
    """The expression in every row of these columns, of which there is at least one."""
    import duckdb
    import pyarrow as pa

    internal = {name: f"c{place}" for place, name in enumerate(columns)}
    arrays = {internal[name]: _array(values) for name, values in columns.items()}
    rows = len(next(iter(columns.values())))
    statement = DuckDB(internal)
    text = f"SELECT {statement.text(expression)} FROM domain ORDER BY place"
    cursor = _connection().cursor()
    try:
        cursor.register("domain", pa.table({"place": pa.array(range(rows)), **arrays}))
        return python_values(cursor.sql(text, params=statement.parameters).to_arrow_table()[0])
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (duckdb.Error, OverflowError, ValueError) as error:
        raise QueryError(
            "An expression of this query cannot be computed for the values of its column: a number "
            "becomes too large, a value does not fit, or a pattern is not readable."
        ) from error
    finally:
        cursor.close()


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    from countveil.sql.locked_duckdb import connect

    return connect()


def _array(values: Sequence[Any]) -> Any:
    import pyarrow as pa

    array = pa.array(values)
    return array.cast(pa.string()) if pa.types.is_null(array.type) else array
