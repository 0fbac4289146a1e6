"""The publisher's table on Dask: counted, looked at, dealt, exchanged, written.

Enters: partitions; later what was drawn. Leaves: histograms and Parquet files. Must not know:
groups, ell, where the release goes in the end.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from countveil.engines.contract import Result
from countveil.engines.dask.cluster import Cluster
from countveil.engines.dask.exchange import Exchange, files_for
from countveil.engines.dask.looking import SLICE_VALUES, Repeating, Sampling
from countveil.engines.dask.reading import Partitions, RowReader
from countveil.engines.drawn import Drawn
from countveil.engines.partitions.table import PartitionedTable
from countveil.engines.partitions.task_inputs import (
    Carried,
    TaskInputs,
    entries_by_partition,
    seal_common,
)
from countveil.engines.partitions.tasks import Lines, LookTask, Task, working_on
from countveil.errors import EngineError
from countveil.randomness import Randomness
from countveil.release.draft import WrittenFile
from countveil.release.values import python_values
from countveil.system.files import remove_folder
from countveil.tables import Column
from countveil.tables.encoded.encoding import to_numpy
from countveil.tables.encoded.survey import CodedColumn, Repeats, check_countable
from countveil.tables.progress import Progress

_SAMPLED_PARTITIONS = 64
# Tasks whose results one task puts together.
_JOINED = 16


class TaskRun:
    """A task of `engines/partitions`, with what it reads."""

    def __init__(
        self, task: Task, reader: RowReader, names: Sequence[str], schema: pa.Schema
    ) -> None:
        self._task, self._reader, self._names, self._schema = task, reader, tuple(names), schema

    def lines(self, partition: int, pieces: Sequence[Any]) -> pa.Table:
        """What the task gives for a partition."""
        with working_on(partition):
            batches = list(self._task(self._reader.batches(pieces, self._names)))
        return pa.Table.from_batches(batches, self._schema)


def call(common: Any, verb: str, *given: Any) -> Any:
    """A verb of what tasks have in common."""
    return getattr(common, verb)(*given)


class DaskSource(PartitionedTable):
    """A table on Dask; see `SourceTable`."""

    def __init__(
        self,
        cluster: Cluster,
        partitions: Partitions,
        reader: RowReader,
        columns: Sequence[Column],
        counted: Sequence[str],
        *,
        persons: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> None:
        self._cluster, self._parts, self._reader = cluster, partitions, reader
        self._progress: Progress = progress or (lambda _stage, _done, _total: None)
        for name in counted:
            check_countable(name, reader.schema.field(name).type)
        super().__init__(
            columns, counted, persons=persons, filtered_by=reader.filtered_by,
            warnings=cluster.exposures,
        )  # fmt: skip

    def _partitions(self) -> int:
        return len(self._parts.pieces)

    def _in_fewer(self, most: int) -> None:
        self._parts = self._parts.fewer(most)

    def _run(self, task: Task, names: Sequence[str], lines: Lines, stage: str) -> pa.Table:
        self._progress(stage, 0, 0)
        kinds = self._reader.schema
        schema = pa.schema([
            pa.field(name, kinds.field(kind).type if isinstance(kind, str) else kind)
            for name, kind in lines.items()
        ])  # fmt: skip
        common = self._cluster.shared(TaskRun(task, self._reader, names, schema))
        nodes = [
            self._cluster.node(call, common, "lines", number, pieces)
            for number, pieces in enumerate(self._parts.pieces)
        ]
        return pa.concat_tables(self._cluster.run(nodes))

    @contextlib.contextmanager
    def _at_workers(self, entries: Mapping[str, bytes]) -> Iterator[TaskInputs]:
        yield TaskInputs(Carried(dict(entries)))

    def repeats(self, column: str) -> Repeats:
        """How often values occur more than once, slice by slice of all values."""
        self._progress(f"counting {column}", 0, 0)
        check_countable(column, self._reader.schema.field(column).type)
        slices = max(1, -(-self._rows // SLICE_VALUES))
        counts = [self._repeats_in(column, slices, number) for number in range(slices)]
        missing, several, most, different = zip(*counts, strict=True)
        return Repeats(sum(missing), sum(several), max(most), sum(different))

    def _repeats_in(self, column: str, slices: int, number: int) -> tuple[int, int, int, int]:
        key = Randomness().task_key("repeats")
        common = self._cluster.shared(Repeating(self._reader, column, key, slices, number))
        node = self._cluster.node
        nodes = [node(call, common, "counted", pieces) for pieces in self._parts.pieces]
        while len(nodes) > _JOINED:
            nodes = [
                node(call, common, "joined", *nodes[first : first + _JOINED])
                for first in range(0, len(nodes), _JOINED)
            ]
        result: tuple[int, int, int, int]
        (result,) = self._cluster.run([node(call, common, "repeats", *nodes)])
        return result

    def on_sample(
        self,
        most: int,
        columns: Sequence[str],
        look: Callable[[Mapping[str, CodedColumn]], Result],
    ) -> Result:
        """Call `look`, on a worker, on rows from some partitions."""
        self._progress("looking for giveaways", 0, 0)
        sizes = self._sizes
        sampled = np.flatnonzero(sizes)
        if sampled.size > _SAMPLED_PARTITIONS:
            sampled = sampled[np.linspace(0, sampled.size - 1, _SAMPLED_PARTITIONS).astype(int)]
        total = max(1, int(sizes[sampled].sum()))
        key = Randomness().task_key("look")
        common = self._cluster.shared(Sampling(self._reader, columns, key))
        inputs = TaskInputs(Carried(seal_common(self._recoded_surveys(), key)))
        node = self._cluster.node
        samples = [
            node(
                call, common, "sampled", int(sizes[place]),
                int(sizes[place]) if total <= most else int(sizes[place]) * most // total,
                self._parts.pieces[place],
            )
            for place in (sampled.tolist() or [0])
        ]  # fmt: skip
        looking = node(call, common, "looked_at", LookTask(look, inputs, key), *samples)
        result: Result
        (result,) = self._cluster.run([looking])
        return result

    def publish(
        self, columns: Sequence[Column], drawn: Drawn, randomness: Randomness, folder: str | Path
    ) -> list[WrittenFile]:
        """Deal, exchange and write."""
        self._progress("splitting the draw", 0, 0)
        key = randomness.task_key("deal")
        planned = self._planned(columns, drawn, key)
        pieces = self._parts.pieces
        shares = entries_by_partition(planned.entries, key, len(pieces))
        head = {"head": planned.entries["head"]}
        n_files = files_for(planned.rows, len(columns))
        scratch = Path(folder) / "exchange"
        scratch.mkdir()
        exchange = Exchange(self._reader, planned.read, head, key, scratch, n_files)
        common, node = self._cluster.shared(exchange), self._cluster.node
        self._progress("drawing and shuffling", 0, planned.rows)
        dealt = self._cluster.run([
            node(call, common, "deal", Carried(shares[number]), number, some)
            for number, some in enumerate(pieces)
        ])  # fmt: skip
        names = [each[0] for each in dealt if each is not None]
        _check_shared(scratch, names)
        self._progress("writing", 0, planned.rows)
        given = self._cluster.shared(names)
        merged = self._cluster.run([
            node(call, common, "merge", given, number, list(planned.expected))
            for number in range(n_files)
        ])  # fmt: skip
        written = [each for each in merged if each is not None]
        _check_counts(written, planned.rows, planned.expected)
        files = []
        for place, (name, rows, _) in enumerate(written):
            path = Path(folder) / f"part-{place:05d}.parquet"
            (scratch / name).rename(path)
            files.append(WrittenFile(path, rows))
        remove_folder(scratch)
        self._progress("writing", planned.rows, planned.rows)
        return files


def _check_shared(folder: Path, names: Sequence[str]) -> None:
    """Workers wrote into the folder that this process sees."""
    if not all((folder / name).exists() for name in names):
        raise EngineError(
            "What the workers of Dask wrote is not in the folder of the release, so nothing was "
            "published. Name a folder that this process and all workers share under one path."
        )


def _check_counts(
    written: Sequence[tuple[str, int, Mapping[str, pa.Table]]],
    rows: int,
    expected: Mapping[str, Mapping[Any, int]],
) -> None:
    """No row too many or too few, and every value as often as it was drawn."""
    total = sum(each[1] for each in written)
    if total != rows:
        raise EngineError(f"{total:,} of {rows:,} rows came out, so nothing was published.")
    for name, drawn in expected.items():
        counted: Counter[Any] = Counter()
        for _, _, counts in written:
            values = python_values(counts[name].column(name))
            times = to_numpy(counts[name].column("count_all").combine_chunks()).tolist()
            for value, number in zip(values, times, strict=True):
                counted[value] += number
        if counted != {value: times for value, times in drawn.items() if times}:
            raise EngineError(
                f"Column {name!r} did not come out as it was drawn, so nothing was published. "
                f"The table may have changed while it was read; please publish it again."
            )
