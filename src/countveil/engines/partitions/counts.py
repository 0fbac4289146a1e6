"""Counts of values, and of vectors of columns together, as tasks send them to the driver.

Enters: the lines of all partitions: partition, column and value or key of a vector, rows. Leaves:
surveys, vectors, and counts by partition in their order. Must not know: how the lines were asked
for.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countveil.engines.drawn import DrawnTogether
from countveil.engines.partitions.task_inputs import Together
from countveil.engines.partitions.tasks import PARTITION, ROWS, WHICH
from countveil.errors import InputError
from countveil.release.values import python_values
from countveil.tables.encoded.encoding import DictionaryColumn, missing_rows, to_numpy
from countveil.tables.encoded.survey import Survey
from countveil.tables.encoded.vectors import Vectors

if TYPE_CHECKING:
    import pyarrow as pa

Counts = NDArray[np.int64]
MOST_VALUES = 100_000
# Counts by partition and value, or vector, that the driver has in memory.
MOST_COUNTS = 1 << 24


def values_by_partition(table: pa.Table, which: int) -> dict[int, DictionaryColumn]:
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


def survey_of(table: pa.Table, which: int, name: str) -> Survey:
    """What all partitions hold of a column."""
    import pyarrow as pa

    survey = Survey(name, None, coded=True)
    for values in values_by_partition(table, which).values():
        survey.add(values)
    survey.finish()
    if survey.values is None:
        survey.values = pa.nulls(0, table.column(f"value{which}").type)
    if len(survey.values) > MOST_VALUES:
        raise too_many(name)
    return survey


def _one(column: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    # Any: the stubs promise an array, and this is for an Arrow that keeps chunks.
    combined: Any = column.combine_chunks()
    chunked = hasattr(combined, "chunk") and combined.num_chunks
    array: pa.Array[Any] = combined.chunk(0) if chunked else combined
    return array


def counts_of(survey: Survey, values: DictionaryColumn) -> Counts:
    """Counts in the order of the column's values, as they were read."""
    places = survey.original_places(values)
    return np.bincount(places, values.counts, survey.n_originals).astype(np.int64)


def too_many(name: str) -> InputError:
    return InputError(
        f"Column {name!r} has more than {MOST_VALUES:,} different values, which is the most that "
        f"can be protected or recoded. Put them into classes first."
    )


def domain_values(column: str, values: pa.Array[Any]) -> list[Any]:
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


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """The vectors that occur, and how often in each partition."""

    vectors: Vectors
    by_partition: Counts

    @classmethod
    def of(cls, sizes: Sequence[int], lines: pa.Table, partitions: int) -> VectorCounts:
        """From lines of a partition, a key and the number of rows."""
        partition, keys, rows = (column.to_numpy() for column in lines.columns)
        different, number = np.unique(keys, return_inverse=True)
        if partitions * different.size > MOST_COUNTS:
            raise InputError(
                f"The columns to publish together have {different.size:,} combinations of values "
                f"in {partitions:,} partitions, which is too much to count. Read the table in at "
                f"most {max(1, MOST_COUNTS // different.size):,} partitions, or merge rare values."
            )
        counts = np.zeros((partitions, different.size), np.int64)
        np.add.at(counts, (partition, number), rows)
        vectors = Vectors(tuple(sizes), different.astype(np.int64), counts.sum(axis=0))
        return cls(vectors, counts)


def joint_name(columns: Sequence[str]) -> str:
    """What several columns are called where one name is expected."""
    return "\x1f".join(columns)


def margins(together: Sequence[DrawnTogether]) -> dict[str, Counts]:
    """How many rows publish each value of every column."""
    published = {}
    for joint in together:
        drawn = joint.table.published()
        columns = zip(joint.columns, joint.vectors.sizes, joint.vectors.columns, strict=True)
        for name, size, places in columns:
            published[name] = np.bincount(places, drawn, size).astype(np.int64)
    return published


def without_counts(together: Sequence[DrawnTogether]) -> Together:
    """What tasks need to number vectors: no true count is among it."""
    return {
        joint_name(joint.columns): (
            joint.columns,
            Vectors(joint.vectors.sizes, joint.vectors.keys, np.zeros(0, np.int64)),
        )
        for joint in together
    }
