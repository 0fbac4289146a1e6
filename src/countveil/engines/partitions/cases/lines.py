"""The cases of a table on the driver, and which of them are in which block of which partition.

Enters: the lines of `CountCasesTask`; later what every case publishes. Leaves: the cases as
`Vectors`, the persons, and encrypted inputs: for each partition, what its cases publish, in their
order there. Must not know: how the lines were asked for.

The driver's memory grows with the lines: one for every case of every block (65,536 rows of a
partition). A case whose rows are neighbours has one line. There are at most `MOST_LINES`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countveil.engines.drawn import DrawnCases
from countveil.engines.partitions.cases.tasks import NOTHING_READ, PERSON, checksum
from countveil.engines.partitions.counts import joint_name
from countveil.engines.partitions.task_inputs import CasePlan, CaseShare, seal_cases
from countveil.engines.partitions.tasks import PARTITION, ROWS, WHICH
from countveil.errors import InputError, option
from countveil.randomness import TaskKey
from countveil.tables.encoded.encoding import encode_dictionary, to_numpy
from countveil.tables.encoded.survey import Survey
from countveil.tables.encoded.vectors import Vectors, VectorSurvey

if TYPE_CHECKING:
    import pyarrow as pa

MOST_LINES = 20_000_000
# Persons that are looked up at a time: each time, all persons are hashed.
_LOOKED_UP = 1 << 22
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CaseLines:
    """The cases of some columns, and the case of every line.

    `firsts` has the first line of each partition, and the number of lines; `checks` the checksum
    of each partition's cases.
    """

    person: str
    columns: tuple[str, ...]
    vectors: Vectors
    firsts: Numbers
    cases: NDArray[np.int32]
    checks: Sequence[tuple[int, int]]

    @classmethod
    def of(
        cls, person: Survey, columns: Sequence[str], sizes: Sequence[int], lines: pa.Table
    ) -> CaseLines:
        """From the lines of all partitions; `sizes` has the number of values of each column."""
        partition, keys, rows = (to_numpy(_one(lines[name])) for name in (PARTITION, WHICH, ROWS))
        sizes = (len(person.values), *sizes)
        check_sizes(sizes)
        firsts = np.searchsorted(partition, np.arange(int(partition.max(initial=-1)) + 2))
        keys, rows = keys.astype(np.int64), rows.astype(np.int64)
        checks = [
            checksum(NOTHING_READ, keys[first:last], rows[first:last])
            for first, last in itertools.pairwise(firsts.tolist())
        ]
        base = int(np.prod([max(1, size) for size in sizes[1:]], dtype=np.int64))
        keys += _person_places(person, lines[PERSON]) * base
        different, number = np.unique(keys, return_inverse=True)
        counts = np.bincount(number, rows, different.size).astype(np.int64)
        vectors = Vectors(sizes, different, counts)
        return cls(person.name, tuple(columns), vectors, firsts, number.astype(np.int32), checks)

    def shares(
        self, plan: CasePlan, places: Sequence[NDArray[Any]], key: TaskKey
    ) -> dict[str, bytes]:
        """Encrypted, for each partition: of every line the places that its case has in `places`."""
        entries: dict[str, bytes] = {}
        narrow = [place.astype(np.min_scalar_type(int(place.max(initial=0)))) for place in places]
        for partition, check in enumerate(self.checks):
            first, last = self.firsts[partition : partition + 2]
            chosen = self.cases[first:last]
            share = CaseShare(tuple(place[chosen] for place in narrow), check)
            entries |= seal_cases(share, key, plan, partition)
        return entries


def persons_of(lines: pa.Table, name: str) -> Survey:
    """All persons, in sorted order; how many lines they have is not how many rows."""
    import pyarrow as pa

    survey = Survey(name, None, coded=True)
    for chunk in lines[PERSON].chunks:
        survey.add(encode_dictionary(chunk))
    survey.finish()
    if survey.values is None:
        survey.values = pa.nulls(0, lines[PERSON].type)
    return survey


def _person_places(person: Survey, values: pa.ChunkedArray[Any]) -> Numbers:
    places = [np.zeros(0, np.int64)]
    for first in range(0, len(values), _LOOKED_UP):
        encoded = encode_dictionary(_one(values.slice(first, _LOOKED_UP)))
        places.append(person.places(encoded)[encoded.codes])
    return np.concatenate(places)


def _one(column: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    import pyarrow as pa

    return pa.concat_arrays([pa.nulls(0, column.type), *column.chunks])


def check_sizes(sizes: Sequence[int]) -> None:
    """Refuse more combinations of persons and values than can be numbered."""
    VectorSurvey(sizes)


def check_lines(lines: int, person: str) -> None:
    """Refuse more lines than the driver has memory for."""
    if lines > MOST_LINES:
        raise InputError(
            f"The persons in column {person!r} have {lines:,} cases, counted anew in every 65,536 "
            f"neighbouring rows; on a cluster there can be {MOST_LINES:,}. If the rows of a person "
            f"lie apart, sort the table by {person!r} first. What works too: one row of each "
            f"person, with {option('one_per', {person: 'any'})}."
        )


def case_plan(drawn: DrawnCases) -> tuple[CasePlan, list[NDArray[Any]]]:
    """What all tasks know of the cases, and for each name the place that each case publishes."""
    places: list[NDArray[Any]] = [*drawn.published]
    names, numbers = [*drawn.columns], np.zeros(0, np.int64)
    if drawn.batch is not None:
        numbers, of_cases = np.unique(drawn.batches, return_inverse=True)
        names.append(drawn.batch)
        places.append(of_cases)
    plan = CasePlan(
        joint_name(drawn.columns), drawn.person, drawn.columns, tuple(names), drawn.batch, numbers
    )
    return plan, places


def rows_of_values(drawn: DrawnCases) -> dict[str, Numbers]:
    """How many rows publish each value of every column."""
    sizes, counts = drawn.vectors.sizes[1:], drawn.vectors.counts
    return {
        name: np.bincount(published, counts, size).astype(np.int64)
        for name, size, published in zip(drawn.columns, sizes, drawn.published, strict=True)
    }


def rows_of_batches(drawn: Sequence[DrawnCases]) -> dict[str, dict[Any, int]]:
    """How many rows the new columns say are of which batch."""
    rows: dict[str, dict[Any, int]] = {}
    for each in drawn:
        if each.batch is not None:
            counts = np.bincount(each.batches, each.vectors.counts).astype(np.int64)
            rows[each.batch] = {n: int(counts[n]) for n in np.flatnonzero(counts).tolist()}
    return rows
