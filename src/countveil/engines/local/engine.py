"""The engine that reads, publishes and writes in this process.

Enters: a table of any kind, a folder's name. Leaves: an opened table, a draft of a release. Must
not know: groups, draws.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from countveil.engines.local.source_table import LocalSource
from countveil.engines.local.surveyed_table import SurveyedTable
from countveil.release.draft import Draft, check_target, open_draft
from countveil.tables import Reading, Shaping, describe_source
from countveil.tables.readers.open import open_blocks
from countveil.tables.storage.memory import KeptColumns, memory_shares


class LocalEngine:
    """See `Engine`."""

    local = True

    def open_source(
        self, table: object, reading: Reading, shaping: Shaping, sensitive: Sequence[str]
    ) -> LocalSource:
        """Open a table, or the rows and columns of it that were chosen."""
        source = describe_source(table, reading.query)
        columns = reading.including([*sensitive, *shaping.persons]).columns
        memory = memory_shares(reading.memory, with_duckdb=reading.where is not None)
        kept = KeptColumns(memory.columns, reading.spill or Path(tempfile.gettempdir()))
        blocks = open_blocks(source, reading, kept)
        if reading.where is not None or columns:
            from countveil.tables.readers.row_filter import filter_blocks

            blocks = filter_blocks(blocks, reading.where, columns)
        surveyed = SurveyedTable(blocks, memory.columns, reading.progress)
        return LocalSource(surveyed, memory, reading.spill)

    @contextlib.contextmanager
    def open_draft(self, to: str, *, force: bool, dry_run: bool) -> Iterator[Draft | None]:
        """A draft in a folder beside the target; none in a dry run."""
        if dry_run:
            check_target(Path(to), force=force)
            yield None
            return
        with open_draft(to, force=force) as draft:
            yield draft
