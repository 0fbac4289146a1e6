"""What runs on the workers: the same kernels, on Arrow batches of one part of the table.

Enters: the batches of a part, and a parcel from the driver. Leaves: counts, or the rows as they are
published with a random key each. Must not know: other parts, the driver, files.

A task is known by the number of its part, never by its attempt: run again, or twice at once, it
gives the same rows. Nothing that is raised here quotes a value.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.engines.spark.jobs import CHANGED
from countveil.engines.spark.task_inputs import Parcel
from countveil.maths.mechanism import Dealer
from countveil.maths.mechanism.deal import narrow_type
from countveil.randomness import TaskKey
from countveil.tables.encoded.arrow_arrays import from_numpy, plain_array
from countveil.tables.encoded.encoding import DictionaryColumn, encode_dictionary
from countveil.tables.encoded.survey import CodedColumn, Survey, coded_column, is_countable

PART, WHICH, ROWS = "part", "which", "rows"
RESULT = "result"
Batches = Iterator[pa.RecordBatch]


def own_part() -> int:
    """The number of the part that this task works on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return int(context.partitionId()) if context is not None else 0


class CountTask:
    """How often each value occurs in a part, for each of some columns.

    A column with more than `most` values is given up: its line says -1 rows.
    """

    def __init__(self, names: Sequence[str], missing: Sequence[str], most: int) -> None:
        self._names, self._missing, self._most = tuple(names), tuple(missing), most

    def __call__(self, batches: Batches) -> Batches:
        surveys = {name: Survey(name, None, coded=True) for name in self._names}
        types: dict[str, Any] = {}
        for batch in batches:
            for name in list(surveys):
                array = plain_array(batch.column(name), self._missing)
                types[name] = array.type
                surveys[name].add(_without_codes(encode_dictionary(array)))
                if surveys[name].distinct() > self._most:
                    del surveys[name]
        if not types:
            return
        part = own_part()
        for which, name in enumerate(self._names):
            survey = surveys.get(name)
            if survey is None:
                yield self._lines(part, which, pa.nulls(1, types[name]), np.array([-1]), types)
                continue
            survey.finish()
            yield self._lines(part, which, survey.values, survey.counts, types)

    def _lines(
        self, part: int, which: int, values: Any, counts: NDArray[np.int64], types: dict[str, Any]
    ) -> pa.RecordBatch:
        size = len(values)
        columns = {
            PART: from_numpy(np.full(size, part, np.int32)),
            WHICH: from_numpy(np.full(size, which, np.int32)),
            ROWS: from_numpy(counts.astype(np.int64)),
        }
        for number, name in enumerate(self._names):
            columns[f"value{number}"] = values if number == which else pa.nulls(size, types[name])
        return pa.RecordBatch.from_pydict(columns)


class PartsTask:
    """The rows of some parts; the others are not even read."""

    def __init__(self, parts: Sequence[int]) -> None:
        self._parts = frozenset(parts)

    def __call__(self, batches: Batches) -> Batches:
        if own_part() in self._parts:
            yield from batches


class LookTask:
    """What a function finds in the rows of a sample; only that goes back to the driver."""

    def __init__(
        self,
        look: Callable[[Mapping[str, CodedColumn]], Any],
        missing: Sequence[str],
        parcel: Parcel,
        key: TaskKey,
    ) -> None:
        self._look, self._missing = look, tuple(missing)
        self._parcel, self._key = parcel, key

    def __call__(self, batches: Batches) -> Batches:
        surveys: Mapping[str, Survey] = self._parcel.head(self._key)
        pieces: dict[str, list[DictionaryColumn]] = {}
        for batch in batches:
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                if is_countable(column.type):
                    piece = encode_dictionary(plain_array(column, self._missing))
                    known = surveys.get(name)
                    piece = piece if known is None else known.recoded(piece)
                    pieces.setdefault(name, []).append(piece)
        found = self._look({name: coded_column(own) for name, own in pieces.items()})
        yield pa.RecordBatch.from_pydict({RESULT: pa.array([pickle.dumps(found)], pa.binary())})


class LostTask:
    """The protected values of a few rows that are left out, as counts."""

    def __init__(
        self, names: Sequence[str], missing: Sequence[str], gone: Mapping[int, Sequence[int]]
    ) -> None:
        self._names, self._missing, self._gone = tuple(names), tuple(missing), dict(gone)

    def __call__(self, batches: Batches) -> Batches:
        gone = np.array(self._gone.get(own_part(), ()), np.int64)
        if not gone.size:
            return
        few = self._kept(batches, gone)
        yield from CountTask(self._names, self._missing, gone.size)(few)

    def _kept(self, batches: Batches, gone: NDArray[np.int64]) -> Batches:
        first = 0
        for batch in batches:
            own = gone[(gone >= first) & (gone < first + batch.num_rows)] - first
            first += batch.num_rows
            if own.size:
                yield batch.take(from_numpy(own))


class DealTask:
    """The rows of a part as they are published, each with a random key."""

    def __init__(self, parcel: Parcel, key: TaskKey, key_name: str) -> None:
        self._parcel, self._key, self._key_name = parcel, key, key_name

    def __call__(self, batches: Batches) -> Batches:
        part = own_part()
        plan = self._parcel.plan(self._key, part)
        dealers = {
            name: Dealer(table, self._key.stream("deal", name, str(part)))
            for name, table in plan.tables.items()
        }
        keys = self._key.stream("shuffle", str(part))
        first = 0
        for batch in batches:
            gone = plan.gone[(plan.gone >= first) & (plan.gone < first + batch.num_rows)] - first
            first += batch.num_rows
            kept = batch
            if gone.size:
                kept = batch.take(from_numpy(np.delete(np.arange(batch.num_rows), gone)))
            columns = [
                self._column(kept.column(name), plan.surveys.get(name), dealers.get(name))
                for name in plan.names
            ]
            random = from_numpy(keys.words(kept.num_rows).view(np.int64))
            yield pa.RecordBatch.from_arrays([*columns, random], [*plan.names, self._key_name])
        if any(dealer.rows_left for dealer in dealers.values()):
            raise RuntimeError(CHANGED)

    def _column(self, array: Any, survey: Survey | None, dealer: Dealer | None) -> Any:
        values = plain_array(array, self._parcel.missing)
        if survey is None:
            return values.dictionary.take(values.indices) if _is_coded(values) else values
        piece = encode_dictionary(values)
        places = survey.places(piece).astype(narrow_type(survey.counts.size))
        codes = places.take(piece.codes)
        if dealer is not None:
            try:
                codes = dealer.reserve(dealer.count(codes)).deal(codes)
            except ValueError:
                raise RuntimeError(CHANGED) from None
        return survey.values.take(from_numpy(codes))


def _without_codes(piece: DictionaryColumn) -> DictionaryColumn:
    """A survey counts; it need not hold the rows."""
    return DictionaryColumn(piece.codes[:0], piece.dictionary, piece.counts)


def _is_coded(array: Any) -> bool:
    return bool(pa.types.is_dictionary(array.type))
