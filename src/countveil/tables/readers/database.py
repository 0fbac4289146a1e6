"""A table in a database as blocks.

Enters: a description. Leaves: blocks, read once and in bounded memory. Must not know: what the
columns are for.
"""

from __future__ import annotations

from collections.abc import Sequence

from countveil.tables import DatabaseSource
from countveil.tables.progress import Progress
from countveil.tables.readers.csv.reader import Shelf
from countveil.tables.readers.streams import StreamBlocks


def open_database(
    source: DatabaseSource, missing: Sequence[str], shelf: Shelf, progress: Progress | None = None
) -> StreamBlocks:
    """The rows of a table or query."""
    if source.kind == "sqlite":
        from countveil.tables.readers.sqlite import sqlite_batches

        opened = sqlite_batches(source)
    elif source.kind == "postgresql":
        from countveil.tables.readers.postgres import postgres_batches

        opened = postgres_batches(source)
    else:
        from countveil.tables.readers.duckdb import duckdb_batches

        opened = duckdb_batches(source, shelf.most_bytes)
    with opened as (schema, batches):
        return StreamBlocks(
            schema, batches, shelf.most_bytes, shelf.folder, missing=missing, progress=progress
        )
