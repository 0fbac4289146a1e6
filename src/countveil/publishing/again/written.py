"""What the ledger writes down of a release, and what the release says of its batches.

Enters: what was drawn for the sets of columns, the ledger. Leaves: `Addition`s for the ledger, and
`BatchedColumns` for the manifest. Must not know: how a draw is made, where the release goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countveil.maths.guarantees.sequences import StatedBatches, sequences
from countveil.publishing.again.continuing import Continuing, DrawnSet
from countveil.publishing.cases import FEWEST_CASES, cases_per_vector, design_effect
from countveil.publishing.ledger.book import Addition, DrawnBatch
from countveil.release.batches import Batch, BatchedColumns, LedgerMark
from countveil.release.values import encode_value
from countveil.tables import Column
from countveil.tables.encoded.vectors import vector_keys

Vector = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class NewBatch:
    """How many cases of some columns were known, and how many are new, in batch `number`."""

    columns: tuple[str, ...]
    number: int | None
    new: int
    known: int


@dataclass(frozen=True, slots=True)
class WrittenSet:
    """A set of columns: what the ledger adds, all its batches, and its values by code."""

    drawn: DrawnSet
    addition: Addition
    batches: Sequence[DrawnBatch]
    values: Sequence[Vector]

    @property
    def new_batch(self) -> NewBatch:
        """What is new."""
        new = int(self.drawn.before.new.sum())
        known = self.drawn.before.new.size - new
        return NewBatch(self.drawn.drawn.columns, self.drawn.batch if new else None, new, known)


@dataclass(frozen=True, slots=True)
class Continued:
    """What a release of a ledger says of itself and adds to the ledger."""

    ledger: str
    release: int
    sets: Sequence[WrittenSet]

    @property
    def mark(self) -> LedgerMark:
        """Which ledger, and which release of it."""
        return LedgerMark(self.ledger, self.release)

    @property
    def additions(self) -> list[Addition]:
        """What the ledger writes down."""
        return [each.addition for each in self.sets]

    @property
    def columns(self) -> list[Column]:
        """The columns that say in which batch a row was drawn."""
        return [Column(str(each.drawn.drawn.batch), "int64") for each in self.sets]

    @property
    def seeded(self) -> bool:
        """Whether a batch was drawn with a seed."""
        return any(batch.seeded for each in self.sets for batch in each.batches)

    def published(self, name: str) -> list[Any]:
        """The values of a column that were published in any release up to this one, sorted."""
        values = {
            vector[each.drawn.drawn.columns.index(name)]: None
            for each in self.sets
            if name in each.drawn.drawn.columns
            for vector in each.values
        }
        return sorted(values, key=lambda value: (value is not None, value))

    def promise(self, batches: Sequence[BatchedColumns]) -> str:
        """What holds for the series of releases, in words."""
        ell = {each.drawn.drawn.columns: each.drawn.before.columns.ell for each in self.sets}
        stated = [
            StatedBatches(
                entry.columns,
                ell[entry.columns],
                [(batch.number, batch.cases, batch.groups) for batch in entry.drawn],
            )
            for entry in batches
        ]
        return sequences(self.release, stated)

    def batches(self, domains: Mapping[str, Sequence[Any]]) -> tuple[BatchedColumns, ...]:
        """What the manifest says; `domains` are the values that it names."""
        return tuple(_batched(each, domains) for each in self.sets)


def written_down(continuing: Continuing, sets: Sequence[DrawnSet], *, seeded: bool) -> Continued:
    """What a release adds to its ledger."""
    release = continuing.book.next_release
    return Continued(
        continuing.book.id,
        release,
        [_written(continuing, each, release, seeded=seeded) for each in sets],
    )


def _written(continuing: Continuing, each: DrawnSet, release: int, *, seeded: bool) -> WrittenSet:
    columns, new = each.before.columns, each.before.new
    known = continuing.book.batches(columns) if columns in continuing.book.sets else []
    values = continuing.values[columns.number]
    if not new.any():
        return WrittenSet(each, Addition(columns), known, values)
    occurring = [continuing.prepared.source.histogram(name).values for name in columns.columns]
    drawn = each.drawn.only(new)
    vectors, counts = cases_per_vector(drawn)
    written = [
        tuple(occurring[column][place] for column, place in enumerate(vector))
        for vector in np.stack(vectors).T.tolist()
    ]
    code_of = {vector: code for code, vector in enumerate(values)}
    added = [vector for vector in written if vector not in code_of]
    code_of |= {vector: len(values) + number for number, vector in enumerate(added)}
    codes = np.array([code_of[vector] for vector in written], np.int64)
    # The vectors are in the order of their keys.
    sizes = drawn.vectors.sizes[1:]
    numbers = np.searchsorted(vector_keys(vectors, sizes), vector_keys(drawn.published, sizes))
    settings = continuing.protecting.columns[columns.columns[0]]
    batch = DrawnBatch(
        each.batch,
        release,
        int(new.sum()),
        settings.groups,
        _common(continuing, each, code_of),
        dict(zip(codes.tolist(), counts.tolist(), strict=True)),
        seeded,
    )
    addition = Addition(
        columns,
        [tuple(encode_value(value) for value in vector) for vector in added],
        batch,
        each.before.marks[new],
        codes[numbers],
    )
    return WrittenSet(each, addition, [*known, batch], [*values, *added])


def _common(
    continuing: Continuing, each: DrawnSet, code_of: Mapping[Vector, int]
) -> tuple[int, ...]:
    """The codes of common values; one that nobody publishes is not named."""
    name = each.drawn.columns[0]
    values = continuing.prepared.source.histogram(name).values
    vectors = [(values[place],) for place in continuing.common.get(name, ())]
    return tuple(code_of[vector] for vector in vectors if vector in code_of)


def _batched(each: WrittenSet, domains: Mapping[str, Sequence[Any]]) -> BatchedColumns:
    drawn = each.drawn.drawn
    place_of = [
        {value: place for place, value in enumerate(domains[name])} for name in drawn.columns
    ]
    places = [
        tuple(known[value] for known, value in zip(place_of, vector, strict=True))
        for vector in each.values
    ]
    present = set(drawn.batches.tolist())
    effect = design_effect(drawn)
    batches = []
    for batch in each.batches:
        if batch.number not in present:
            continue
        cases = drawn.only(drawn.batches == batch.number)
        # Of very few cases it could be that of a single person.
        few = cases.vectors.keys.size < FEWEST_CASES
        batches.append(_batch(batch, places, place_of, effect if few else design_effect(cases)))
    return BatchedColumns(drawn.columns, drawn.batch, tuple(batches))


def _batch(
    batch: DrawnBatch,
    places: Sequence[tuple[int, ...]],
    domains: Sequence[Mapping[Any, int]],
    effect: float,
) -> Batch:
    if len(domains) == 1:
        counts = [0] * len(domains[0])
        for code, count in batch.counts.items():
            counts[places[code][0]] = count
        common = tuple(places[code][0] for code in batch.common)
        return Batch(batch.number, batch.groups, tuple(counts), effect, common)
    vectors = tuple(zip(*(places[code] for code in batch.counts), strict=True))
    return Batch(batch.number, batch.groups, tuple(batch.counts.values()), effect, (), vectors)
