"""Expressions as SQL text, in the dialect of each database.

    dialect      the base, and DuckDB with parameters (the local engine)
    literals     DuckDB with literals in the text
    translated   what PostgreSQL, SQLite and Spark have in common
    databases    where each of them differs

Enters: expressions over plain columns. Leaves: SQL text that means the same in every database; what
a database would answer differently is refused. Must not know: where the text is run. A new dialect
is a class in `databases.py` and a line in `dialect_for`.
"""

from __future__ import annotations

from collections.abc import Sequence

from countveil.release import PublishedColumn
from countveil.sql.dialects.literals import LiteralDialect

POSTGRES, SQLITE, DUCKDB, SPARK = "postgres", "sqlite", "duckdb", "spark"
# The dialects in which an answer can be written as plain SQL.
DIALECTS = (POSTGRES, SQLITE, DUCKDB)


def dialect_for(name: str, columns: Sequence[PublishedColumn]) -> LiteralDialect:
    """The dialect of this name, for a release with these columns."""
    from countveil.sql.dialects.databases import Postgres, Spark, SQLite

    dialects = {POSTGRES: Postgres, SQLITE: SQLite, DUCKDB: LiteralDialect, SPARK: Spark}
    return dialects[name](columns)
