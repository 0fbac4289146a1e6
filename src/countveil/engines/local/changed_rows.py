"""Which rows one release has and another one has not.

Enters: all rows of two releases with the same columns. Leaves: a table of those that only one of
them has, which is tallied like a release. Must not know: SQL that anybody wrote, estimators.

Rows have no names. A row of one release is in the other one if that has one with the same values,
protected or not; rows that are there several times are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from countveil.engines.contract import ReleaseTable
from countveil.engines.local.release_table import LocalRelease
from countveil.errors import QueryError
from countveil.sql.locked_duckdb import connect


def changed_rows(
    earlier: ReleaseTable, later: ReleaseTable, columns: Sequence[str], came: str
) -> tuple[LocalRelease, int]:
    """A table of what changed, and its rows; the column `came` is 1 in what came, else 0."""
    names = [f"c{place}" for place in range(len(columns))]
    listed = ", ".join(names)
    connection = connect()
    for name, table in (("earlier", earlier), ("later", later)):
        connection.register(name, table.rows(columns).rename_columns(names))
    text = (
        f"SELECT {listed}, CAST(total > 0 AS BIGINT), unnest(range(abs(total))) FROM ("
        f"SELECT {listed}, CAST(sum(side) AS BIGINT) AS total FROM ("
        f"SELECT {listed}, 1 AS side FROM later UNION ALL SELECT {listed}, -1 FROM earlier) "
        f"GROUP BY {listed} HAVING sum(side) <> 0)"
    )
    try:
        changed: pa.Table = connection.sql(text).to_arrow_table()
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.OutOfMemoryException:
        raise QueryError(
            "The rows of the two releases do not fit into memory together, so they cannot be "
            "compared here. Ask each release by itself."
        ) from None
    changed = changed.select(range(len(columns) + 1)).rename_columns([*columns, came])
    return LocalRelease(Path(), [], changed.column_names, rows=[changed]), changed.num_rows
