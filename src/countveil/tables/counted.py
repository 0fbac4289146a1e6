"""What is counted of a column: plain values that engines and the publisher pass to each other.

Enters: encoded columns, or a column's values with their counts. Leaves: frozen values. Must not
know: any engine, any file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from countveil.release.values import python_values
from countveil.tables.encoded.encoding import DictionaryColumn
from countveil.tables.encoded.survey import Survey

_EXAMPLES = 1_000


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of a column's values.

    Values are sorted, a missing one first: their order says nothing about the order of rows.
    """

    values: Sequence[Any]
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """Some rows of a column: each row's value as its rank among their values, missing first.

    `examples` are up to a thousand of the different known values.
    """

    codes: NDArray[np.int64]
    missing: int
    examples: Sequence[Any]

    @property
    def distinct(self) -> int:
        """Number of different known values."""
        return int(self.codes.max(initial=-1)) + 1 - int(self.missing > 0)


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """A column in summary: rows without a value, and how often each known value occurs.

    `numbers` are these values where they are numbers or times, in the order of `counts`.
    """

    missing: int
    counts: NDArray[np.int64]
    numbers: NDArray[np.float64] | None


@dataclass(frozen=True, slots=True)
class Repeats:
    """Rows without a value, how many values have several rows, and the most rows of one."""

    missing: int
    several: int
    most: int


def is_countable(kind: Any) -> bool:
    """Whether values of this type can be compared and counted; nested ones cannot."""
    try:
        pc.sort_indices(pa.nulls(0, kind).dictionary_encode().dictionary)
    except pa.ArrowNotImplementedError:
        return False
    return True


def coded_column(batches: Sequence[DictionaryColumn]) -> CodedColumn:
    """Each value as its rank among these values, a missing one first."""
    survey = Survey("", None, coded=True)
    for batch in batches:
        survey.add(batch)
    survey.finish()
    codes = [survey.places(batch)[batch.codes] for batch in batches]
    known = survey.values.drop_null()
    missing = sum(int(batch.counts[-1]) for batch in batches)
    if len(known) > _EXAMPLES:
        known = known.take(np.linspace(0, len(known) - 1, _EXAMPLES).astype(np.int64))
    return CodedColumn(np.concatenate(codes), missing, _examples(known))


def column_profile(values: Any, counts: NDArray[np.int64]) -> ColumnProfile:
    """How often each known value occurs, and the values where they are numbers or times."""
    known = values.drop_null()
    first = len(values) - len(known)
    return ColumnProfile(int(counts[:first].sum()), counts[first:], _numbers(known))


def repeats(histogram: Histogram) -> Repeats:
    """How often the values of a column come again."""
    first = int(len(histogram.values) > 0 and histogram.values[0] is None)
    known = histogram.counts[first:]
    missing = int(histogram.counts[:first].sum())
    return Repeats(missing, int((known > 1).sum()), int(known.max(initial=0)))


def _numbers(values: Any) -> NDArray[np.float64] | None:
    kind = values.type
    if pa.types.is_date32(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        values = values.cast(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    numbers: NDArray[np.float64] = values.cast(pa.float64(), safe=False).to_numpy(
        zero_copy_only=False
    )
    return numbers


def _examples(values: Any) -> list[Any]:
    try:
        return python_values(values)
    except (pa.ArrowInvalid, ValueError, OverflowError):
        return []  # Times that Python cannot represent exactly.
