"""What runs on the workers: the same kernels, on Arrow batches of one partition of the table.

Enters: the batches of a partition, and inputs from the driver. Leaves: counts, or the rows as
they are published, with a random key each. Must not know: other partitions, the driver, files.

A task is known by the number of its partition, never by its attempt: run again, or twice at once,
it gives the same rows. Nothing that is raised here quotes a value.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.engines.partitions import CHANGED
from countveil.engines.partitions.task_inputs import TaskInputs, TaskPlan
from countveil.maths.mechanism import Dealer
from countveil.maths.mechanism.deal import narrow_type
from countveil.randomness import TaskKey
from countveil.tables.encoded.encoding import (
    DictionaryColumn,
    decoded,
    encode_dictionary,
    from_numpy,
)
from countveil.tables.encoded.plain_arrays import plain_array
from countveil.tables.encoded.survey import CodedColumn, Survey, coded_column, is_countable
from countveil.tables.encoded.vectors import VectorSurvey

if TYPE_CHECKING:
    from countveil.engines.partitions.cases.tasks import CaseDealer

PARTITION, WHICH, ROWS = "partition", "which", "rows"
RESULT = "result"
Batches = Iterator[pa.RecordBatch]
Task = Callable[[Batches], Batches]
# What a task gives: names, each with its type or the name of the column whose type it has.
Lines = Mapping[str, pa.DataType | str]
_WORKING_ON: ContextVar[int | None] = ContextVar("partition", default=None)


@contextlib.contextmanager
def working_on(partition: int) -> Iterator[None]:
    """Whoever runs a task says inside of this which partition it is; Spark knows by itself."""
    before = _WORKING_ON.set(partition)
    try:
        yield
    finally:
        _WORKING_ON.reset(before)


def partition_number() -> int:
    """The number of the partition that this task works on."""
    number = _WORKING_ON.get()
    if number is not None:
        return number
    from pyspark import TaskContext

    context = TaskContext.get()
    return int(context.partitionId()) if context is not None else 0


class CountTask:
    """How often each value occurs in a partition, for each of some columns.

    A column with more than `most` values is not counted: its line says -1 rows.
    """

    def __init__(self, names: Sequence[str], most: int) -> None:
        self._names, self._most = tuple(names), most

    def __call__(self, batches: Batches) -> Batches:
        surveys = {name: Survey(name, None, coded=True) for name in self._names}
        types: dict[str, Any] = {}
        for batch in batches:
            for name in list(surveys):
                array = plain_array(batch.column(name))
                types[name] = array.type
                surveys[name].add(_without_codes(encode_dictionary(array)))
                if surveys[name].distinct() > self._most:
                    del surveys[name]
        if not types:
            return
        partition = partition_number()
        for which, name in enumerate(self._names):
            survey = surveys.get(name)
            if survey is None:
                yield self._lines(partition, which, pa.nulls(1, types[name]), np.array([-1]), types)
                continue
            survey.finish()
            yield self._lines(partition, which, survey.values, survey.counts, types)

    def _lines(
        self,
        partition: int,
        which: int,
        values: pa.Array[Any],
        counts: NDArray[np.int64],
        types: dict[str, Any],
    ) -> pa.RecordBatch:
        size = len(values)
        columns = {
            PARTITION: from_numpy(np.full(size, partition, np.int32)),
            WHICH: from_numpy(np.full(size, which, np.int32)),
            ROWS: from_numpy(counts.astype(np.int64)),
        }
        for number, name in enumerate(self._names):
            columns[f"value{number}"] = values if number == which else pa.nulls(size, types[name])
        return pa.RecordBatch.from_pydict(columns)


class NumberOfLinesTask:
    """How many lines another task gives; they stay where they are."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def __call__(self, batches: Batches) -> Batches:
        lines = sum(batch.num_rows for batch in self._task(batches))
        yield pa.RecordBatch.from_pydict({ROWS: from_numpy(np.array([lines], np.int64))})


