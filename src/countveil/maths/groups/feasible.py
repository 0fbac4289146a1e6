"""Which ells are feasible for a column, what prevents the others, and what would help.

Enters: a histogram. Leaves: the largest ell, an `Obstacle`, a sentence. Must not know: names of
values, other columns. Everybody who says what is feasible, or what to do, asks here: the errors of
a publication, `inspect` and `advise` can then not contradict each other.

An ell is feasible if no value has more than N // ell rows, and there are at least ell values. So
merging values never helps: it makes no value rarer, and leaves fewer of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]

MERGING = "merging values does not help, because it makes none of them rarer"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why an ell is not feasible.

    `too_frequent` are the positions of the values that have more than `allowed` rows, the most
    frequent first. Removing `remove` rows of these values, each down to `keep`, makes it feasible;
    None if there are too few values for that.
    """

    ell: int
    allowed: int
    too_frequent: tuple[int, ...]
    remove: int | None
    keep: int


def largest_ell(counts: Counts) -> int:
    """The largest ell for which these counts are eligible (1 when none of 2 or more is)."""
    present = counts[counts > 0]
    if not present.size:
        return 1
    return max(1, min(int(present.sum()) // int(present.max()), present.size))


def obstacle(counts: Counts, ell: int) -> Obstacle | None:
    """What prevents this ell; None if it is feasible."""
    total, values = int(counts.sum()), int(np.count_nonzero(counts))
    allowed = total // ell
    over = np.flatnonzero(counts > allowed)
    if not over.size and values >= ell:
        return None
    order = over[np.argsort(-counts[over], kind="stable")]
    keep = _largest_cap(counts, ell)
    remove = int(np.maximum(counts - keep, 0).sum()) if values >= ell else None
    return Obstacle(ell, allowed, tuple(order.tolist()), remove, keep)


def what_helps(counts: Counts) -> str:
    """What to do where an ell is not feasible: a smaller one, or what would make one feasible."""
    best = largest_ell(counts)
    if best >= 2:
        return f"The largest ell that works for this column is {best}."
    limit = obstacle(counts, 2)
    if limit is None or limit.remove is None:
        return "No ell works for this column: it has one value only, so there is nothing to hide."
    share = limit.remove / int(counts.sum())
    return (
        f"No ell works for this column as it is. What helps: finer values in the place of the most "
        f"frequent one, or leaving {limit.remove:,} of its rows out ({share:.1%} of the table); "
        f"{MERGING}."
    )


def _largest_cap(counts: Counts, ell: int) -> int:
    """The most rows a value may keep so that the remaining table is eligible.

    Removing rows makes the table smaller too. The remaining rows, minus ell times the cap, are
    concave in the cap and 0 at 0, so they are negative from some cap on.
    """
    low, high = 0, int(counts.max(initial=0))
    while low < high:
        cap = (low + high + 1) // 2
        left = int(np.minimum(counts, cap).sum())
        low, high = (cap, high) if left >= ell * cap else (low, cap - 1)
    return low
