"""The cases of a table on a cluster, asked for and kept.

Enters: a way to run tasks, the surveys of the counted columns. Leaves: the lines of the cases of
some columns, each counted once, the survey of the persons, the numbers of the rows of some cases.
Must not know: draws, any engine library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.engines.partitions.cases.lines import (
    MOST_LINES,
    CaseLines,
    check_lines,
    check_sizes,
    persons_of,
)
from countveil.engines.partitions.cases.tasks import BLOCK, PERSON, CountCasesTask, RowsOfCasesTask
from countveil.engines.partitions.counts import joint_name
from countveil.engines.partitions.task_inputs import CasePlan, TaskInputs, seal_common
from countveil.engines.partitions.tasks import (
    PARTITION,
    ROWS,
    WHICH,
    Lines,
    NumberOfLinesTask,
    Task,
)
from countveil.randomness import Randomness
from countveil.tables.encoded.survey import Survey
from countveil.tables.encoded.vectors import Vectors

Numbers = NDArray[np.int64]
AtWorkers = Callable[[Mapping[str, bytes]], AbstractContextManager[TaskInputs]]
Run = Callable[[Task, Sequence[str], Lines, str], pa.Table]
# Numbers of rows by partition, counted from the first row of each.
Places = Mapping[int, Sequence[int]]


@dataclass
class CountedCases:
    """Cases of the persons in a table with `rows` rows.

    `surveys` are those of the counted columns; the persons' is added when they are counted.
    """

    rows: int
    surveys: dict[str, Survey]
    at_workers: AtWorkers
    run: Run
    _lines: dict[tuple[Any, ...], CaseLines] = field(default_factory=dict)

    def lines(
        self, columns: Sequence[str], without: Numbers, places: Callable[[Numbers], Places]
    ) -> CaseLines:
        """The cases of a person (the first of the columns) with values of the others."""
        person, *protected = columns
        known = (tuple(columns), tuple(without.tolist()))
        if known in self._lines:
            return self._lines[known]
        if without.size and person not in self.surveys:
            # The persons of all rows, whichever are left out.
            self.lines(columns, without[:0], places)
        sizes = [len(self.surveys[name].values) for name in protected]
        check_sizes([BLOCK, *sizes])
        table = self._counted(person, protected, places(without))
        new = person not in self.surveys
        if new:
            self.surveys[person] = persons_of(table, person)
        lines = CaseLines.of(self.surveys[person], protected, sizes, table)
        if new:
            size, (persons, *_) = len(self.surveys[person].values), lines.vectors.columns
            counts = np.bincount(persons, lines.vectors.counts, size).astype(np.int64)
            self.surveys[person].counts = counts
        self._lines[known] = lines
        return lines

    def forget(self, column: str) -> None:
        """The values of a column are others now."""
        self._lines = {known: each for known, each in self._lines.items() if column not in known[0]}

    def _counted(self, person: str, protected: Sequence[str], left_out: Places) -> pa.Table:
        """The lines of all partitions, in the order of partitions and blocks."""
        fields: Lines = {
            PARTITION: pa.int32(), PERSON: person, WHICH: pa.int64(), ROWS: pa.int32(),
        }  # fmt: skip
        names = (person, *protected)
        key = Randomness().task_key("cases")
        surveys = {name: self.surveys[name].without_counts() for name in protected}
        with self.at_workers(seal_common(surveys, key)) as inputs:
            task = CountCasesTask(person, protected, left_out, inputs, key)
            if self.rows > MOST_LINES:
                numbers = self.run(
                    NumberOfLinesTask(task), names, {ROWS: pa.int64()}, "counting cases"
                )
                check_lines(int(numbers.column(0).to_numpy().sum()), person)
            return self.run(task, names, fields, "counting cases")

    def rows_of(
        self, columns: Sequence[str], lines: CaseLines, vectors: Vectors, chosen: NDArray[np.bool_]
    ) -> pa.Table:
        """The partitions, and the numbers inside them, of the rows of the chosen cases."""
        person, *protected = columns
        names = tuple(protected)
        plan = CasePlan(joint_name(names), person, names, (person,), None, np.zeros(0, np.int64))
        key = Randomness().task_key("rows of cases")
        surveys = {name: self.surveys[name].without_counts() for name in names}
        marked = np.isin(lines.vectors.keys, vectors.keys[chosen])
        entries = {**lines.shares(plan, [marked], key), **seal_common(surveys, key)}
        fields: Lines = {PARTITION: pa.int32(), WHICH: pa.int64()}
        with self.at_workers(entries) as inputs:
            task = RowsOfCasesTask(plan, inputs, key)
            return self.run(task, columns, fields, "looking for new cases")
