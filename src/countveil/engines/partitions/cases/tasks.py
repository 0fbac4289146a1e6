"""Cases in a partition: counted, found again, and given what they publish.

Enters: the batches of a partition, and inputs from the driver. Leaves: the cases of every block of
rows, or what their rows publish. Must not know: other partitions, the driver, draws.

A task knows its cases by their place: the rows of a partition are taken block by block, and the
cases of a block have an order that depends on its rows alone. The first pass sends the cases to the
driver in this order; the driver answers with what they publish, in the same order, and with nothing
else. So no task needs to know who the persons of other partitions are, and a task that is run again
gives the same rows.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.engines.partitions import CHANGED
from countveil.engines.partitions.task_inputs import CasePlan, CaseShare, TaskInputs
from countveil.engines.partitions.tasks import (
    PARTITION,
    ROWS,
    WHICH,
    Batches,
    inside,
    partition_number,
    places_of,
    rows_without,
)
from countveil.randomness import TaskKey
from countveil.tables.encoded.encoding import encode_dictionary, from_numpy
from countveil.tables.encoded.plain_arrays import plain_array
from countveil.tables.encoded.survey import Survey
from countveil.tables.encoded.vectors import vector_keys

PERSON = "person"
# Rows of a block. Spark's batches are no larger, but may be smaller where rows are wide.
BLOCK = 1 << 16
Numbers = NDArray[np.int64]
NOTHING_READ = (0, 0)


@dataclass(frozen=True, slots=True)
class BlockCases:
    """The cases of a block in their order, and the number of every row's case.

    `keys` are those of the vectors of the protected columns; `rows` counts the rows of every case.
    """

    persons: pa.Array[Any]
    keys: Numbers
    rows: Numbers
    of_rows: Numbers


def blocks(batches: Batches) -> Batches:
    """The rows in batches of `BLOCK` rows: where these end does not depend on what is read."""
    parts: list[pa.RecordBatch] = []
    for batch in batches:
        parts.append(batch)
        while sum(part.num_rows for part in parts) >= BLOCK:
            joined = _joined(parts)
            yield joined.slice(0, BLOCK)
            parts = [joined.slice(BLOCK)]
    if parts and (joined := _joined(parts)).num_rows:
        yield joined


def _joined(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(parts) == 1:
        return parts[0]
    names = parts[0].schema.names
    columns = [pa.concat_arrays([part.column(name) for part in parts]) for name in names]
    return pa.RecordBatch.from_arrays(columns, names)


def block_cases(
    block: pa.RecordBatch, person: str, columns: Sequence[str], surveys: Mapping[str, Survey]
) -> BlockCases:
    """The cases of a block: persons in the order of their first rows, then by values."""
    encoded = encode_dictionary(plain_array(block.column(person)))
    if encoded.counts[-1]:
        raise RuntimeError(CHANGED)
    sizes = [len(surveys[name].values) for name in columns]
    keys = vector_keys([places_of(block.column(name), surveys[name]) for name in columns], sizes)
    base = math.prod(max(1, size) for size in sizes)
    pairs, of_rows, rows = np.unique(
        encoded.codes.astype(np.int64) * base + keys, return_inverse=True, return_counts=True
    )
    persons = encoded.dictionary.take(from_numpy(pairs // base))
    return BlockCases(persons, pairs % base, rows.astype(np.int64), of_rows)


def checksum(before: tuple[int, int], keys: Numbers, rows: Numbers) -> tuple[int, int]:
    """Goes on with a checksum of cases: it shows that both passes have the same ones."""
    return (
        zlib.crc32(keys.astype("<i8").tobytes(), before[0]),
        zlib.crc32(rows.astype("<i8").tobytes(), before[1]),
    )


class CountCasesTask:
    """The cases of every block of a partition, with their rows; some rows may be left out."""

    def __init__(
        self,
        person: str,
        columns: Sequence[str],
        left_out: Mapping[int, Sequence[int]],
        inputs: TaskInputs,
        key: TaskKey,
    ) -> None:
        self._person, self._columns, self._left_out = person, tuple(columns), dict(left_out)
        self._inputs, self._key = inputs, key

    def __call__(self, batches: Batches) -> Batches:
        surveys: Mapping[str, Survey] = self._inputs.common(self._key)
        partition = partition_number()
        left_out = np.array(self._left_out.get(partition, ()), np.int64)
        first = 0
        for block in blocks(batches):
            skipped = inside(left_out, first, block.num_rows)
            first += block.num_rows
            cases = block_cases(rows_without(block, skipped), self._person, self._columns, surveys)
            yield pa.RecordBatch.from_pydict({
                PARTITION: from_numpy(np.full(cases.keys.size, partition, np.int32)),
                PERSON: cases.persons,
                WHICH: from_numpy(cases.keys),
                ROWS: from_numpy(cases.rows.astype(np.int32)),
            })  # fmt: skip


class RowsOfCasesTask:
    """The numbers of the rows of some cases, counted from the first row of the partition."""

    def __init__(self, plan: CasePlan, inputs: TaskInputs, key: TaskKey) -> None:
        self._plan, self._inputs, self._key = plan, inputs, key

    def __call__(self, batches: Batches) -> Batches:
        partition = partition_number()
        surveys: Mapping[str, Survey] = self._inputs.common(self._key)
        dealer = CaseDealer(
            self._plan, self._inputs.cases(self._key, self._plan, partition), surveys
        )
        first = 0
        for block in blocks(batches):
            (chosen,) = dealer.places(block)
            rows = first + np.flatnonzero(chosen)
            first += block.num_rows
            yield pa.RecordBatch.from_pydict({
                PARTITION: from_numpy(np.full(rows.size, partition, np.int32)),
                WHICH: from_numpy(rows),
            })  # fmt: skip
        dealer.finish()


class CaseDealer:
    """Gives the rows of a partition, block by block, what was drawn for their cases."""

    def __init__(
        self, plan: CasePlan, share: CaseShare | None, surveys: Mapping[str, Survey]
    ) -> None:
        self._plan, self._surveys = plan, surveys
        self._share = share or CaseShare(tuple(np.zeros(0, np.int64) for _ in plan.names), (0, 0))
        self._used = 0
        self._check = NOTHING_READ

    def places(self, block: pa.RecordBatch) -> list[NDArray[Any]]:
        """For each of the plan's names, the place of what every row publishes."""
        cases = block_cases(block, self._plan.person, self._plan.columns, self._surveys)
        first, self._used = self._used, self._used + cases.keys.size
        self._check = checksum(self._check, cases.keys, cases.rows)
        if any(self._used > places.size for places in self._share.places):
            raise RuntimeError(CHANGED)
        return [places[first : self._used][cases.of_rows] for places in self._share.places]

    def dealt(self, block: pa.RecordBatch) -> dict[str, pa.Array[Any]]:
        """What every row publishes in each of the columns, and the batch of its case."""
        dealt: dict[str, pa.Array[Any]] = {}
        for name, places in zip(self._plan.names, self.places(block), strict=True):
            new = name == self._plan.batch
            values = pa.array(self._plan.batches) if new else self._surveys[name].values
            dealt[name] = values.take(from_numpy(places))
        return dealt

    def finish(self) -> None:
        """All rows were given something: they must be those of the first pass."""
        used = all(self._used == places.size for places in self._share.places)
        if not used or self._check != self._share.check:
            raise RuntimeError(CHANGED)
