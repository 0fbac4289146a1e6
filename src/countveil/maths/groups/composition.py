"""Can decoy groups of at least ell different values be formed at all?

Enters: counts per value, ell. Leaves: nothing, or an error that says which value is in the way and
what would work. Must not know: how the groups will be formed.

With k = N // ell groups, groups of at least ell different values exist exactly when no value occurs
more than k times: a value can be in a group only once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from countveil.errors import IneligibleError, InputError, SettingsError


def largest_ell(counts: NDArray[np.int64]) -> int:
    """The largest ell for which these counts are eligible (1 when none of 2 or more is)."""
    return max(1, min(int(counts.sum()) // int(counts.max()), counts.size)) if counts.size else 1


def rows_over(rows: int, ells: Iterable[int]) -> int:
    """How many rows to delete so that the rest divides by every ell."""
    return rows % math.lcm(*ells)


def check_eligible(
    column: str,
    counts: NDArray[np.int64],
    ell: int,
    name_value: Callable[[int], str],
    *,
    rows: int | None = None,
) -> None:
    """Raise unless decoy groups exist for `ell`.

    `rows` is the number of rows that will be left when the residue is dropped; which rows go is
    decided later, so the counts must be eligible whichever they are.
    """
    total = int(counts.sum())
    if total == 0:
        raise InputError(f"The table has no rows, so column {column!r} has no values to publish.")
    if ell > counts.size:
        best = largest_ell(counts)
        raise SettingsError(
            f"ell = {ell} asks for groups of {ell} different values, but column {column!r} has "
            f"only {counts.size:,}. {_what_works(best)}"
        )
    left = total if rows is None else rows
    groups = left // ell
    top = int(np.argmax(counts))
    if int(counts[top]) <= groups:
        return
    best = largest_ell(counts)
    share = counts[top] / total
    if rows is not None and int(counts[top]) <= total // ell:
        raise IneligibleError(
            f"Column {column!r}: deleting {total - left:,} rows so that the rest divides by ell "
            f"leaves room for {groups:,} groups, but {name_value(top)} occurs {counts[top]:,} "
            f"times. residue 'absorb' deletes nothing and works here."
        )
    raise IneligibleError(
        f"Column {column!r} is not eligible for ell = {ell}: {name_value(top)} occurs "
        f"{counts[top]:,} times in {total:,} rows ({share:.1%}), and a value may fill at most "
        f"1/{ell} of them ({groups:,}). {_what_works(best)}"
    )


def _what_works(best: int) -> str:
    if best < 2:
        return "No ell works for this column as it is; merge or split its most frequent value."
    return f"The largest ell that works for this column is {best}."
