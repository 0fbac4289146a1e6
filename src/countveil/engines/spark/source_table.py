"""The publisher's table on a cluster: counted, dealt, exchanged, written.

Enters: a data frame; later what was drawn. Leaves: histograms and Parquet files. Must not know:
groups, ell, where the release goes in the end.

The driver's memory is bounded whatever the number of rows: counts by partition and value
(`MOST_COUNTS`; a table with more of them is read in fewer, larger partitions), and the shares of Y
(`task_inputs`).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, cast

import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import Result
from countveil.engines.spark import jobs, writing
from countveil.engines.spark.reading import columns_of, quoted
from countveil.engines.spark.session import our_settings, session_of
from countveil.engines.spark.task_inputs import TaskInputs, seal_common, seal_plan
from countveil.engines.spark.tasks import (
    PARTITION,
    RESULT,
    ROWS,
    WHICH,
    CountLeftOutTask,
    CountTask,
    DealTask,
    LookTask,
    SomePartitionsTask,
)
from countveil.errors import InputError
from countveil.maths.mechanism import PublishedTable
from countveil.randomness import Randomness
from countveil.release.draft import WrittenFile
from countveil.release.values import python_values
from countveil.tables import Column
from countveil.tables.encoded.encoding import DictionaryColumn, missing_rows, to_numpy
from countveil.tables.encoded.survey import CodedColumn, Histogram, Repeats, Survey
from countveil.tables.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

MOST_COUNTS = 1 << 24
MOST_VALUES = 100_000
_SAMPLED_PARTITIONS = 64
_NOT_ENCRYPTED = (
    "This Spark writes the rows that it exchanges to the disks of its workers unencrypted. Start "
    "it with spark.io.encryption.enabled=true."
)
Counts = NDArray[np.int64]
P = ParamSpec("P")


def _with_our_settings(verb: Callable[P, Result]) -> Callable[P, Result]:
    """A verb of `SparkSource` whose plans are made, and run, with the settings that they need."""

    @functools.wraps(verb)
    def with_settings(*args: P.args, **kwargs: P.kwargs) -> Result:
        source = cast("SparkSource", args[0])
        with source.our_settings():
            return verb(*args, **kwargs)

    return with_settings


class SparkSource:
    """A table on a cluster; see `SourceTable`."""

    labels: Mapping[str, Mapping[str, str]] = {}

    def __init__(
        self,
        frame: Any,
        counted: Sequence[str],
        progress: Progress | None = None,
        *,
        own_zone: bool = True,
        filtered_by: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> None:
        self._own_zone, self.filtered_by, self._notes = own_zone, filtered_by, notes
        self._frame, self._session = frame, session_of(frame)
        self._progress: Progress = progress or (lambda _stage, _done, _total: None)
        self._surveys: dict[str, Survey] = {}
        # By column, the rows of each value (as it was read) in each partition.
        self._by_partition: dict[str, Counts] = {}
        self._left_out: dict[tuple[int, ...], dict[str, Counts]] = {}
        self._columns = columns_of(frame)
        self._count(list(counted) or [self._columns[0].name])
        self.rows = int(next(iter(self._by_partition.values())).sum())

    def our_settings(self) -> AbstractContextManager[None]:
        """The settings that plans for this table need, while they are made and run."""
        return our_settings(self._session, own_zone=self._own_zone)

    @property
    def warnings(self) -> Sequence[str]:
        """What the publisher should know about this cluster."""
        if self._session.sparkContext.getConf().get("spark.io.encryption.enabled") == "true":
            return self._notes
        return [*self._notes, _NOT_ENCRYPTED]

    @property
    def columns(self) -> Sequence[Column]:
        """Names and types; what was recoded is text."""
        return [Column(c.name, "string") if self._is_recoded(c.name) else c for c in self._columns]

    def _is_recoded(self, name: str) -> bool:
        return name in self._surveys and self._surveys[name].is_recoded

    @_with_our_settings
    def histogram(self, column: str, without: Counts | None = None) -> Histogram:
        """Count the values of a column, leaving out some rows."""
        survey = self._surveys[column]
        counts = survey.counts
        if without is not None and without.size:
            counts = counts - survey.recoded_counts(
                self._counts_left_out(without)[column].sum(axis=0)
            )
        return Histogram(_domain_values(column, survey.values), counts)

    @_with_our_settings
    def repeats(self, column: str) -> Repeats:
        """How often values occur more than once; they are grouped on the cluster."""
        from pyspark.sql import functions as sql

        known, rows = sql.col("value").isNotNull(), sql.col("rows")
        times = self._frame.select(sql.col(quoted(column)).alias("value")).groupBy("value")
        asked = times.agg(sql.count(sql.lit(1)).alias("rows")).agg(
            sql.sum(sql.when(~known, rows).otherwise(0)),
            sql.sum((known & (rows > 1)).cast("long")),
            sql.max(sql.when(known, rows).otherwise(0)),
            sql.sum(known.cast("long")),
        )
        counts = self._wait(f"counting {column}", asked.toArrow)
        return Repeats(*(int(count[0].as_py() or 0) for count in counts.columns))

    def recode(self, column: str, values: Sequence[str | None]) -> None:
        """Put a text in place of each value of the column's histogram."""
        self._surveys[column].recode(values)

    def declare(self, column: str, values: Sequence[Any]) -> None:
        """Give the column's histogram these values too."""
        self._surveys[column].declare(values)

    @_with_our_settings
    def on_sample(
        self,
        most: int,
        columns: Sequence[str],
        look: Callable[[Mapping[str, CodedColumn]], Result],
    ) -> Result:
        """Call `look`, on a worker, on rows drawn from some partitions."""
        from pyspark.sql.types import BinaryType, StructField, StructType

        sizes = next(iter(self._by_partition.values())).sum(axis=1)
        sampled = np.flatnonzero(sizes)
        if sampled.size > _SAMPLED_PARTITIONS:
            sampled = sampled[np.linspace(0, sampled.size - 1, _SAMPLED_PARTITIONS).astype(int)]
        randomness = Randomness()
        key = randomness.task_key("look")
        recoded = {
            name: survey.without_counts()
            for name, survey in self._surveys.items()
            if survey.is_recoded
        }
        schema = StructType([StructField(RESULT, BinaryType())])
        chosen = self._frame.select([quoted(name) for name in columns])
        share = most / max(1, int(sizes[sampled].sum()))
        if share < 1:
            # From everywhere in these partitions: the first rows of a sorted table are all alike.
            chosen = chosen.sample(
                share, seed=int(randomness.stream("sample").below(1 << 31, 1)[0])
            )
        with self._broadcast(seal_common(recoded, key)) as inputs:
            looking = LookTask(look, inputs, key)
            partitions = SomePartitionsTask(sampled.tolist())
            rows = chosen.mapInArrow(partitions, chosen.schema).repartition(1)
            answer = self._wait(
                "looking for giveaways", lambda: rows.mapInArrow(looking, schema).toArrow()
            )
        result: Result = pickle.loads(answer.column(0)[0].as_py())  # noqa: S301 - our own task's
        return result

    @_with_our_settings
    def publish(
        self,
        columns: Sequence[Column],
        drawn: Mapping[str, PublishedTable],
        without: Counts,
        randomness: Randomness,
        folder: str | Path,
        progress: Progress,
    ) -> list[WrittenFile]:
        """Deal, exchange and write."""
        self._progress = progress
        names, key = [column.name for column in columns], randomness.task_key("deal")
        lost = self._counts_left_out(without)
        rows = {name: self._partition_counts(name, lost.get(name)) for name in drawn}
        used = [name for name in names if name in drawn or self._is_recoded(name)]
        surveys = {name: self._surveys[name] for name in used}
        uncounted = {name: survey.without_counts() for name, survey in surveys.items()}
        left_out = {place: np.array(places) for place, places in self._places(without).items()}
        progress("splitting the draw", 0, 0)
        entries = seal_plan(names, uncounted, drawn, rows, left_out, key)
        total = self.rows - without.size
        with self._broadcast(entries) as inputs:
            schema, key_name = writing.published_schema(self._frame.schema, columns)
            dealt = self._frame.select([quoted(name) for name in names]).mapInArrow(
                DealTask(inputs, key, key_name), schema
            )
            self._wait(
                "drawing and shuffling",
                lambda: writing.write(dealt, key_name, total, str(folder)),
                total,
            )
        expected = {
            name: dict(zip(python_values(surveys[name].values), table.published(), strict=True))
            for name, table in drawn.items()
        }
        files: list[WrittenFile] = self._wait(
            "checking", lambda: writing.checked_files(self._session, str(folder), total, expected)
        )
        return files

    def _count(self, names: Sequence[str]) -> None:
        """Count some columns in one pass over them."""
        table, partitions = self._counted(names)
        if table is not None:
            self._surveys = {name: _survey(table, n, name) for n, name in enumerate(names)}
        most = max((len(survey.values) for survey in self._surveys.values()), default=0)
        if table is None or partitions * most > MOST_COUNTS:
            # Too many values for this many partitions: fewer, larger ones.
            self._frame = self._frame.coalesce(max(1, MOST_COUNTS // MOST_VALUES))
            table, partitions = self._counted(names)
            self._surveys = {name: _survey(table, n, name) for n, name in enumerate(names)}
        for which, name in enumerate(names):
            survey = self._surveys[name]
            counts = np.zeros((partitions, len(survey.values)), np.int64)
            for partition, values in _values_by_partition(table, which).items():
                counts[partition] = _counts_of(survey, values)
            self._by_partition[name] = counts

    def _counted(self, names: Sequence[str]) -> tuple[Any, int]:
        """The lines of all partitions; None instead if there would be too many of them."""
        # Of a plan made now: the frame may remember an older one.
        partitions = int(self._frame.select("*").rdd.getNumPartitions())
        most = max(1, min(MOST_VALUES, MOST_COUNTS // max(1, partitions)))
        table = self._lines(CountTask(names, most), names, "counting")
        given_up = to_numpy(table.column(ROWS).combine_chunks()) < 0
        if np.any(given_up):
            if most >= MOST_VALUES:
                which = to_numpy(table.column(WHICH).combine_chunks())[given_up]
                raise _too_many(names[int(which[0])])
            return None, partitions
        return table, partitions

    def _lines(self, task: Any, names: Sequence[str], stage: str) -> Any:
        from pyspark.sql.types import IntegerType, LongType, StructField, StructType

        chosen = self._frame.select([quoted(name) for name in names])
        fields = [(PARTITION, IntegerType()), (WHICH, IntegerType()), (ROWS, LongType())]
        fields += [(f"value{n}", field.dataType) for n, field in enumerate(chosen.schema.fields)]
        schema = StructType([StructField(*field) for field in fields])
        return self._wait(stage, lambda: chosen.mapInArrow(task, schema).toArrow())

    def _counts_left_out(self, without: Counts) -> dict[str, Counts]:
        """By column that was counted: how often each partition has each value in these rows."""
        if not without.size:
            return {}
        rows = tuple(without.tolist())
        if rows not in self._left_out:
            names = list(self._by_partition)
            task = CountLeftOutTask(names, self._places(without))
            table = self._lines(task, names, "leaving out the residue")
            counts = {name: np.zeros_like(self._by_partition[name]) for name in names}
            for which, name in enumerate(names):
                for partition, values in _values_by_partition(table, which).items():
                    counts[name][partition] = _counts_of(self._surveys[name], values)
            self._left_out[rows] = counts
        return self._left_out[rows]

    def _places(self, without: Counts) -> dict[int, list[int]]:
        """Numbers of rows by partition, counted from the first row of each."""
        sizes = next(iter(self._by_partition.values())).sum(axis=1)
        ends = np.cumsum(sizes)
        partitions = np.searchsorted(ends, without, side="right")
        inside = without - (ends - sizes)[partitions]
        return {
            int(partition): inside[partitions == partition].tolist()
            for partition in np.unique(partitions).tolist()
        }

    def _partition_counts(self, name: str, lost: Counts | None) -> Counts:
        """The rows of each value, as it is published, in each partition."""
        counts = self._by_partition[name] if lost is None else self._by_partition[name] - lost
        return np.stack([self._surveys[name].recoded_counts(row) for row in counts])

    @contextlib.contextmanager
    def _broadcast(self, entries: dict[str, bytes]) -> Iterator[TaskInputs]:
        """Inputs at the workers, removed from them afterwards."""
        broadcast = self._session.sparkContext.broadcast(entries)
        try:
            yield TaskInputs(broadcast)
        finally:
            broadcast.destroy()

    def _wait(self, stage: str, work: Callable[[], Any], rows: int = 0) -> Any:
        self._progress(stage, 0, rows)
        return jobs.run(
            self._session, work, lambda share: self._progress(stage, int(share * rows), rows)
        )


def _values_by_partition(table: pa.Table, which: int) -> dict[int, DictionaryColumn]:
    """The values and counts of one column, by partition."""
    import pyarrow.compute as pc

    lines = table.filter(pc.equal(table.column(WHICH), which)).combine_chunks()
    partitions = to_numpy(_one(lines.column(PARTITION)))
    values, counts = _one(lines.column(f"value{which}")), to_numpy(_one(lines.column(ROWS)))
    order = np.argsort(partitions, kind="stable")
    edges = np.flatnonzero(np.diff(partitions[order], prepend=-1)).tolist()
    columns = {}
    for first, last in itertools.pairwise([*edges, partitions.size]):
        chosen = order[first:last]
        some = values.take(chosen)
        gone = missing_rows(some)
        known = np.ones(chosen.size, bool) if gone is None else ~gone
        missing = int(counts[chosen][~known].sum())
        tally = np.append(counts[chosen][known], missing).astype(np.int64)
        columns[int(partitions[chosen[0]])] = DictionaryColumn(
            np.zeros(0, np.uint8), some.drop_null(), tally
        )
    return columns


def _survey(table: pa.Table, which: int, name: str) -> Survey:
    """What all partitions hold of a column."""
    import pyarrow as pa

    survey = Survey(name, None, coded=True)
    for values in _values_by_partition(table, which).values():
        survey.add(values)
    survey.finish()
    if survey.values is None:
        survey.values = pa.nulls(0, table.column(f"value{which}").type)
    if len(survey.values) > MOST_VALUES:
        raise _too_many(name)
    return survey


def _one(column: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    # Any: the stubs promise an array, and this is for an Arrow that keeps chunks.
    combined: Any = column.combine_chunks()
    chunked = hasattr(combined, "chunk") and combined.num_chunks
    array: pa.Array[Any] = combined.chunk(0) if chunked else combined
    return array


def _counts_of(survey: Survey, values: DictionaryColumn) -> Counts:
    """Counts in the order of the column's values, as they were read."""
    places = survey.original_places(values)
    return np.bincount(places, values.counts, survey.n_originals).astype(np.int64)


def _too_many(name: str) -> InputError:
    return InputError(
        f"Column {name!r} has more than {MOST_VALUES:,} different values, which is the most that "
        f"can be protected or recoded. Put them into classes first."
    )


def _domain_values(column: str, values: pa.Array[Any]) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    try:
        return python_values(values)
    except UnicodeDecodeError:
        raise InputError(f"Column {column!r} holds text that is not valid UTF-8.") from None
    except (ValueError, OverflowError):
        raise InputError(
            f"Column {column!r} holds times outside the years 1 to 9999 and cannot be protected "
            f"as it is."
        ) from None
