"""Groups of the right sizes for any histogram, and their mixing.

Enters: counts per value, a number of groups, a stream. Leaves: groups as rows of a matrix, every
row with different values. Must not know: what the groups are for.

**Wrap around.** Put the tuples in the order of their values and deal them to k groups in turn: a
value with at most k tuples meets no group twice. So groups exist for every eligible histogram, and
only where a value ends do neighbouring groups differ: there are at most as many different groups as
values.

**Trades.** Two groups throw the values that they do not share together and draw again. Repeated for
random pairs of groups this makes all ways to form the groups equally likely in the long run; some
ten sweeps over all groups forget the wrapping.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.randomness import Stream

Counts = NDArray[np.int64]

SWEEPS = 12


def wrap_around(counts: Counts, groups: int) -> tuple[Counts, Counts]:
    """Different groups, one per row, and how many there are of each; max(counts) <= groups."""
    ends = np.cumsum(counts)
    places = int(ends[-1]) // groups
    cuts = np.unique(np.concatenate([[0], ends % groups]))
    tuples = cuts[:, None] + groups * np.arange(places)
    members = np.searchsorted(ends, tuples, side="right")
    return members, np.diff(np.append(cuts, groups))


def mixed_rows(counts: Counts, groups: int, stream: Stream) -> Counts:
    """All groups, one per row, in random composition."""
    rows, times = wrap_around(counts, groups)
    members = np.repeat(rows, times, axis=0)
    for _ in range(SWEEPS):
        trade(members, stream)
    return members


def trade(members: Counts, stream: Stream) -> None:
    """One sweep in place: every group trades with a random other one (an odd one rests)."""
    n_groups, places = members.shape
    order = stream.permutation(n_groups)
    half = n_groups // 2
    first, second = order[:half], order[half : 2 * half]
    both = np.sort(np.concatenate([members[first], members[second]], axis=1), axis=1)
    same = both[:, 1:] == both[:, :-1]
    keys = (stream.words(both.size, np.uint32) >> np.uint32(1)).astype(np.int64)
    keys = keys.reshape(both.shape)
    # What both have stays in both: one copy goes to the front, the other to the back.
    keys[:, :-1][same] = -1
    keys[:, 1:][same] = 1 << 32
    drawn = np.take_along_axis(both, np.argsort(keys, axis=1), axis=1)
    members[first], members[second] = drawn[:, :places], drawn[:, places:]
