"""Was this table published before? What a release beside the new one publishes may show it.

Enters: a table about to be published, the folder for its release. Leaves: nothing, or the error
that stops it. Must not know: groups, draws. A release keeps nothing of its true table, so only what
it publishes unchanged is compared: how many rows it has, and how many have each value of a plain
column (on a cluster, how its values repeat). Other people may agree in all of that, and the same
people may not, where rows were added; so this finds many second releases, not all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from countveil.engines.contract import SourceTable
from countveil.engines.local.release_rows import StoredColumn, stored_columns
from countveil.errors import CountveilError
from countveil.release import Manifest
from countveil.release.second_release import published_before, releases_beside
from countveil.tables import Column
from countveil.tables.encoded.survey import Histogram, Repeats, repeats

_MOST_COLUMNS = 4


def check_not_published_before(
    source: SourceTable,
    plain: Sequence[Column],
    target: Path,
    slack: int,
    *,
    local: bool,
    ledger: str | None = None,
) -> None:
    """Stop if a release beside the target has the same people, give or take `slack` rows.

    Releases of the `ledger` with this name may: the new one continues them.
    """
    for folder, manifest in releases_beside(target):
        if manifest.ledger is not None and manifest.ledger.id == ledger:
            continue
        dropped = [entry.ell for entry in manifest.sensitive.values() if entry.residue == "drop"]
        few = max([slack, *dropped])
        if manifest.randomness == "seeded" or abs(manifest.rows - source.facts.rows) > few:
            continue
        stored = _stored(folder, manifest, _comparable(plain, manifest))
        if stored and all(
            _same_counts(source.histogram(name), column, few)
            if local
            else _same_repeats(source.repeats(name), column, few)
            for name, column in stored.items()
        ):
            raise published_before(folder, list(stored), in_series=manifest.ledger is not None)


def _comparable(plain: Sequence[Column], manifest: Manifest) -> list[str]:
    """Columns that both publish as they are, in the table's order."""
    theirs = {(column.name, column.type) for column in manifest.columns if column.role == "plain"}
    return [c.name for c in plain if (c.name, c.type) in theirs][:_MOST_COLUMNS]


def _stored(folder: Path, manifest: Manifest, names: Sequence[str]) -> dict[str, StoredColumn]:
    """Columns of a release; none if its files cannot be read."""
    try:
        return stored_columns(
            folder, [file.path for file in manifest.files], names, manifest.columns
        )
    except (CountveilError, OSError):
        return {}


def _same_counts(ours: Histogram, theirs: StoredColumn, slack: int) -> bool:
    counts = dict(zip(map(repr, ours.values), ours.counts.tolist(), strict=True))
    for value, count in zip(map(repr, theirs.values), _counts(theirs).tolist(), strict=True):
        counts[value] = counts.get(value, 0) - count
    return int(sum(map(abs, counts.values()))) <= 2 * slack


def _same_repeats(ours: Repeats, theirs: StoredColumn, slack: int) -> bool:
    known = np.array([value is not None for value in theirs.values], bool)
    counts = _counts(theirs)
    other = repeats(int(counts[~known].sum()), counts[known])
    pairs = ((ours.missing, other.missing), (ours.several, other.several), (ours.most, other.most))
    return all(abs(one - two) <= slack for one, two in pairs)


def _counts(column: StoredColumn) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.bincount(column.codes, minlength=len(column.values)).astype(np.int64)
