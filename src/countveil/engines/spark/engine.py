"""The engine that reads, publishes and writes on a cluster.

Enters: whatever Spark reads, the address of a folder. Leaves: an opened table, a draft of a
release. Must not know: groups, draws.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from countveil.engines.spark import jobs
from countveil.engines.spark.draft import SparkDraft, SparkPlaces, check_target, open_draft
from countveil.engines.spark.pinned import pinned
from countveil.engines.spark.reading import (
    check_cases,
    chosen_columns,
    chosen_rows,
    columns_of,
    open_frame,
)
from countveil.engines.spark.session import (
    find_session,
    our_settings,
    session_of,
)
from countveil.engines.spark.source_table import SparkSource
from countveil.errors import InputError, option
from countveil.tables import Reading, Shaping, check_named
from countveil.tables.sources import is_spark_frame


class SparkEngine:
    """See `Engine`."""

    local = False
    name = "spark"

    def __init__(self, table: object = None, master: str | None = None) -> None:
        self._given = is_spark_frame(table)
        self.session = session_of(table) if self._given else find_session(master)

    @property
    def places(self) -> SparkPlaces:
        """Folders of this machine, and of any file system that Spark reaches."""
        return SparkPlaces(self.session)

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
        read = () if shaping.one_per is None else shaping.one_per.columns
        check_named(columns_of(frame), [*sensitive, *shaping.named, *read])
        check_cases(frame)
        chosen = jobs.run(self.session, lambda: chosen_rows(frame, reading))
        warnings: list[str] = []
        if shaping.one_per is not None:
            from countveil.engines.spark.preparing import one_row_each

            kept = one_row_each(self.session, chosen.frame, shaping.one_per, warnings)
        else:
            kept = chosen.frame
        # A frame may have to be computed first, by whatever its owner wrote.
        rows = jobs.run(self.session, lambda: pinned(chosen_columns(kept, reading)))
        if shaping.cells:
            from countveil.engines.spark.preparing import with_changed_cells

            rows = with_changed_cells(rows, shaping.cells)
        # All that will have to be counted, in one pass.
        counted = dict.fromkeys([*sensitive, *shaping.recoded, *shaping.weights])
        source = SparkSource(
            rows, list(counted), reading.progress, persons=shaping.persons,
            own_zone=not self._given,
            filtered_by=chosen.filtered_by, notes=warnings,
        )  # fmt: skip
        if reading.where is not None and source.facts.rows == 0:
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
