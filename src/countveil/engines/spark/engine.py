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
from countveil.engines.spark.reading import check_cases, columns_of, open_frame, part_of
from countveil.engines.spark.session import (
    find_session,
    our_settings,
    session_of,
)
from countveil.engines.spark.source_table import SparkSource
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
        reading = reading.including([*sensitive, *shaping.persons])
        frame = open_frame(self.session, table, reading)
        check_named(columns_of(frame), [*sensitive, *shaping.named])
        check_cases(frame)
        # A frame may have to be computed first, by whatever its owner wrote.
        part = jobs.run(
            self.session,
            lambda: pinned(part_of(frame, reading)),
            lambda _share: None,
        )
        # All that will have to be counted, in one pass.
        counted = dict.fromkeys([*sensitive, *shaping.recoded])
        return SparkSource(
            part, list(counted), reading.missing, reading.progress, own_zone=not self._given
        )

    @contextlib.contextmanager
    def open_draft(self, to: str, *, force: bool, dry_run: bool) -> Iterator[SparkDraft | None]:
        """A draft beside the target; none in a dry run."""
        if dry_run:
            check_target(self.session, to, force=force)
            yield None
            return
        with open_draft(self.session, to, force=force) as draft:
            yield draft
