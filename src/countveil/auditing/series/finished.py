"""Releases of a series that are there, linked by their plain columns as a stranger would.

Enters: each release with the table that it was made of, perhaps the ledger. Leaves: a linked
series. Must not know: attacks.

A row is linked if nobody else has its combination of plain values, neither in the table nor in the
release. What a row's true value was when it was published is known from the table of that release.
With the ledger it is known which cases a batch had, so that counts of a batch can be tested too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from countveil.auditing.linking import read_stored
from countveil.auditing.series.linked import (
    BatchWay,
    LeakedLedger,
    LedgerCases,
    LinkedSeries,
    ReleasedRows,
    SeriesColumn,
)
from countveil.auditing.series.simulated import strangers
from countveil.auditing.target import Codes
from countveil.engines.local.release_rows import StoredColumn
from countveil.errors import ReleaseError
from countveil.publishing.ledger.book import open_book
from countveil.publishing.ledger.ledger import Ledger
from countveil.publishing.prepare import LocalPreparedTable
from countveil.release import Manifest

_MOST_SECRETS = 400
_LEAST_LETTERS = 6


@dataclass(frozen=True)
class TableAndRelease:
    """A release, and the table that it was made of, with the column that identifies persons."""

    table: LocalPreparedTable
    person: str
    folder: Path
    manifest: Manifest


class Numbering:
    """Numbers for values, the same in all tables and releases."""

    def __init__(self) -> None:
        self.values: dict[Any, int] = {}

    def codes(self, values: Sequence[Any], codes: Codes) -> Codes:
        """The numbers of `values[codes]`."""
        numbers = [self.values.setdefault(_key(value), len(self.values)) for value in values]
        return np.array(numbers, np.int64)[codes]


def finished(
    releases: Sequence[TableAndRelease],
    draws: Sequence[tuple[str, ...]],
    ells: Mapping[str, int],
    ledger: Ledger | None,
) -> LinkedSeries:
    """Link all releases; the newest comes last."""
    order = sorted(releases, key=lambda one: 0 if (m := one.manifest.ledger) is None else m.release)
    persons = Numbering()
    places = [_linked_rows(one) for one in order]
    columns = [_column(names, ells, order, places, persons) for names in draws]
    leaked = None
    if ledger is not None:
        columns = [_completed(column, names, ledger)
                   for column, names in zip(columns, draws, strict=True)]  # fmt: skip
        leaked = _leaked(order[-1], draws, ledger)
    return LinkedSeries(
        columns, len(order), strangers([one.manifest for one in order]), leaked, places[-1][0].size
    )


def _linked_rows(one: TableAndRelease) -> tuple[Codes, Codes]:
    """Which row of the table is which row of the release, for those that are unique in both."""
    source, manifest = one.table.source, one.manifest
    known = {column.name for column in source.facts.columns}
    marks = {entry.batch for entry in manifest.batches}
    plain = [c.name for c in manifest.columns if c.role == "plain" and c.name not in marks]
    for name in plain:
        if name not in known:
            raise ReleaseError(
                f"The release {one.folder} has a column {name!r} that its table does not have."
            )
    stored = read_stored(one.folder, plain)
    ours, theirs = np.zeros(source.facts.rows, np.int64), np.zeros(manifest.rows, np.int64)
    for name in plain:
        numbering = Numbering()
        here = numbering.codes(source.histogram(name).values, source.codes(name))
        there = numbering.codes(stored[name].values, stored[name].codes)
        size = len(numbering.values)
        joint = np.concatenate([ours * size + here, theirs * size + there])
        codes = np.unique(joint, return_inverse=True)[1]
        ours, theirs = codes[: ours.size], codes[ours.size :]
    n_keys = int(max(ours.max(initial=0), theirs.max(initial=0))) + 1
    n_ours, n_theirs = (np.bincount(keys, minlength=n_keys) for keys in (ours, theirs))
    if (n_theirs > n_ours).any():
        raise ReleaseError(
            f"{int(np.maximum(n_theirs - n_ours, 0).sum()):,} rows of {one.folder} have other "
            f"plain values than any row of its table. Name the table that it was made of, and give "
            f"the options of that publication."
        )
    once = (n_ours == 1) & (n_theirs == 1)
    where = np.full(n_keys, -1, np.int64)
    where[theirs] = np.arange(theirs.size)
    linked = np.flatnonzero(once[ours])
    return linked, where[ours[linked]]


def _column(
    names: tuple[str, ...],
    ells: Mapping[str, int],
    releases: Sequence[TableAndRelease],
    places: Sequence[tuple[Codes, Codes]],
    persons: Numbering,
) -> SeriesColumn:
    """What linked rows publish in a column, or in columns together."""
    numberings = [Numbering() for _ in names]
    vectors = Numbering()
    rows = []
    for one, (ours, theirs) in zip(releases, places, strict=True):
        entry = next((each for each in one.manifest.batches if each.columns == names), None)
        mark = None if entry is None else entry.batch
        stored = read_stored(one.folder, [*names, *([mark] if mark else [])])
        source = one.table.source
        truth = [
            numbering.codes(source.histogram(name).values, source.codes(name)[ours])
            for numbering, name in zip(numberings, names, strict=True)
        ]
        shown = [
            numbering.codes(stored[name].values, stored[name].codes[theirs])
            for numbering, name in zip(numberings, names, strict=True)
        ]
        rows.append(ReleasedRows(
            persons.codes(source.histogram(one.person).values, source.codes(one.person)[ours]),
            _joined(vectors, truth), _joined(vectors, shown),
            _batch(stored, mark, theirs), one.manifest.ledger is not None,
        ))  # fmt: skip
    n_values = len(vectors.values)
    ways = {
        batch.number: BatchWay(batch.groups, _common(one.manifest, names, batch.common, vectors,
                                                     numberings), complete=False)
        for one in releases
        for entry in one.manifest.batches
        if entry.columns == names
        for batch in entry.drawn
    }  # fmt: skip
    return SeriesColumn.of(", ".join(names), ells[names[0]], n_values, rows, ways)


def _joined(vectors: Numbering, columns: Sequence[Codes]) -> Codes:
    """The numbers of vectors."""
    each, number = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return vectors.codes([tuple(row) for row in each.tolist()], number.reshape(-1))


def _batch(stored: Mapping[str, StoredColumn], mark: str | None, theirs: Codes) -> Codes:
    if mark is None:
        return np.ones(theirs.size, np.int64)
    return np.array(stored[mark].values, np.int64)[stored[mark].codes[theirs]]


def _common(
    manifest: Manifest,
    names: tuple[str, ...],
    places: Sequence[int],
    vectors: Numbering,
    numberings: Sequence[Numbering],
) -> tuple[int, ...]:
    """The numbers of the common values of a batch, of those that a linked row has or publishes."""
    domain = manifest.sensitive[names[0]].domain
    codes = [numberings[0].values.get(_key(domain[place])) for place in places]
    numbers = [vectors.values.get((code,)) for code in codes]
    return tuple(number for number in numbers if number is not None)


def _completed(column: SeriesColumn, names: tuple[str, ...], ledger: Ledger) -> SeriesColumn:
    """With the ledger: are all cases of a batch linked?"""
    with open_book(ledger.path, ledger.key, write=False) as book:
        known = next((one for one in book.sets if one.columns == names), None)
        sizes = {} if known is None else {b.number: b.cases for b in book.batches(known)}
    linked = np.bincount(column.batch, minlength=1 + max(column.ways, default=0))
    ways = {
        number: BatchWay(way.groups, way.common, int(linked[number]) == sizes.get(number, -1))
        for number, way in column.ways.items()
    }
    return SeriesColumn(
        column.name, column.ell, column.n_values, column.truth, column.person, column.releases,
        column.case, ways,
    )  # fmt: skip


def _leaked(one: TableAndRelease, draws: Sequence[tuple[str, ...]], ledger: Ledger) -> LeakedLedger:
    """The ledger, with the cases of the newest table and texts that it must not show."""
    source = one.table.source
    cases = []
    for names in draws:
        parts = [
            [source.histogram(name).values[code] for code in source.codes(name).tolist()]
            for name in (one.person, *names)
        ]
        cases.append(LedgerCases(names, list(dict.fromkeys(zip(*parts, strict=True)))))
    texts = [str(value) for each in cases for case in each.cases for value in case]
    texts += [one.person, *(name for names in draws for name in names), str(one.folder.resolve())]
    long = [text for text in dict.fromkeys(texts) if len(text) >= _LEAST_LETTERS]
    # The names and places come last, and are always among them.
    return LeakedLedger(ledger.path, ledger.key, cases, [*long[:_MOST_SECRETS], *long[-5:]])


def _key(value: Any) -> Any:
    """A key under which NaN equals itself."""
    return ("not a number",) if isinstance(value, float) and math.isnan(value) else value
