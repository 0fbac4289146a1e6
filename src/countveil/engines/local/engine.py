"""The engine that reads, publishes and writes in this process.

Enters: a table of any kind, a folder's name. Leaves: an opened table, a draft of a release. Must
not know: groups, draws.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from countveil.engines.contract import Reading
from countveil.engines.local.source_table import EmbeddedSource, open_source_table
from countveil.release.draft import Draft, check_target, open_draft
from countveil.tables import Choices, describe_source


class EmbeddedEngine:
    """See `Engine`."""

    local = True

    def at_work(self) -> AbstractContextManager[None]:
        """Nothing has to be set up."""
        return contextlib.nullcontext()

    def open_source(
        self, table: object, choices: Choices, sensitive: Sequence[str], reading: Reading
    ) -> EmbeddedSource:
        """Open a table, or the part of it that was asked for."""
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

    def check_target(self, to: str, *, force: bool) -> None:
        """Refuse a place where no release can be put."""
        check_target(Path(to), force=force)

    def open_draft(self, to: str, *, force: bool) -> AbstractContextManager[Draft]:
        """A draft in a folder beside the target."""
        return open_draft(to, force=force)
