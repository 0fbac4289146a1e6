"""The engine that reads, publishes and writes in this process.

Enters: a table of any kind, a folder's name. Leaves: an opened table, a draft of a release. Must
not know: groups, draws.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from countveil.engines.contract import Reading
from countveil.engines.local.source_table import EmbeddedSource, open_source_table
from countveil.release.draft import Draft, check_target, open_draft
from countveil.tables import Choices, describe_source


class LocalEngine:
    """See `Engine`."""

    local = True

    def open_source(
        self, table: object, choices: Choices, sensitive: Sequence[str], reading: Reading
    ) -> EmbeddedSource:
        """Open a table, or the rows and columns of it that were chosen."""
        return open_source_table(
            describe_source(table, choices.query),
            choices.missing,
            csv=choices.csv,
            where=choices.where,
            columns=choices.wanted_columns(sensitive),
            memory=reading.memory,
            spill=reading.spill,
            progress=reading.progress,
        )

    @contextlib.contextmanager
    def open_draft(self, to: str, *, force: bool, dry_run: bool) -> Iterator[Draft | None]:
        """A draft in a folder beside the target; none in a dry run."""
        if dry_run:
            check_target(Path(to), force=force)
            yield None
            return
        with open_draft(to, force=force) as draft:
            yield draft
