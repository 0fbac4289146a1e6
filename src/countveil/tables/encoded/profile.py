"""A column at a glance, for whoever looks at a table before it is published.

Enters: arrays of a column, or its values with their counts. Leaves: codes and examples, or a
profile. Must not know: files, rows that were not asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from countveil.release.values import python_values
from countveil.tables.counted import CodedColumn, ColumnProfile
from countveil.tables.encoded.encoding import CodedPiece
from countveil.tables.encoded.survey import Survey

_EXAMPLES = 1_000


def is_countable(kind: Any) -> bool:
    """Whether values of this type can be told apart and counted; nested ones cannot."""
    try:
        pc.sort_indices(pa.nulls(0, kind).dictionary_encode().dictionary)
    except pa.ArrowNotImplementedError:
        return False
    return True


def spread(sizes: Sequence[int], most: int) -> list[NDArray[np.int64]]:
    """The numbers of at most so many rows, evenly from parts of these sizes."""
    total = sum(sizes)
    few = [size if total <= most else size * most // total for size in sizes]
    return [
        np.arange(count) * size // max(count, 1) for size, count in zip(sizes, few, strict=True)
    ]


def coded_column(pieces: Sequence[CodedPiece]) -> CodedColumn:
    """Each value as its rank among these values, a missing one first."""
    survey = Survey("", None, coded=True)
    for piece in pieces:
        survey.see(piece)
    survey.finish()
    codes = [survey.places(piece)[piece.codes] for piece in pieces]
    known = survey.values.drop_null()
    missing = sum(int(piece.counts[-1]) for piece in pieces)
    if len(known) > _EXAMPLES:
        known = known.take(np.linspace(0, len(known) - 1, _EXAMPLES).astype(np.int64))
    return CodedColumn(np.concatenate(codes), missing, _python(known))


def column_profile(values: Any, counts: NDArray[np.int64]) -> ColumnProfile:
    """How often each known value occurs, and the values where they are numbers or times."""
    known = values.drop_null()
    first = len(values) - len(known)
    return ColumnProfile(int(counts[:first].sum()), counts[first:], _numbers(known))


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


def _python(values: Any) -> list[Any]:
    try:
        return python_values(values)
    except (pa.ArrowInvalid, ValueError, OverflowError):
        return []  # times that Python cannot tell exactly
