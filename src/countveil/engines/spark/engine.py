"""The engine that reads, publishes and writes on a cluster.

Enters: whatever Spark reads, the address of a folder. Leaves: an opened table, a draft of a
release. Must not know: groups, draws.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from countveil.engines.spark import jobs
from countveil.engines.spark.draft import SparkDraft, check_target, open_draft
from countveil.engines.spark.pinned import pinned
from countveil.engines.spark.reading import check_cases, chosen_rows, columns_of, open_frame
from countveil.engines.spark.session import (
    find_session,
    our_settings,
    session_of,
)
from countveil.engines.spark.source_table import SparkSource
from countveil.errors import InputError, option
from countveil.tables import Reading, Shaping, check_named
from countveil.tables.locate import is_spark_frame


class SparkEngine:
    """See `Engine`."""

    local = False

    def __init__(self, table: object = None, master: str | None = None) -> None:
        self._given = is_spark_frame(table)
        self.session = session_of(table) if self._given else find_session(master)

    def open_source(
        self, table: object, reading: Reading, shaping: Shaping, sensitive: Sequence[str]
    ) -> SparkSource:
        """Open a table, or the rows and columns of it that were chosen."""
        with our_settings(self.session, own_zone=not self._given):
            return self._open(table, reading, shaping, sensitive)

    def _open(
        self, table: object, reading: Reading, shaping: Shaping, sensitive: Sequence[str]
    ) -> SparkSource:
        reading = reading.including([*sensitive, *shaping.persons, *shaping.weights])
        frame = open_frame(self.session, table, reading)
        check_named(columns_of(frame), [*sensitive, *shaping.named])
        check_cases(frame)
        # A frame may have to be computed first, by whatever its owner wrote.
        chosen = jobs.run(self.session, lambda: pinned(chosen_rows(frame, reading)))
        # All that will have to be counted, in one pass.
        counted = dict.fromkeys([*sensitive, *shaping.recoded, *shaping.weights])
        source = SparkSource(chosen, list(counted), reading.progress, own_zone=not self._given)
        if reading.where is not None and source.rows == 0:
            raise InputError(f"No row of the table meets the condition of {option('where')}.")
        return source

    @contextlib.contextmanager
    def open_draft(
        self, to: str, *, force: bool, again: bool, dry_run: bool
    ) -> Iterator[SparkDraft | None]:
        """A draft beside the target; none in a dry run."""
        if dry_run:
            check_target(self.session, to, force=force, again=again)
            yield None
            return
        with open_draft(self.session, to, force=force, again=again) as draft:
            yield draft
