"""Whose row is whose: the publisher's table and a release, brought together.

Enters: a prepared table and the folder of a release. Leaves: a target. Must not know: attacks.

Two ways. A real adversary links a row if nobody else has the same combination of non-sensitive
values: `linked_by_values`. For a release that is only planned, a *twin* is published by the same
path: the same sensitive columns, and the number of each row as the only other column, so that all
rows are linked, as if no two people were alike: `linked_by_number`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from countveil.auditing.target import AttackedColumn, Codes, Target
from countveil.engines.local.release_rows import StoredColumn, stored_columns
from countveil.errors import InputError, ReleaseError, option
from countveil.maths.adversary import KnownColumn
from countveil.maths.groups import ColumnSettings
from countveil.publishing.prepare import LocalPreparedTable
from countveil.publishing.publisher import run_publish
from countveil.publishing.settings import Protecting, Writing
from countveil.release import Manifest, read_manifest
from countveil.release.manifest import OddsBound
from countveil.tables import Shaping
from countveil.tables.encoded.vectors import vector_keys

# The places of the common values among the values of each column that has any.
Common = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class TrueColumn:
    """A column of the publisher's table."""

    values: Sequence[Any]
    codes: Codes


def true_columns(prepared: LocalPreparedTable) -> dict[str, TrueColumn]:
    """The columns that will be published, as far as their values have an exact equivalent."""
    columns = {}
    for column in prepared.roles.published:
        try:
            values = prepared.source.histogram(column.name).values
        except InputError:
            if column.name in prepared.roles.sensitive:
                raise
            continue
        columns[column.name] = TrueColumn(values, prepared.source.codes(column.name))
    return columns


@dataclass(frozen=True)
class Protected:
    """How the sensitive columns are protected, as an adversary is told.

    `odds` are the bounds of the columns that have noise before their groups; the columns of each
    set in `together` publish the values of one row.
    """

    settings: Mapping[str, ColumnSettings]
    common: Common
    odds: Mapping[str, OddsBound]
    together: tuple[tuple[str, ...], ...]

    @classmethod
    def by(
        cls,
        manifest: Manifest,
        settings: Mapping[str, ColumnSettings],
        values: Mapping[str, Sequence[Any]],
    ) -> Protected:
        """What a manifest says of these columns, with these values."""
        common, odds = {}, {}
        for name in settings:
            entry = manifest.sensitive[name]
            places = {_key(value): place for place, value in enumerate(values[name])}
            if entry.common:
                common[name] = tuple(sorted(places[_key(value)] for value in entry.common))
            if entry.odds is not None:
                odds[name] = entry.odds
        sets = [tuple(n for n in names if n in settings) for names in manifest.together]
        return cls(settings, common, odds, tuple(names for names in sets if len(names) > 1))


def publish_twin(
    truth: Mapping[str, TrueColumn],
    protecting: Protecting,
    common: Common,
    folder: Path,
    persons: Codes | None = None,
) -> str:
    """Publish the sensitive columns beside row numbers; the name of the column of numbers.

    Common values are those of the trial, unless they are found in noised values. `persons` has
    that of every row, where they have several rows.
    """
    number, settings = "row", protecting.columns
    while number in settings:
        number += "_"
    labels = {name: _labels(truth[name].values) for name in settings}
    columns: dict[str, Any] = {
        name: pa.DictionaryArray.from_arrays(
            pa.array(truth[name].codes, pa.int32()), pa.array(labels[name])
        )
        for name in settings
    }
    named = {
        name: choice
        if choice.odds is not None and choice.common_auto
        else replace(choice, common=tuple(map(_label, common.get(name, ()))), common_auto=False)
        for name, choice in settings.items()
    }
    rows = next(iter(truth.values())).codes.size
    columns[number] = pa.array(np.arange(rows))
    keep, person = tuple(columns), None
    if persons is not None:
        person = f"person of {number}"
        columns[person] = pa.array(persons)
    declared = {name: labels[name] for name, choice in settings.items() if choice.odds is not None}
    run_publish(
        pa.table(columns),
        replace(protecting, columns=named),
        Writing.of(folder, again=True, record=False),
        shaping=Shaping(keep=keep, person=person, domain=declared),
    )
    return number


def linked_by_number(
    truth: Mapping[str, TrueColumn],
    settings: Mapping[str, ColumnSettings],
    folder: Path,
    number: str,
) -> Target:
    """The twin: every row is linked."""
    stored = read_stored(folder, [*settings, number])
    place = np.array(stored[number].values, np.int64)[stored[number].codes]
    labels = {name: _labels(truth[name].values) for name in settings}
    protected = Protected.by(read_manifest(folder), settings, labels)
    released = {
        name: _translated(stored[name], {label: i for i, label in enumerate(labels[name])}, name)
        for name in settings
    }
    order = np.argsort(place)
    plain = [name for name in truth if name not in settings]
    return _target(truth, protected, plain, released, (place[order], order))


