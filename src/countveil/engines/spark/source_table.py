"""The publisher's table on a cluster: counted, dealt, exchanged, written.

Enters: a data frame; later what was drawn. Leaves: histograms and Parquet files. Must not know:
groups, ell, where the release goes in the end.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ParamSpec, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.engines.contract import Result
from countveil.engines.drawn import Drawn
from countveil.engines.partitions.table import PartitionedTable
from countveil.engines.partitions.task_inputs import TaskInputs, seal_common
from countveil.engines.partitions.tasks import (
    RESULT,
    DealTask,
    Lines,
    LookTask,
    SomePartitionsTask,
    Task,
)
from countveil.engines.spark import jobs, writing
from countveil.engines.spark.platform.kinds import partitions_of
from countveil.engines.spark.platform.secrecy import exposures
from countveil.engines.spark.platform.sending import at_workers
from countveil.engines.spark.reading import columns_of, quoted
from countveil.engines.spark.session import our_settings, session_of
from countveil.randomness import Randomness
from countveil.release.draft import WrittenFile
from countveil.tables import Column
from countveil.tables.encoded.survey import CodedColumn, Histogram, Repeats
from countveil.tables.encoded.vectors import Vectors
from countveil.tables.progress import Progress

_SAMPLED_PARTITIONS = 64
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


class SparkSource(PartitionedTable):
    """A table on a cluster; see `SourceTable`."""

    def __init__(
        self,
        frame: Any,
        counted: Sequence[str],
        progress: Progress | None = None,
        *,
        persons: Sequence[str] = (),
        own_zone: bool = True,
        filtered_by: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> None:
        self._own_zone = own_zone
        self._frame, self._session = frame, session_of(frame)
        self._progress: Progress = progress or (lambda _stage, _done, _total: None)
        super().__init__(
            columns_of(frame), counted, persons=persons, filtered_by=filtered_by,
            warnings=[*notes, *exposures(self._session)],
        )  # fmt: skip

    def our_settings(self) -> AbstractContextManager[None]:
        """The settings that plans for this table need, while they are made and run."""
        return our_settings(self._session, own_zone=self._own_zone)

    @_with_our_settings
    def histogram(self, column: str, without: Counts | None = None) -> Histogram:
        """See `SourceTable`."""
        return super().histogram(column, without)

    @_with_our_settings
    def vectors(self, columns: Sequence[str], without: Counts | None = None) -> Vectors:
        """See `SourceTable`."""
        return super().vectors(columns, without)

    @_with_our_settings
    def rows_of(
        self, columns: Sequence[str], vectors: Vectors, chosen: NDArray[np.bool_]
    ) -> Counts:
        """See `SourceTable`."""
        return super().rows_of(columns, vectors, chosen)

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

    @_with_our_settings
    def on_sample(
        self,
        most: int,
        columns: Sequence[str],
        look: Callable[[Mapping[str, CodedColumn]], Result],
    ) -> Result:
        """Call `look`, on a worker, on rows drawn from some partitions."""
        from pyspark.sql.types import BinaryType, StructField, StructType

        sizes = self._sizes
        sampled = np.flatnonzero(sizes)
        if sampled.size > _SAMPLED_PARTITIONS:
            sampled = sampled[np.linspace(0, sampled.size - 1, _SAMPLED_PARTITIONS).astype(int)]
        randomness = Randomness()
        key = randomness.task_key("look")
        schema = StructType([StructField(RESULT, BinaryType())])
        chosen = self._frame.select([quoted(name) for name in columns])
        share = most / max(1, int(sizes[sampled].sum()))
        if share < 1:
            # From everywhere in these partitions: the first rows of a sorted table are all alike.
            chosen = chosen.sample(
                share, seed=int(randomness.stream("sample").below(1 << 31, 1)[0])
            )
        with self._at_workers(seal_common(self._recoded_surveys(), key)) as inputs:
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
        self, columns: Sequence[Column], drawn: Drawn, randomness: Randomness, folder: str | Path
    ) -> list[WrittenFile]:
        """Deal, exchange and write."""
        key = randomness.task_key("deal")
        self._progress("splitting the draw", 0, 0)
        planned = self._planned(columns, drawn, key)
        total = planned.rows
        with self._at_workers(planned.entries) as inputs:
            schema, key_name = writing.published_schema(self._frame.schema, columns)
            dealt = self._frame.select([quoted(name) for name in planned.read]).mapInArrow(
                DealTask(inputs, key, key_name), schema
            )
            self._wait(
                "drawing and shuffling",
                lambda: writing.write(dealt, key_name, total, str(folder)),
                total,
            )
        files: list[WrittenFile] = self._wait(
            "checking",
            lambda: writing.checked_files(self._session, str(folder), total, planned.expected),
        )
        return files

    def _partitions(self) -> int:
        return int(self._wait("counting", lambda: partitions_of(self._frame)))

    def _in_fewer(self, most: int) -> None:
        self._frame = self._frame.coalesce(most)

    def _run(self, task: Task, names: Sequence[str], lines: Lines, stage: str) -> pa.Table:
        from pyspark.sql.pandas.types import from_arrow_type
        from pyspark.sql.types import StructField, StructType

        chosen = self._frame.select([quoted(name) for name in names])
        kinds = {field.name: field.dataType for field in chosen.schema.fields}
        fields = [
            StructField(name, kinds[kind] if isinstance(kind, str) else from_arrow_type(kind))
            for name, kind in lines.items()
        ]
        table: pa.Table = self._wait(
            stage, lambda: chosen.mapInArrow(task, StructType(fields)).toArrow()
        )
        return table

    def _at_workers(self, entries: Mapping[str, bytes]) -> AbstractContextManager[TaskInputs]:
        return at_workers(self._session, entries)

    def _wait(self, stage: str, work: Callable[[], Any], rows: int = 0) -> Any:
        self._progress(stage, 0, rows)
        return jobs.run(
            self._session, work, lambda share: self._progress(stage, int(share * rows), rows)
        )