class SomePartitionsTask:
    """The rows of some partitions; the others are not even read."""

    def __init__(self, partitions: Sequence[int]) -> None:
        self._partitions = frozenset(partitions)

    def __call__(self, batches: Batches) -> Batches:
        if partition_number() in self._partitions:
            yield from batches


class LookTask:
    """The result of a function of the rows of a sample; only that goes back to the driver."""

    def __init__(
        self,
        look: Callable[[Mapping[str, CodedColumn]], Any],
        inputs: TaskInputs,
        key: TaskKey,
    ) -> None:
        self._look, self._inputs, self._key = look, inputs, key

    def __call__(self, batches: Batches) -> Batches:
        surveys: Mapping[str, Survey] = self._inputs.common(self._key)
        columns: dict[str, list[DictionaryColumn]] = {}
        for batch in batches:
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                if is_countable(column.type):
                    encoded = encode_dictionary(plain_array(column))
                    survey = surveys.get(name)
                    encoded = encoded if survey is None else survey.recoded(encoded)
                    columns.setdefault(name, []).append(encoded)
        result = self._look({name: coded_column(parts) for name, parts in columns.items()})
        yield pa.RecordBatch.from_pydict({RESULT: pa.array([pickle.dumps(result)], pa.binary())})


class CountLeftOutTask:
    """The protected values of a few rows that are left out, as counts."""

    def __init__(self, names: Sequence[str], left_out: Mapping[int, Sequence[int]]) -> None:
        self._names, self._left_out = tuple(names), dict(left_out)

    def __call__(self, batches: Batches) -> Batches:
        rows = np.array(self._left_out.get(partition_number(), ()), np.int64)
        if rows.size:
            yield from CountTask(self._names, rows.size)(self._chosen(batches, rows))

    def _chosen(self, batches: Batches, rows: NDArray[np.int64]) -> Batches:
        first = 0
        for batch in batches:
            here = inside(rows, first, batch.num_rows)
            first += batch.num_rows
            if here.size:
                yield batch.take(from_numpy(here))


class CountVectorsTask:
    """How often each combination of values of some columns occurs in a partition."""

    def __init__(
        self,
        names: Sequence[str],
        left_out: Mapping[int, Sequence[int]],
        inputs: TaskInputs,
        key: TaskKey,
    ) -> None:
        self._names, self._left_out = tuple(names), dict(left_out)
        self._inputs, self._key = inputs, key

    def __call__(self, batches: Batches) -> Batches:
        surveys: Mapping[str, Survey] = self._inputs.common(self._key)
        partition = partition_number()
        left_out = np.array(self._left_out.get(partition, ()), np.int64)
        counted = VectorSurvey([len(surveys[name].values) for name in self._names])
        first = 0
        for batch in batches:
            skipped = inside(left_out, first, batch.num_rows)
            first += batch.num_rows
            places = [places_of(batch.column(name), surveys[name]) for name in self._names]
            counted.add([np.delete(place, skipped) for place in places])
        vectors = counted.vectors()
        if vectors.keys.size:
            lines = {
                PARTITION: np.full(vectors.keys.size, partition, np.int64),
                WHICH: vectors.keys,
                ROWS: vectors.counts,
            }
            yield pa.RecordBatch.from_pydict({n: from_numpy(a) for n, a in lines.items()})