def linked_by_values(
    truth: Mapping[str, TrueColumn],
    settings: Mapping[str, ColumnSettings],
    manifest: Manifest,
    folder: Path,
) -> Target:
    """A release: rows are linked whose combination of non-sensitive values is unique."""
    stored = read_stored(folder, [column.name for column in manifest.columns])
    places = {
        name: {_key(value): place for place, value in enumerate(truth[name].values)}
        for name in stored
        if name in truth
    }
    released = {name: _translated(stored[name], places[name], name) for name in settings}
    plain = [name for name in places if name not in manifest.sensitive]
    rows = next(iter(truth.values())).codes.size
    ours, theirs = np.zeros(rows, np.int64), np.zeros(manifest.rows, np.int64)
    for name in plain:
        there = _translated(stored[name], places[name], name)
        size = len(truth[name].values)
        joint = np.concatenate([ours * size + truth[name].codes, theirs * size + there])
        codes = np.unique(joint, return_inverse=True)[1]
        ours, theirs = codes[:rows], codes[rows:]
    n_keys = int(max(ours.max(initial=0), theirs.max(initial=0))) + 1
    n_ours, n_theirs = (np.bincount(keys, minlength=n_keys) for keys in (ours, theirs))
    _check_same_rows(n_ours, n_theirs, manifest)
    once = (n_ours == 1) & (n_theirs == 1)
    where = np.full(n_keys, -1, np.int64)
    where[theirs] = np.arange(theirs.size)
    linked = np.flatnonzero(once[ours])
    values = {name: truth[name].values for name in settings}
    protected = Protected.by(manifest, settings, values)
    return _target(truth, protected, plain, released, (linked, where[ours[linked]]))


def _check_same_rows(ours: Codes, theirs: Codes, manifest: Manifest) -> None:
    """Other columns are published unchanged, so a release has its table's combinations of them."""
    table, release = int(ours.sum()), int(theirs.sum())
    may_drop = any(entry.residue == "drop" for entry in manifest.sensitive.values())
    strange = int(np.maximum(theirs - ours, 0).sum())
    if release > table or (release < table and not may_drop):
        raise ReleaseError(
            f"The release has {release:,} rows and the table {table:,}, so it is not a release of "
            f"this table."
        )
    if strange:
        raise ReleaseError(
            f"{strange:,} rows of the release have other non-sensitive values than any row of the "
            f"table. Is it a release of this table, and were {option('bins')}, "
            f"{option('merge')} or {option('missing')} given when it was published? Give "
            f"the same options here."
        )


def _target(
    truth: Mapping[str, TrueColumn],
    protected: Protected,
    plain: Sequence[str],
    released: Mapping[str, Codes],
    places: tuple[Codes, Codes],
) -> Target:
    """`places`: which row of the table is which row of the release, in the table's order."""
    source_place, release_place = places
    sensitive = [
        AttackedColumn(
            name, choice.ell, choice.groups,
            np.bincount(truth[name].codes, minlength=len(truth[name].values)),
            np.bincount(released[name], minlength=len(truth[name].values)),
            truth[name].codes[source_place],
            released[name][release_place],
            protected.common.get(name, ()),
            protected.odds.get(name),
        )
        for name, choice in protected.settings.items()
    ]  # fmt: skip
    sensitive += [
        _vectors(truth, protected.settings, names, released, places) for names in protected.together
    ]
    rows = next(iter(released.values())).size
    known = [KnownColumn.of(name, truth[name].codes[source_place]) for name in plain]
    return Target(source_place, release_place, known, sensitive, rows, protected.together)


def _vectors(
    truth: Mapping[str, TrueColumn],
    settings: Mapping[str, ColumnSettings],
    names: tuple[str, ...],
    released: Mapping[str, Codes],
    places: tuple[Codes, Codes],
) -> AttackedColumn:
    """Columns that publish whole vectors, as one column of the vectors that occur anywhere."""
    sizes = [len(truth[name].values) for name in names]
    ours = vector_keys([truth[name].codes for name in names], sizes)
    theirs = vector_keys([released[name] for name in names], sizes)
    keys, codes = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
    true, shown = codes[: ours.size], codes[ours.size :]
    return AttackedColumn(
        ", ".join(names), settings[names[0]].ell, "random",
        np.bincount(true, minlength=keys.size), np.bincount(shown, minlength=keys.size),
        true[places[0]], shown[places[1]], vector_of=names,
        places=np.array(np.unravel_index(keys, sizes)),
    )  # fmt: skip


def read_stored(folder: Path, names: Sequence[str]) -> dict[str, StoredColumn]:
    """Columns of a release in the stored order."""
    manifest = read_manifest(folder)
    files = [file.path for file in manifest.files]
    columns: dict[str, StoredColumn] = stored_columns(folder, files, names, manifest.columns)
    return columns


def _translated(column: StoredColumn, places: Mapping[Any, int], name: str) -> Codes:
    """The release's rows as codes of the table's values."""
    try:
        to = np.array([places[_key(value)] for value in column.values], np.int64)
    except KeyError:
        raise ReleaseError(
            f"Column {name!r} of the release holds a value that the table does not have. Is it a "
            f"release of this table, and were {option('bins')}, {option('merge')} or "
            f"{option('missing')} given when it was published? Give the same options here."
        ) from None
    return to[column.codes]


def _key(value: Any) -> Any:
    """A key under which NaN equals itself."""
    return ("not a number",) if isinstance(value, float) and math.isnan(value) else value


def _labels(values: Sequence[Any]) -> list[str]:
    return [_label(place) for place in range(len(values))]


def _label(place: int) -> str:
    return f"value {place:07d}"
