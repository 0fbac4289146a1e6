"""What stands in the way of a larger ell, and what would get it out of the way.

Enters: a histogram, ell. Leaves: the values that are too frequent, the rows to remove. Must not
know: what the values are called.

ell is feasible if no value has more than N // ell rows, and there are at least ell values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why an ell is not feasible.

    `too_frequent` are the places of the values that have more than `allowed` rows, the most
    frequent first. Removing `remove` rows of these values, each down to `keep`, makes it feasible;
    None if there are too few values for that.
    """

    ell: int
    allowed: int
    too_frequent: tuple[int, ...]
    remove: int | None
    keep: int


def obstacle(counts: Counts, ell: int) -> Obstacle | None:
    """What makes this ell impossible; None if nothing does."""
    total, values = int(counts.sum()), int(np.count_nonzero(counts))
    allowed = total // ell
    over = np.flatnonzero(counts > allowed)
    if not over.size and values >= ell:
        return None
    order = over[np.argsort(-counts[over], kind="stable")]
    keep = _largest_cap(counts, ell)
    remove = int(np.maximum(counts - keep, 0).sum()) if values >= ell else None
    return Obstacle(ell, allowed, tuple(order.tolist()), remove, keep)


def _largest_cap(counts: Counts, ell: int) -> int:
    """The most rows a value may keep so that what is then left is eligible.

    Rows that go make the table smaller too. What is left, minus ell times the cap, is concave in
    the cap and 0 at 0, so it is negative from some cap on.
    """
    low, high = 0, int(counts.max(initial=0))
    while low < high:
        cap = (low + high + 1) // 2
        left = int(np.minimum(counts, cap).sum())
        low, high = (cap, high) if left >= ell * cap else (low, cap - 1)
    return low