class DealTask:
    """The rows of a partition as they are published, each with a random key."""

    def __init__(self, inputs: TaskInputs, key: TaskKey, key_name: str) -> None:
        self._inputs, self._key, self._key_name = inputs, key, key_name

    def __call__(self, batches: Batches) -> Batches:
        partition = partition_number()
        plan = self._inputs.plan(self._key, partition)
        dealers = {
            name: Dealer(table, self._key.stream("deal", name, str(partition)))
            for name, table in plan.tables.items()
        }
        cases, batches = _case_dealers(plan, batches)
        keys = self._key.stream("shuffle", str(partition))
        first = 0
        for batch in batches:
            left_out = inside(plan.left_out, first, batch.num_rows)
            first += batch.num_rows
            kept = rows_without(batch, left_out)
            dealt = self._together(kept, plan, dealers)
            for each in cases:
                dealt |= each.dealt(kept)
            columns = [
                dealt[name]
                if name in dealt
                else self._column(kept.column(name), plan.surveys.get(name), dealers.get(name))
                for name in plan.names
            ]
            random = from_numpy(keys.words(kept.num_rows).view(np.int64))
            yield pa.RecordBatch.from_arrays([*columns, random], [*plan.names, self._key_name])
        if any(dealer.rows_left for dealer in dealers.values()):
            raise RuntimeError(CHANGED)
        for each in cases:
            each.finish()

    def _together(
        self, batch: pa.RecordBatch, plan: TaskPlan, dealers: Mapping[str, Dealer]
    ) -> dict[str, pa.Array[Any]]:
        """The columns that publish whole vectors."""
        dealt: dict[str, pa.Array[Any]] = {}
        for joint, (names, vectors) in plan.together.items():
            dealer = dealers[joint]
            places = [places_of(batch.column(name), plan.surveys[name]) for name in names]
            numbers = vectors.numbers(places)
            if np.any(numbers < 0):
                raise RuntimeError(CHANGED)
            codes = _dealt(dealer, numbers.astype(dealer.dtype))
            for name, column in zip(names, vectors.columns, strict=True):
                dealt[name] = plan.surveys[name].values.take(from_numpy(column[codes]))
        return dealt

    def _column(
        self, array: pa.Array[Any], survey: Survey | None, dealer: Dealer | None
    ) -> pa.Array[Any]:
        if survey is None:
            return decoded(plain_array(array))
        codes = places_of(array, survey)
        if dealer is not None:
            codes = _dealt(dealer, codes)
        dealt: pa.Array[Any] = survey.values.take(from_numpy(codes))
        return dealt


def places_of(array: pa.Array[Any], survey: Survey) -> NDArray[Any]:
    """The position of each row's value among the values of the column."""
    encoded = encode_dictionary(plain_array(array))
    places = survey.places(encoded).astype(narrow_type(survey.counts.size))
    codes: NDArray[Any] = places.take(encoded.codes)
    return codes


def _dealt(dealer: Dealer, codes: NDArray[Any]) -> NDArray[Any]:
    """The published code of each row."""
    try:
        return dealer.reserve(dealer.count(codes)).deal(codes)
    except ValueError:
        raise RuntimeError(CHANGED) from None


def _case_dealers(plan: TaskPlan, batches: Batches) -> tuple[Sequence[CaseDealer], Batches]:
    """What deals to the rows of cases, if there are any, and the batches that it deals to."""
    if not plan.cases:
        return (), batches
    # Loaded only where persons have several rows.
    from countveil.engines.partitions.cases.tasks import CaseDealer, blocks

    dealers = [CaseDealer(each, share, plan.surveys) for each, share in plan.cases]
    return dealers, blocks(batches)


def rows_without(batch: pa.RecordBatch, rows: NDArray[np.int64]) -> pa.RecordBatch:
    """A batch without some of its rows."""
    if not rows.size:
        return batch
    return batch.take(from_numpy(np.delete(np.arange(batch.num_rows), rows)))


def inside(rows: NDArray[np.int64], first: int, size: int) -> NDArray[np.int64]:
    """Those of the rows that are in a batch, counted from its first."""
    return rows[(rows >= first) & (rows < first + size)] - first


def _without_codes(column: DictionaryColumn) -> DictionaryColumn:
    """A survey counts; it need not keep the rows."""
    return DictionaryColumn(column.codes[:0], column.dictionary, column.counts)
