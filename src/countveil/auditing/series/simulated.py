"""A series like the planned one: the table in several releases, with a ledger of its own.

Enters: a case, a stream. Leaves: a linked series, or the reason why there is none. Must not know:
attacks.

Rows join by chance with one of the releases, fewer with each; so persons join, and known ones get
new rows. In between some persons leave, and come back; some rows have other values for one release,
which are then put right. Everything is published by the real path with a real ledger, and new cases
that are too few wait. The only plain column is the number of a row, so that all are linked; persons
and values have labels that are easily found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from countveil.auditing.case import AuditCase
from countveil.auditing.linking import read_stored
from countveil.auditing.series.linked import (
    BatchWay,
    LeakedLedger,
    LedgerCases,
    LinkedSeries,
    ReleasedRows,
    SeriesColumn,
)
from countveil.auditing.target import Codes
from countveil.errors import CountveilError
from countveil.maths.groups import ColumnSettings
from countveil.publishing.ledger.ledger import Ledger
from countveil.publishing.publisher import run_publish
from countveil.publishing.settings import Protecting, Writing
from countveil.randomness import Stream
from countveil.release import Manifest, read_manifest
from countveil.tables import Shaping
from countveil.tables.encoded.vectors import vector_keys

# The share of the rows that join with each release.
JOINING = (0.4, 0.3, 0.2, 0.1)
_MOST_ROWS = 20_000
_LEAVING, _CORRECTED = 0.1, 0.03
_LEAVE_IN, _CORRECT_IN = 2, 1


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of one release: numbers, persons, the codes of each protected column."""

    number: Codes
    person: Codes
    codes: Mapping[str, Codes]


def simulated(case: AuditCase, stream: Stream) -> LinkedSeries | str:
    """Publish a series of the table, and link it; or say why there is none."""
    settings = {
        name: replace(
            choice, common=tuple(map(_value, case.common.get(name, ()))), common_auto=False
        )
        for name, choice in case.settings.items()
    }
    refused = [n for n, c in settings.items() if c.odds is not None or c.residue == "drop"]
    if refused:
        return f"a ledger needs cases without noise and without dropped rows: {', '.join(refused)}"
    folder = case.scratch / "series"
    folder.mkdir()
    ledger = Ledger.init(folder / "ledger", key=folder / "key")
    protecting = replace(case.protecting, columns=settings)
    releases: list[tuple[_Rows, Path]] = []
    try:
        for number, rows in enumerate(_planned(case, stream), 1):
            target = folder / f"release-{number}"
            publish(rows, protecting, target, ledger)
            releases.append((rows, target))
    except CountveilError as error:
        return str(error)
    manifests = [read_manifest(target) for _, target in releases]
    cases = [_cases(columns, releases) for columns in protecting.draws]
    secrets = [text for one in cases for row in one.cases[:100] for text in row]
    names = [name for one in cases for name in one.columns if len(name) > len("person")]
    return LinkedSeries(
        [_column(columns, settings, releases, manifests) for columns in protecting.draws],
        len(releases),
        strangers(manifests),
        LeakedLedger(
            ledger.path, ledger.key, cases, [*dict.fromkeys(secrets), *names, str(folder)]
        ),
        manifests[-1].rows,
    )


def strangers(manifests: Sequence[Manifest]) -> int:
    """How many releases were made without the ledger of the newest one that has any."""
    ids = [None if manifest.ledger is None else manifest.ledger.id for manifest in manifests]
    ours = next((one for one in reversed(ids) if one is not None), None)
    return sum(one is None or one != ours for one in ids)


def _planned(case: AuditCase, stream: Stream) -> list[_Rows]:
    """The rows of each release, in the order of publication."""
    truth = {name: case.truth[name].codes for name in case.settings}
    rows = next(iter(truth.values())).size
    person = np.arange(rows) if case.persons is None else case.persons
    # Whole persons, in random order, until there are enough rows.
    rows_of = np.bincount(person)
    order = stream.permutation(rows_of.size)
    until = np.cumsum(rows_of[order])[np.argsort(order)]
    chosen = np.flatnonzero((until <= max(_MOST_ROWS, int(rows_of.max(initial=0))))[person])
    person = person[chosen]
    codes = {name: column[chosen] for name, column in truth.items()}
    joins = np.searchsorted(np.cumsum(JOINING)[:-1], stream.uniform(chosen.size), side="right")
    leaves = (stream.uniform(int(person.max(initial=0)) + 1) < _LEAVING)[person]
    wrong = stream.choose(round(_CORRECTED * chosen.size), chosen.size)
    other = wrong[stream.permutation(wrong.size)]
    planned = []
    for number in range(len(JOINING)):
        there = joins <= number
        if number == _LEAVE_IN:
            there &= ~leaves
        place = np.arange(chosen.size)
        if number == _CORRECT_IN:
            place[wrong] = other
        at = np.flatnonzero(there)
        planned.append(_Rows(at, person[at], {n: c[place][at] for n, c in codes.items()}))
    return planned


