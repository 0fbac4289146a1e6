"""What a release says of the batches in which its values were drawn.

Enters: the entries of a manifest, as JSON. Leaves: `BatchedColumns` and a `LedgerMark`, each
checked. Must not know: what follows from them for an estimate. It is loaded only where a release
has batches. Theory: docs/theory/cases.md.

A release that continues earlier ones holds cases that were drawn at different times. Those of one
time are a batch: they have groups and a channel of their own, which follow from how many cases of
the batch published each value when it was drawn. Since then some may have left the table, so the
rows of the release do not tell this any more, and the manifest has to.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from countveil.maths.channel import GROUP_METHODS
from countveil.release.manifest import PublishedColumn, SensitiveColumn, is_whole
from countveil.release.values import NUMBER, kind_of


@dataclass(frozen=True, slots=True)
class LedgerMark:
    """Which ledger a release belongs to, by a random name, and the its place among its releases."""

    id: str
    release: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Cases that were drawn at one time.

    `counts` has how many of them published each value then, rounded as the release of that time
    told it. The values are those of the column's domain; of columns together, the vectors whose
    values have the places `vectors` in the domain of each column. `common` values, by their places,
    could fill several places of a group. The variance of a count of rows is up to `design_effect`
    times that of as many cases of one row.
    """

    number: int
    groups: str
    counts: tuple[int, ...]
    design_effect: float = 1.0
    common: tuple[int, ...] = ()
    vectors: tuple[tuple[int, ...], ...] = ()

    @property
    def cases(self) -> int:
        """How many cases were drawn, about."""
        return sum(self.counts)

    def counts_of(self, column: int, size: int) -> list[int]:
        """How many published each of the `size` values of one of the columns."""
        if not self.vectors:
            return list(self.counts)
        counts = [0] * size
        for place, count in zip(self.vectors[column], self.counts, strict=True):
            counts[place] += count
        return counts


@dataclass(frozen=True, slots=True)
class BatchedColumns:
    """Columns that were drawn together, or one column, and their batches.

    The plain column `batch` has the number of each row's batch; without one, there is one batch.
    """

    columns: tuple[str, ...]
    batch: str | None
    drawn: tuple[Batch, ...]


def read_batches(
    given: Any, columns: Sequence[PublishedColumn], sensitive: Mapping[str, SensitiveColumn]
) -> tuple[BatchedColumns, ...]:
    """The batches of a release; ValueError says what cannot be right."""
    if not isinstance(given, list):
        raise TypeError("'batches' is not a list")
    read = tuple(_batched(entry, columns, sensitive) for entry in given)
    names = [name for entry in read for name in entry.columns]
    marks = [entry.batch for entry in read if entry.batch is not None]
    if not read or len(set(names)) != len(names) or len(set(marks)) != len(marks):
        raise ValueError("the batches of a column are listed twice, or not at all")
    return read


def read_mark(given: Mapping[str, Any]) -> LedgerMark:
    """Which ledger a release belongs to."""
    mark = LedgerMark(**given)
    if not isinstance(mark.id, str) or re.fullmatch("[0-9a-f]{32}", mark.id) is None:
        raise ValueError("the name of the ledger cannot be right")
    if not is_whole(mark.release, 1):
        raise ValueError("the number of the release in its ledger cannot be right")
    return mark


def written_batches(batches: Sequence[BatchedColumns]) -> list[dict[str, Any]]:
    """The batches for JSON; what says nothing is left out."""
    entries = [asdict(entry) for entry in batches]
    for batch in itertools.chain.from_iterable(entry["drawn"] for entry in entries):
        for optional in ("common", "vectors"):
            if not batch[optional]:
                del batch[optional]
    return entries


def _batched(
    entry: Mapping[str, Any],
    columns: Sequence[PublishedColumn],
    sensitive: Mapping[str, SensitiveColumn],
) -> BatchedColumns:
    names = tuple(entry["columns"])
    if not names or not all(isinstance(name, str) and name in sensitive for name in names):
        raise ValueError("batches are not those of sensitive columns")
    sizes = [len(sensitive[name].domain) for name in names]
    drawn = tuple(_batch(batch, sizes) for batch in entry["drawn"])
    numbers = [batch.number for batch in drawn]
    mark = entry["batch"]
    plain = {column.name: column.type for column in columns if column.role == "plain"}
    alone = mark is None and len(drawn) == 1
    problems = [
        (set(entry) != {"columns", "batch", "drawn"}, "batches have an unknown field"),
        (not drawn or numbers != sorted(set(numbers)), "the numbers of batches do not rise"),
        (
            not alone and (mark not in plain or kind_of(plain[mark]) != NUMBER),
            "the column of batches is not a plain column of numbers",
        ),
    ]
    for wrong, what in problems:
        if wrong:
            raise ValueError(what)
    return BatchedColumns(names, mark, drawn)


def _batch(given: Mapping[str, Any], sizes: Sequence[int]) -> Batch:
    vectors = tuple(tuple(places) for places in given.get("vectors", ()))
    listed = {"counts": tuple(given["counts"]), "common": tuple(given.get("common", ()))}
    batch = Batch(**{**given, **listed, "vectors": vectors})
    effect = batch.design_effect
    number = isinstance(effect, int | float) and not isinstance(effect, bool)
    counts = all(is_whole(count, 0) for count in batch.counts) and any(batch.counts)
    problems = [
        (not is_whole(batch.number, 1), "the number of a batch"),
        (batch.groups not in GROUP_METHODS, "the groups of a batch"),
        (not counts or not _fits(batch, sizes), "the counts of a batch"),
        (not number or not 1 <= effect < math.inf, "the design effect of a batch"),
        (not _common_fits(batch, sizes[0]), "the common values of a batch"),
    ]
    for wrong, what in problems:
        if wrong:
            raise ValueError(f"{what} cannot be right")
    return batch


def _fits(batch: Batch, sizes: Sequence[int]) -> bool:
    """Whether there is a count for each value, or for each vector of values."""
    if len(sizes) == 1:
        return not batch.vectors and len(batch.counts) == sizes[0]
    return len(batch.vectors) == len(sizes) and all(
        len(places) == len(batch.counts) and _places(places, size)
        for places, size in zip(batch.vectors, sizes, strict=True)
    )


def _common_fits(batch: Batch, size: int) -> bool:
    different = len(set(batch.common)) == len(batch.common)
    return not batch.common or (
        batch.groups == "mixed" and different and _places(batch.common, size)
    )


def _places(places: Sequence[object], size: int) -> bool:
    return all(isinstance(place, int) and is_whole(place, 0) and place < size for place in places)
