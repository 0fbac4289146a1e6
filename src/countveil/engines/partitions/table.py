"""The publisher's table in partitions: what counts by partition decide.

Enters: a way to run a task on every partition; later what was drawn. Leaves: histograms, vectors,
and for every partition what its task deals. Must not know: any engine library, groups, ell.

The driver's memory is bounded whatever the number of rows: counts by partition and value
(`MOST_COUNTS`; a table with more of them is read in fewer, larger partitions), and the shares of Y
(`task_inputs`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.engines.drawn import Drawn
from countveil.engines.partitions.cases.counting import CountedCases
from countveil.engines.partitions.cases.lines import case_plan, rows_of_batches, rows_of_values
from countveil.engines.partitions.counts import (
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
from countveil.engines.partitions.task_inputs import CasePlan, TaskInputs, seal_common, seal_plan
from countveil.engines.partitions.tasks import (
    PARTITION,
    ROWS,
    WHICH,
    CountLeftOutTask,
    CountTask,
    CountVectorsTask,
    Lines,
    Task,
)
from countveil.randomness import Randomness, TaskKey
from countveil.release.values import python_values
from countveil.tables import Column, TableFacts
from countveil.tables.encoded.encoding import to_numpy
from countveil.tables.encoded.survey import Histogram, Survey
from countveil.tables.encoded.vectors import Vectors

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Planned:
    """What tasks deal: their inputs, the columns that they read, and what has to come out.

    `expected` counts the rows of each published value of every protected column.
    """

    entries: Mapping[str, bytes]
    read: Sequence[str]
    rows: int
    expected: Mapping[str, Mapping[Any, int]]


class PartitionedTable(ABC):
    """A table in partitions; an engine adds how tasks run on them. See `SourceTable`."""

    def __init__(
        self,
        columns: Sequence[Column],
        counted: Sequence[str],
        *,
        persons: Sequence[str] = (),
        filtered_by: Sequence[str] = (),
        warnings: Sequence[str] = (),
    ) -> None:
        self._columns, self._persons = columns, tuple(persons)
        self._filtered_by, self._warnings = filtered_by, warnings
        self._surveys: dict[str, Survey] = {}
        # By column, the rows of each value (as it was read) in each partition.
        self._by_partition: dict[str, Counts] = {}
        self._left_out: dict[tuple[int, ...], dict[str, Counts]] = {}
        self._vectors: dict[tuple[Any, ...], VectorCounts] = {}
        self._count(list(counted) or [columns[0].name])
        self._rows = int(self._sizes.sum())
        self._cases = CountedCases(self._rows, self._surveys, self._at_workers, self._run)

    @abstractmethod
    def _partitions(self) -> int:
        """How many partitions the table has, as far as the driver knows."""

    @abstractmethod
    def _in_fewer(self, most: int) -> None:
        """Read the table in at most so many partitions from now on."""

    @abstractmethod
    def _run(self, task: Task, names: Sequence[str], lines: Lines, stage: str) -> pa.Table:
        """What a task gives for some columns of every partition, in the order of partitions."""

    @abstractmethod
    def _at_workers(self, entries: Mapping[str, bytes]) -> AbstractContextManager[TaskInputs]:
        """Inputs of tasks at the workers, while they are needed."""

    @property
    def facts(self) -> TableFacts:
        """The number of rows, the columns, of which recoded ones are text, and warnings."""
        columns = [
            Column(c.name, "string") if self._is_recoded(c.name) else c for c in self._columns
        ]
        return TableFacts(
            self._rows, columns, warnings=self._warnings, filtered_by=self._filtered_by
        )

    def _is_recoded(self, name: str) -> bool:
        return name in self._surveys and self._surveys[name].is_recoded

    @property
    def _sizes(self) -> Counts:
        """The rows of every partition."""
        sizes: Counts = next(iter(self._by_partition.values())).sum(axis=1)
        return sizes

    def histogram(self, column: str, without: Counts | None = None) -> Histogram:
        """Count the values of a column (for persons, once their cases are), leaving out rows."""
        survey = self._surveys[column]
        counts = survey.counts
        if without is not None and without.size:
            counts = counts - survey.recoded_counts(
                self._counts_left_out(without)[column].sum(axis=0)
            )
        return Histogram(domain_values(column, survey.values), counts)

    def vectors(self, columns: Sequence[str], without: Counts | None = None) -> Vectors:
        """Count the combinations of values of some columns."""
        left_out = np.zeros(0, np.int64) if without is None else without
        if columns[0] in self._persons:
            return self._cases.lines(columns, left_out, self._places).vectors
        return self._vectors_by_partition(columns, left_out).vectors

    def rows_of(
        self, columns: Sequence[str], vectors: Vectors, chosen: NDArray[np.bool_]
    ) -> Counts:
        """The numbers of the rows of some cases: the first column is the person's."""
        lines = self._cases.lines(columns, np.zeros(0, np.int64), self._places)
        places = self._cases.rows_of(columns, lines, vectors, chosen)
        partitions, rows = (column.to_numpy() for column in places.columns)
        return np.sort((np.cumsum(self._sizes) - self._sizes)[partitions] + rows)

    def _vectors_by_partition(self, columns: Sequence[str], without: Counts) -> VectorCounts:
        """The same, in each partition; counted once."""
        known = (tuple(columns), tuple(without.tolist()))
        if known not in self._vectors:
            key = Randomness().task_key("vectors")
            surveys = {name: self._surveys[name].without_counts() for name in columns}
            with self._at_workers(seal_common(surveys, key)) as inputs:
                task = CountVectorsTask(columns, self._places(without), inputs, key)
                fields: Lines = dict.fromkeys((PARTITION, WHICH, ROWS), pa.int64())
                lines = self._run(task, columns, fields, "counting")
            sizes = [len(self._surveys[name].values) for name in columns]
            self._vectors[known] = VectorCounts.of(sizes, lines, len(self._sizes))
        return self._vectors[known]

    def recode(self, column: str, values: Sequence[str | None]) -> None:
        """Put a text in place of each value of the column's histogram."""
        self._surveys[column].recode(values)
        self._cases.forget(column)

    def declare(self, column: str, values: Sequence[Any]) -> None:
        """Give the column's histogram these values too."""
        self._surveys[column].declare(values)
        self._cases.forget(column)

    def _recoded_surveys(self) -> dict[str, Survey]:
        """Without counts, for tasks that look at rows."""
        known = self._surveys.items()
        return {name: survey.without_counts() for name, survey in known if survey.is_recoded}

    def _planned(self, columns: Sequence[Column], drawn: Drawn, key: TaskKey) -> Planned:
        """Split what was drawn over the partitions, and encrypt the shares."""
        together, without = drawn.together, drawn.without
        names = [column.name for column in columns]
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
        numbered = without_counts(together)
        plans, shares = self._case_shares(drawn, key)
        entries = seal_plan(names, uncounted, tables, rows, left_out, key, numbered, plans)
        new = {plan.batch for plan in plans}
        read = dict.fromkeys([*names, *(plan.person for plan in plans)])
        expected = {
            name: dict(zip(python_values(surveys[name].values), counts, strict=True))
            for name, counts in published.items()
        }
        expected |= rows_of_batches(drawn.cases)
        return Planned(
            {**entries, **shares},
            [name for name in read if name not in new],
            self._rows - without.size,
            expected,
        )

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
            self._in_fewer(max(1, MOST_COUNTS // MOST_VALUES))
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
        partitions = self._partitions()
        most = max(1, min(MOST_VALUES, MOST_COUNTS // max(1, partitions)))
        table = self._count_lines(CountTask(names, most), names, "counting")
        given_up = to_numpy(table.column(ROWS).combine_chunks()) < 0
        if np.any(given_up):
            if most >= MOST_VALUES:
                which = to_numpy(table.column(WHICH).combine_chunks())[given_up]
                raise too_many(names[int(which[0])])
            return None, partitions
        last = int(to_numpy(table.column(PARTITION).combine_chunks()).max(initial=-1))
        return table, max(partitions, last + 1)

    def _count_lines(self, task: Task, names: Sequence[str], stage: str) -> pa.Table:
        fields: dict[str, pa.DataType | str] = {
            PARTITION: pa.int32(), WHICH: pa.int32(), ROWS: pa.int64(),
        }  # fmt: skip
        fields |= {f"value{number}": name for number, name in enumerate(names)}
        return self._run(task, names, fields, stage)

    def _counts_left_out(self, without: Counts) -> dict[str, Counts]:
        """By column that was counted: how often each partition has each value in these rows."""
        if not without.size:
            return {}
        rows = tuple(without.tolist())
        if rows not in self._left_out:
            names = list(self._by_partition)
            task = CountLeftOutTask(names, self._places(without))
            table = self._count_lines(task, names, "leaving out the residue")
            counts = {name: np.zeros_like(self._by_partition[name]) for name in names}
            for which, name in enumerate(names):
                for partition, values in values_by_partition(table, which).items():
                    counts[name][partition] = counts_of(self._surveys[name], values)
            self._left_out[rows] = counts
        return self._left_out[rows]

    def _places(self, without: Counts) -> dict[int, list[int]]:
        """Numbers of rows by partition, counted from the first row of each."""
        ends = np.cumsum(self._sizes)
        partitions = np.searchsorted(ends, without, side="right")
        inside = without - (ends - self._sizes)[partitions]
        return {
            int(partition): inside[partitions == partition].tolist()
            for partition in np.unique(partitions).tolist()
        }

    def _partition_counts(self, name: str, lost: Counts | None) -> Counts:
        """The rows of each value, as it is published, in each partition."""
        counts = self._by_partition[name] if lost is None else self._by_partition[name] - lost
        return np.stack([self._surveys[name].recoded_counts(row) for row in counts])
