"""A release whose files are tallied by tasks of Dask.

Enters: a folder that all workers reach; later, tallies. Leaves: counts and sums. Must not know: SQL
that anybody wrote, estimators. Every task counts in one data file, as one machine does in all of
them; the counted lines are added up, by further tasks if there are many.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.engines.contract import OpenedRelease
from countveil.engines.dask.cluster import Cluster
from countveil.engines.local.release_table import LocalRelease
from countveil.engines.pivot import one_by_one, pivot
from countveil.errors import ReleaseError
from countveil.release import ANY, Expected, Manifest, read_manifest
from countveil.release.values import PARQUET, format_of
from countveil.sql.query import Tally, TallyResult
from countveil.sql.query.expressions import Expression
from countveil.system.address import local_path

if TYPE_CHECKING:
    from countveil.sql.query.axes import Axis

_JOINED = 16
# Files that tasks in this process are counting in: what interrupts them.
_READ_HERE: set[LocalRelease] = set()
_CHANGING = threading.Lock()


def open_release(place: str, master: str | None = None, expected: Expected = ANY) -> OpenedRelease:
    """Open the release in a folder."""
    cluster = Cluster(master)
    folder = Path(local_path(place))
    manifest = read_manifest(folder, expected)
    if format_of(manifest.files[0].path) != PARQUET:
        raise ReleaseError("Dask queries Parquet files; this release is in another format.")
    return OpenedRelease(manifest, partial(_opened, cluster, folder, manifest, expected.larger))


def _opened(cluster: Cluster, folder: Path, manifest: Manifest, larger: float) -> DaskRelease:
    from countveil.release.opening import check_data_files

    check_data_files(folder, manifest, larger)
    return DaskRelease(cluster, folder, manifest)


class DaskRelease:
    """The rows of a release, counted on Dask; see `ReleaseTable`."""

    def __init__(self, cluster: Cluster, folder: Path, manifest: Manifest) -> None:
        self._cluster, self._folder = cluster, str(folder.resolve())
        self._files = [file.path for file in manifest.files]
        self._columns = [column.name for column in manifest.columns]

    def tally(self, tally: Tally, domains: Sequence[Sequence[Any]]) -> TallyResult:
        """One pass over the data, a task for each file."""
        node = self._cluster.node
        asked = self._cluster.shared(tally)
        nodes = [node(lines_of, self._folder, file, self._columns, asked) for file in self._files]
        while len(nodes) > 1:
            nodes = [
                node(added, asked, *nodes[first : first + _JOINED])
                for first in range(0, len(nodes), _JOINED)
            ]
        (lines,) = self._cluster.run(nodes)
        return pivot(lines, tally, domains)

    def tally_each(
        self,
        conditions: Sequence[Expression],
        sensitive: Sequence[str],
        domains: Sequence[Sequence[Any]],
        axes: Sequence[Axis] = (),
    ) -> NDArray[np.float64]:
        """Count published values under each condition."""
        return one_by_one(self.tally, conditions, sensitive, domains, axes)

    def rows(self, columns: Sequence[str]) -> pa.Table:
        """All rows, of these columns; they must fit into the memory of this process."""
        nodes = [
            self._cluster.node(rows_of, self._folder, file, self._columns, list(columns))
            for file in self._files
        ]
        return pa.concat_tables(self._cluster.run(nodes))

    def interrupt(self) -> None:
        """End what is computed for other threads."""
        self._cluster.interrupt()
        if self._cluster.in_this_process:
            with _CHANGING:
                for opened in _READ_HERE:
                    opened.interrupt()


def lines_of(folder: str, file: str, columns: Sequence[str], tally: Tally) -> pa.Table:
    """What one data file has, counted."""
    opened = LocalRelease(Path(folder), [file], columns)
    with _CHANGING:
        _READ_HERE.add(opened)
    try:
        lines = opened.lines(tally)
    finally:
        with _CHANGING:
            _READ_HERE.discard(opened)
    # Two of them may have the same name.
    return lines.rename_columns([f"c{place}" for place in range(lines.num_columns)])


def added(tally: Tally, *lines: pa.Table) -> pa.Table:
    """Lines of several files as one: counts and sums are added, ranges joined."""
    together = pa.concat_tables(lines)
    names = together.column_names
    first = len(tally.keys) + len(tally.conditions) + len(tally.sensitive)
    verbs = ["sum", *(verb for _ in tally.arguments for verb in ("sum", "sum", "min", "max"))]
    # Any: the stubs list the verbs one by one.
    wanted: list[Any] = list(zip(names[first:], verbs, strict=True))
    summed = together.group_by(names[:first]).aggregate(wanted)
    return summed.select([*names[:first], *(f"{n}_{verb}" for n, verb in wanted)]).rename_columns(
        names
    )


def rows_of(folder: str, file: str, columns: Sequence[str], wanted: Sequence[str]) -> pa.Table:
    """The rows of one data file."""
    return LocalRelease(Path(folder), [file], columns).rows(wanted)