def publish(rows: _Rows, protecting: Protecting, target: Path, ledger: Ledger) -> None:
    """Publish one release of the series."""
    columns: dict[str, Any] = {
        name: pa.array(list(map(_value, codes.tolist()))) for name, codes in rows.codes.items()
    }
    number, person = _free("row", columns), _free("person", columns)
    columns[number] = pa.array(rows.number)
    keep = tuple(columns)
    columns[person] = pa.array(list(map(_person, rows.person.tolist())))
    writing = Writing.of(target, again=True, record=False, ledger=ledger, hold=True)
    shaping = Shaping(keep=keep, person=person)
    run_publish(pa.table(columns), protecting, writing, shaping=shaping)


def _column(
    names: tuple[str, ...],
    settings: Mapping[str, ColumnSettings],
    releases: Sequence[tuple[_Rows, Path]],
    manifests: Sequence[Manifest],
) -> SeriesColumn:
    """What the rows of every release publish in a column, or in columns together."""
    sizes = [
        max(int(rows.codes[name].max(initial=0)) for rows, _ in releases) + 1 for name in names
    ]
    linked = [
        _linked(names, sizes, rows, target, manifest)
        for (rows, target), manifest in zip(releases, manifests, strict=True)
    ]
    keys = np.unique(np.concatenate([k for rows in linked for k in (rows.truth, rows.shown)]))
    coded = [
        replace(
            rows,
            truth=np.searchsorted(keys, rows.truth),
            shown=np.searchsorted(keys, rows.shown),
        )
        for rows in linked
    ]
    return SeriesColumn.of(
        ", ".join(names), settings[names[0]].ell, keys.size, coded,
        _ways(names, sizes, keys, manifests),
    )  # fmt: skip


def _linked(
    names: tuple[str, ...],
    sizes: Sequence[int],
    rows: _Rows,
    target: Path,
    manifest: Manifest,
) -> ReleasedRows:
    """The rows of a release by their numbers; some may wait for a later one."""
    entry = next((one for one in manifest.batches if one.columns == names), None)
    mark = None if entry is None else entry.batch
    number = _free("row", rows.codes)
    stored = read_stored(target, [*names, number, *([mark] if mark else [])])
    order = np.searchsorted(rows.number, np.array(stored[number].values)[stored[number].codes])
    shown = [
        np.array([int(label.split()[1]) for label in stored[name].values])[stored[name].codes]
        for name in names
    ]
    batch = np.ones(order.size, np.int64)
    if mark is not None:
        batch = np.array(stored[mark].values, np.int64)[stored[mark].codes]
    return ReleasedRows(
        rows.person[order],
        vector_keys([rows.codes[name][order] for name in names], sizes),
        vector_keys(shown, sizes),
        batch,
        manifest.ledger is not None,
    )


def _ways(
    names: tuple[str, ...], sizes: Sequence[int], keys: Codes, manifests: Sequence[Manifest]
) -> dict[int, BatchWay]:
    """How each batch was drawn, by the newest manifest that names it. All cases are linked."""
    ways = {}
    for manifest in manifests:
        for entry in manifest.batches:
            if entry.columns != names:
                continue
            for batch in entry.drawn:
                labels = [manifest.sensitive[names[0]].domain[place] for place in batch.common]
                codes = np.array([int(str(label).split()[1]) for label in labels], np.int64)
                common = tuple(np.searchsorted(keys, codes).tolist()) if len(sizes) == 1 else ()
                ways[batch.number] = BatchWay(batch.groups, common, complete=True)
    return ways


def _cases(names: tuple[str, ...], releases: Sequence[tuple[_Rows, Path]]) -> LedgerCases:
    """The true cases of the newest release."""
    rows = releases[-1][0]
    parts = [map(_person, rows.person.tolist())]
    parts += [map(_value, rows.codes[name].tolist()) for name in names]
    return LedgerCases(names, list(dict.fromkeys(zip(*parts, strict=True))))


def _free(name: str, taken: Mapping[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name


def _value(code: int) -> str:
    return f"value {code:07d}"


def _person(code: int) -> str:
    return f"person {code:07d}"
