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

from countveil.errors import option

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
        return f"The largest ell that works with groups of different values is {best}."
    limit = obstacle(counts, 2)
    if limit is None or limit.remove is None:
        return "No ell works for this column: it has one value only, so there is nothing to hide."
    share = limit.remove / int(counts.sum())
    return (
        f"No ell works with groups of different values. What helps: finer values in the place of "
        f"the most frequent one, or leaving {limit.remove:,} of its rows out ({share:.1%} of the "
        f"table); {MERGING}."
    )


def other_ways(counts: Counts, ell: int) -> str:
    """The methods that publish a column at an ell for which mixed groups do not exist.

    With what each promises about the value in the way.
    """
    # Loaded only where mixed groups do not exist.
    from countveil.maths.channel.common import (
        beliefs_without_common,
        common_belief,
        eligible_with,
        frequent_values,
        random_belief,
    )

    total, top = int(counts.sum()), int(counts.max())
    if ell > total:
        return f"No method works with ell = {ell}: the table has {total:,} rows."
    share = top / total
    ways = []
    common = frequent_values(counts, ell)
    if common.size and eligible_with(counts, ell, common):
        _, known = beliefs_without_common(counts, ell, common)
        ways.append(
            f"{option('common', 'auto')} lets the frequent values repeat in a group: other values "
            f"are believed at 1/{ell}, the most frequent one at "
            f"{common_belief(share, ell):.2f}, and by someone who knows that a person has no such "
            f"value the published one at up to {known:.2f}"
        )
    ways.append(
        f"{option('groups', 'random')} puts any rows into a group: a value with a share of p is "
        f"believed at 1/{ell} + {1 - 1 / ell:.2g} p, the most frequent one at "
        f"{random_belief(share, ell):.2f}"
    )
    without = to_leave_out(counts, ell)
    if without:
        rows = int(counts[list(without)].sum())
        which = "the most frequent value" if len(without) == 1 else f"{len(without)} values"
        ways.append(
            f"leaving out all rows with {which} ({rows:,} rows, {rows / total:.1%}) leaves a table "
            f"in which no value is believed above 1/{ell}, and everybody knows that nobody in it "
            f"has {'it' if len(without) == 1 else 'them'}"
        )
    merging = f" As ever, {MERGING}." if largest_ell(counts) >= 2 else ""
    return f"It can be published with ell = {ell} in other ways: {'; '.join(ways)}.{merging}"


def to_leave_out(counts: Counts, ell: int) -> tuple[int, ...]:
    """The fewest values, by number, without whose rows the others are eligible; () if never."""
    left = counts.copy()
    without: list[int] = []
    while np.count_nonzero(left) > ell:
        top = int(np.argmax(left))
        left[top] = 0
        without.append(top)
        if largest_ell(left) >= ell:
            return tuple(without)
    return ()


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
