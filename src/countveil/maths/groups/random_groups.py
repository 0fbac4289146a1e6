"""Groups of the right sizes for any histogram, and their mixing.

Enters: counts per value, a number of groups, a stream. Leaves: groups as rows of a matrix, every
row with different values. Must not know: what the groups are for.

**Wrap around.** Put the tuples in the order of their values and deal them to k groups in turn: a
value with at most k tuples meets no group twice. So groups exist for every eligible histogram, and
only where a value ends do neighbouring groups differ: there are at most as many different groups as
values.

**Trades.** Two groups face each other in a random turn of their places, and a coin for each place
decides whether the two values there change sides; values that both groups have stay. Repeated for
random pairs of groups this makes all ways to form the groups equally likely in the long run, since
every step is as likely as its reverse; a handful of sweeps over all groups forget the wrapping.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.maths.groups.progress import Tell, nobody
from countveil.randomness import Stream

Counts = NDArray[np.int64]

SWEEPS = 8
# Up to so many places are compared with each other; more are looked up in a table of this size.
_NARROW, _TABLE = 12, 1 << 21


def wrap_around(counts: Counts, groups: int) -> tuple[Counts, Counts]:
    """Different groups, one per row, and how many there are of each; max(counts) <= groups."""
    ends = np.cumsum(counts)
    places = int(ends[-1]) // groups
    cuts = np.unique(np.concatenate([[0], ends % groups]))
    tuples = cuts[:, None] + groups * np.arange(places)
    members = np.searchsorted(ends, tuples, side="right")
    return members, np.diff(np.append(cuts, groups))


def mixed_rows(
    counts: Counts, groups: int, stream: Stream, sweeps: int = SWEEPS, tell: Tell = nobody
) -> Counts:
    """All groups, one per row, in random composition."""
    # In random order, so that no value starts beside the ones next to it.
    order = stream.permutation(counts.size)
    rows, times = wrap_around(counts[order], groups)
    members = np.repeat(order[rows], times, axis=0)
    for sweep in range(sweeps):
        tell(sweep / sweeps)
        trade(members, counts.size, stream)
    return members


def trade(members: Counts, n_values: int, stream: Stream) -> None:
    """One sweep in place: every group trades with a random other one (an odd one rests)."""
    n_groups, places = members.shape
    order = stream.permutation(n_groups)
    half = n_groups // 2
    first, second = order[:half], order[half : 2 * half]
    # Groups run along the last axis, where NumPy is fastest. Places face other ones each time.
    one = np.ascontiguousarray(members[first].T)
    two = np.ascontiguousarray(members[second].T[_turned(places, stream)])
    coins = stream.words(-(-one.size // 8), np.uint8)
    swapped = np.unpackbits(coins, count=one.size).reshape(one.shape).astype(bool)
    swapped &= ~_faces_shared(one, two, n_values)
    members[first] = np.where(swapped, two, one).T
    members[second] = np.where(swapped, one, two).T


def _turned(places: int, stream: Stream) -> Counts:
    """The places in turn, from a random one on."""
    return (np.arange(places) + stream.below(places, 1)) % places


def _faces_shared(one: Counts, two: Counts, n_values: int) -> NDArray[np.bool_]:
    """Where a place, or the one that faces it, holds a value that both groups have."""
    places, n_pairs = one.shape
    found = np.zeros(one.shape, bool)
    if places <= _NARROW:
        for place in range(places):
            same = one[place] == two
            found[place] |= same.any(axis=0)
            found |= same
        return found
    step = max(1, _TABLE // n_values)
    holds = np.zeros((2, step, n_values), bool)
    for start in range(0, n_pairs, step):
        here = slice(start, start + step)
        rows = np.arange(one[0, here].size)
        for table, group, other in ((holds[0], one, two), (holds[1], two, one)):
            table[rows, group[:, here]] = True
            found[:, here] |= table[rows, other[:, here]]
            table[rows, group[:, here]] = False
    return found
