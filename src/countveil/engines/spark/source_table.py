"""The publisher's table on a cluster: counted, dealt, exchanged, written.

Enters: a data frame; later what was drawn. Leaves: histograms and Parquet files. Must not know:
groups, ell, where the release goes in the end.

The driver's memory is bounded whatever the number of rows: counts by partition and value
(`MOST_COUNTS`; a table with more of them is read in fewer, larger partitions), and the shares of Y
(`task_inputs`).
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ParamSpec, cast

import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import Result
from countveil.engines.drawn import Drawn
from countveil.engines.spark import jobs, writing
from countveil.engines.spark.cases.counting import SparkCases
from countveil.engines.spark.cases.lines import case_plan, rows_of_batches, rows_of_values
from countveil.engines.spark.counts import (
    MOST_COUNTS,
    MOST_VALUES,
    VectorCounts,
    counts_of,
    domain_values,
    joint_name,
    margins,
    survey_of,
    too_many,
    values_by_partition,
    without_counts,
)
from countveil.engines.spark.platform.kinds import partitions_of
from countveil.engines.spark.platform.secrecy import exposures
from countveil.engines.spark.platform.sending import at_workers
from countveil.engines.spark.reading import columns_of, quoted
from countveil.engines.spark.session import our_settings, session_of
from countveil.engines.spark.task_inputs import CasePlan, TaskInputs, seal_common, seal_plan
from countveil.engines.spark.tasks import (
    PARTITION,
    RESULT,
    ROWS,
    WHICH,
    CountLeftOutTask,
    CountTask,
    CountVectorsTask,
    DealTask,
    LookTask,
    SomePartitionsTask,
)
from countveil.randomness import Randomness, TaskKey
from countveil.release.draft import WrittenFile
from countveil.release.values import python_values
from countveil.tables import Column, TableFacts
from countveil.tables.encoded.encoding import to_numpy
from countveil.tables.encoded.survey import CodedColumn, Histogram, Repeats, Survey
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


class SparkSource:
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
        self._own_zone, self._filtered_by, self._notes = own_zone, filtered_by, notes
        self._frame, self._session = frame, session_of(frame)
        self._progress: Progress = progress or (lambda _stage, _done, _total: None)
        self._surveys: dict[str, Survey] = {}
        # By column, the rows of each value (as it was read) in each partition.
        self._by_partition: dict[str, Counts] = {}
        self._left_out: dict[tuple[int, ...], dict[str, Counts]] = {}
        self._vectors: dict[tuple[Any, ...], VectorCounts] = {}
        self._columns = columns_of(frame)
        self._exposures = exposures(self._session)
        self._count(list(counted) or [self._columns[0].name])
        self._rows = int(next(iter(self._by_partition.values())).sum())
        self._persons = tuple(persons)
        self._cases = SparkCases(
            self._frame, self._rows, self._surveys, self._broadcast, self._wait
        )

    def our_settings(self) -> AbstractContextManager[None]:
        """The settings that plans for this table need, while they are made and run."""
        return our_settings(self._session, own_zone=self._own_zone)

    @property
    def facts(self) -> TableFacts:
        """The number of rows, the columns, of which recoded ones are text, and warnings."""
        columns = [
            Column(c.name, "string") if self._is_recoded(c.name) else c for c in self._columns
        ]
        warnings = [*self._notes, *self._exposures]
        return TableFacts(self._rows, columns, warnings=warnings, filtered_by=self._filtered_by)

    def _is_recoded(self, name: str) -> bool:
        return name in self._surveys and self._surveys[name].is_recoded

    @_with_our_settings
    def histogram(self, column: str, without: Counts | None = None) -> Histogram:
        """Count the values of a column (for persons, once their cases are), leaving out rows."""
        survey = self._surveys[column]
        counts = survey.counts
        if without is not None and without.size:
            counts = counts - survey.recoded_counts(
                self._counts_left_out(without)[column].sum(axis=0)
            )
        return Histogram(domain_values(column, survey.values), counts)

    @_with_our_settings
    def vectors(self, columns: Sequence[str], without: Counts | None = None) -> Vectors:
        """Count the combinations of values of some columns."""
        left_out = np.zeros(0, np.int64) if without is None else without
        if columns[0] in self._persons:
            return self._cases.lines(columns, left_out, self._places).vectors
        return self._vectors_by_partition(columns, left_out).vectors

    @_with_our_settings
    def rows_of(
        self, columns: Sequence[str], vectors: Vectors, chosen: NDArray[np.bool_]
    ) -> Counts:
        """The numbers of the rows of some cases: the first column is the person's."""
        lines = self._cases.lines(columns, np.zeros(0, np.int64), self._places)
        places = self._cases.rows_of(columns, lines, vectors, chosen)
        sizes = next(iter(self._by_partition.values())).sum(axis=1)
        partitions, rows = (column.to_numpy() for column in places.columns)
        return np.sort((np.cumsum(sizes) - sizes)[partitions] + rows)

    def _vectors_by_partition(self, columns: Sequence[str], without: Counts) -> VectorCounts:
        """The same, in each partition; counted once."""
        from pyspark.sql.types import LongType, StructField, StructType

        known = (tuple(columns), tuple(without.tolist()))
        if known not in self._vectors:
            key = Randomness().task_key("vectors")
            surveys = {name: self._surveys[name].without_counts() for name in columns}
            schema = StructType([StructField(n, LongType()) for n in (PARTITION, WHICH, ROWS)])
            chosen = self._frame.select([quoted(name) for name in columns])
            with self._broadcast(seal_common(surveys, key)) as inputs:
                task = CountVectorsTask(columns, self._places(without), inputs, key)
                lines = self._wait("counting", lambda: chosen.mapInArrow(task, schema).toArrow())
            partitions = len(next(iter(self._by_partition.values())))
            sizes = [len(self._surveys[name].values) for name in columns]
            self._vectors[known] = VectorCounts.of(sizes, lines, partitions)
        return self._vectors[known]

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
        self._cases.forget(column)

    def declare(self, column: str, values: Sequence[Any]) -> None:
        """Give the column's histogram these values too."""
        self._surveys[column].declare(values)
        self._cases.forget(column)

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
        self, columns: Sequence[Column], drawn: Drawn, randomness: Randomness, folder: str | Path
    ) -> list[WrittenFile]:
        """Deal, exchange and write."""
        together, without = drawn.together, drawn.without
        names, key = [column.name for column in columns], randomness.task_key("deal")
        lost = self._counts_left_out(without)
        rows = {name: self._partition_counts(name, lost.get(name)) for name in drawn.apart}
        published = {name: table.published() for name, table in drawn.apart.items()}
        published |= margins(together)
        for each in drawn.cases:
            published |= rows_of_values(each)
        tables = dict(drawn.apart)
        for joint in together:
            tables[joint_name(joint.columns)] = joint.table
            counted = self._vectors_by_partition(joint.columns, without)
            rows[joint_name(joint.columns)] = counted.by_partition
        used = [name for name in names if name in published or self._is_recoded(name)]
        surveys = {name: self._surveys[name] for name in used}
        uncounted = {name: survey.without_counts() for name, survey in surveys.items()}
        left_out = {place: np.array(places) for place, places in self._places(without).items()}
        self._progress("splitting the draw", 0, 0)
        numbered = without_counts(together)
        plans, shares = self._case_shares(drawn, key)
        entries = seal_plan(names, uncounted, tables, rows, left_out, key, numbered, plans)
        total = self._rows - without.size
        new = {plan.batch for plan in plans}
        read = dict.fromkeys([*names, *(plan.person for plan in plans)])
        with self._broadcast({**entries, **shares}) as inputs:
            schema, key_name = writing.published_schema(self._frame.schema, columns)
            dealt = self._frame.select(
                [quoted(name) for name in read if name not in new]
            ).mapInArrow(DealTask(inputs, key, key_name), schema)
            self._wait(
                "drawing and shuffling",
                lambda: writing.write(dealt, key_name, total, str(folder)),
                total,
            )
        expected = {
            name: dict(zip(python_values(surveys[name].values), counts, strict=True))
            for name, counts in published.items()
        }
        expected |= rows_of_batches(drawn.cases)
        files: list[WrittenFile] = self._wait(
            "checking", lambda: writing.checked_files(self._session, str(folder), total, expected)
        )
        return files

    def _case_shares(self, drawn: Drawn, key: TaskKey) -> tuple[list[CasePlan], dict[str, bytes]]:
        """What all tasks know of cases, and what those of each partition publish."""
        plans: list[CasePlan] = []
        shares: dict[str, bytes] = {}
        for each in drawn.cases:
            lines = self._cases.lines((each.person, *each.columns), drawn.without, self._places)
            plan, places = case_plan(each)
            plans.append(plan)
            shares |= lines.shares(plan, places, key)
        return plans, shares

    def _count(self, names: Sequence[str]) -> None:
        """Count some columns in one pass over them."""
        table, partitions = self._counted(names)
        if table is not None:
            self._surveys = {name: survey_of(table, n, name) for n, name in enumerate(names)}
        most = max((len(survey.values) for survey in self._surveys.values()), default=0)
        if table is None or partitions * most > MOST_COUNTS:
            # Too many values for this many partitions: fewer, larger ones.
            self._frame = self._frame.coalesce(max(1, MOST_COUNTS // MOST_VALUES))
            table, partitions = self._counted(names)
            self._surveys = {name: survey_of(table, n, name) for n, name in enumerate(names)}
        for which, name in enumerate(names):
            survey = self._surveys[name]
            counts = np.zeros((partitions, len(survey.values)), np.int64)
            for partition, values in values_by_partition(table, which).items():
                counts[partition] = counts_of(survey, values)
            self._by_partition[name] = counts

    def _counted(self, names: Sequence[str]) -> tuple[Any, int]:
        """The lines of all partitions; None instead if there would be too many of them."""
        partitions = self._wait("counting", lambda: partitions_of(self._frame))
        most = max(1, min(MOST_VALUES, MOST_COUNTS // max(1, partitions)))
        table = self._lines(CountTask(names, most), names, "counting")
        given_up = to_numpy(table.column(ROWS).combine_chunks()) < 0
        if np.any(given_up):
            if most >= MOST_VALUES:
                which = to_numpy(table.column(WHICH).combine_chunks())[given_up]
                raise too_many(names[int(which[0])])
            return None, partitions
        last = int(to_numpy(table.column(PARTITION).combine_chunks()).max(initial=-1))
        return table, max(partitions, last + 1)

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
                for partition, values in values_by_partition(table, which).items():
                    counts[name][partition] = counts_of(self._surveys[name], values)
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

    def _broadcast(self, entries: dict[str, bytes]) -> AbstractContextManager[TaskInputs]:
        """Inputs at the workers, while they are needed."""
        return at_workers(self._session, entries)

    def _wait(self, stage: str, work: Callable[[], Any], rows: int = 0) -> Any:
        self._progress(stage, 0, rows)
        return jobs.run(
            self._session, work, lambda share: self._progress(stage, int(share * rows), rows)
        )
