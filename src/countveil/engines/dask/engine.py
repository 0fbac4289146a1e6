"""The engine that reads and publishes on Dask, into a folder that all workers reach.

Enters: Parquet files or a data frame of Dask, a folder's name. Leaves: an opened table, a draft of
a release. Must not know: groups, draws.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from countveil.engines.dask.cluster import Cluster
from countveil.engines.dask.reading import RowReader, open_partitions
from countveil.engines.dask.source_table import DaskSource
from countveil.errors import InputError, SettingsError, option
from countveil.release.draft import Draft, check_target, open_draft
from countveil.system.address import local_path
from countveil.tables import Column, Reading, Shaping, check_named

if TYPE_CHECKING:
    from countveil.release.places import LocalPlaces


class DaskEngine:
    """See `Engine`."""

    local = False
    name = "dask"

    def __init__(self, address: str | None = None) -> None:
        self._cluster = Cluster(address)

    @property
    def places(self) -> LocalPlaces:
        """Folders of this machine."""
        from countveil.release.places import LocalPlaces

        return LocalPlaces()

    def open_source(
        self, table: object, reading: Reading, shaping: Shaping, sensitive: Sequence[str]
    ) -> DaskSource:
        """Open a table, or the rows and columns of it that were chosen."""
        if shaping.one_per is not None:
            raise SettingsError(
                f"{option('one_per')} cannot be used with {option('engine', self.name)}: the rows "
                f"of a person may be in different partitions. What works: choose the rows first "
                f"(with Dask, drop_duplicates), {option('engine', 'spark')}, or no "
                f"{option('engine')}."
            )
        reading = reading.including([*sensitive, *shaping.persons, *shaping.weights])
        partitions = open_partitions(table, reading)
        known = [Column(field.name, str(field.type)) for field in partitions.schema]
        check_named(known, [*sensitive, *shaping.named])
        check_named(known, reading.columns)
        reader = RowReader(partitions.schema, replace(reading, progress=None), shaping.cells)
        columns = [
            Column(field.name, str(field.type))
            for field in reader.schema
            if field.name in reading.columns or not reading.columns
        ]
        # All that will have to be counted, in one pass.
        counted = dict.fromkeys([*sensitive, *shaping.recoded, *shaping.weights])
        source = DaskSource(
            self._cluster, partitions, reader, columns, list(counted),
            persons=shaping.persons, progress=reading.progress,
        )  # fmt: skip
        if reading.where is not None and source.facts.rows == 0:
            raise InputError(f"No row of the table meets the condition of {option('where')}.")
        return source

    @contextlib.contextmanager
    def open_draft(
        self, to: str, *, force: bool, again: bool, dry_run: bool
    ) -> Iterator[Draft | None]:
        """A draft in a folder beside the target; none in a dry run."""
        target = local_path(to)
        if dry_run:
            check_target(Path(target), force=force, again=again)
            yield None
            return
        with open_draft(target, force=force, again=again) as draft:
            yield draft
