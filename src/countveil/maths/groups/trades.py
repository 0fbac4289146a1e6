"""Groups that need no solving: wrapped round, mixed at random by trades, and level by level.

Enters: counts per value, a number of groups, a stream; for a level also how often pairs should
meet. Leaves: groups as rows of a matrix, every row with different values. Must not know: what the
groups are for.

**Wrap around.** Put the rows in the order of their values and deal them to k groups in turn: a
value with at most k rows never meets a group twice. So groups exist for every eligible histogram.
Neighbouring groups differ only where one value ends, so there are at most as many different groups
as values.

**Trades.** Two groups are lined up with a random rotation of their places, and a coin for each
place decides whether the two values there change sides; values that both groups hold stay. Repeated
for random pairs of groups this makes all ways to form the groups equally likely in the long run,
since every step is as likely as its reverse. A few sweeps over all groups erase the initial order.

**Levels** form most groups of a large table where there are too many pairs to solve for. As in a
number system, each group of a level counts `times` over, and those of the next level far less
often. A level is balanced against what is still missing, in units of `times`; it misses that by
about half a unit for each pair, and the next level aims at the difference. The next level must be
able to reach it: the fewer meetings of a pair a level has, the more groups are kept for later ones.

**Shares.** Value v occurs c[v] times in g groups; a level has p groups, each used `times` over. The
value gets nearly c[v] p / g places. It may not get more than c[v] / times, nor so few that the rest
does not fit into the remaining groups: p - (g - c[v]) / times. Between these two lies a whole
number, since they are g / times - p apart, unless 0 or p lies between them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.maths.groups.balance import (
    MOST_SWEEPS,
    ShareDone,
    TargetMeetings,
    balance,
    section,
    unreported,
)
from countveil.randomness import Stream

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

SWEEPS = 8
# Up to this many places are compared with each other; more use a lookup table of this size.
NARROW, TABLE_CELLS = 12, 1 << 21
# The share of the groups that is kept for later levels: _REACH over the meetings of a pair, or the
# least share if not all values are balanced. Swaps then gain little, and few sweeps are made.
_LEAST_KEPT, _MOST_KEPT, _REACH = 0.05, 0.25, 60.0
_FEW_SWEEPS = 1
_SELDOM, _LESS = 10, 0.5
# Meetings of a pair in one level, as far as _MOST_PLACES allows; at least this many of each value.
_MEETINGS, _MOST_PLACES, _PLACES_PER_VALUE = 600, 1_000_000, 20


def wrap_around(counts: Counts, groups: int) -> tuple[Counts, Counts]:
    """Different groups, one per row, and how many there are of each; max(counts) <= groups."""
    ends = np.cumsum(counts)
    places = int(ends[-1]) // groups
    cuts = np.sort(np.concatenate([[0], ends % groups]))
    cuts = cuts[np.diff(cuts, prepend=-1) > 0]
    positions = cuts[:, None] + groups * np.arange(places)
    members = np.searchsorted(ends, positions, side="right")
    return members, np.diff(np.append(cuts, groups))


def mixed_rows(
    counts: Counts,
    groups: int,
    stream: Stream,
    sweeps: int = SWEEPS,
    progress: ShareDone = unreported,
) -> Counts:
    """All groups, one per row, in random composition."""
    # In random order, so that neighbouring values do not start together.
    order = stream.permutation(counts.size)
    rows, times = wrap_around(counts[order], groups)
    members = np.repeat(order[rows], times, axis=0)
    for sweep in range(sweeps):
        progress(sweep / sweeps)
        trade(members, counts.size, stream)
    return members


def trade(members: Counts, n_values: int, stream: Stream) -> None:
    """One sweep in place: every group trades with a random other one (if odd, one sits out)."""
    n_groups, places = members.shape
    order = stream.permutation(n_groups)
    half = n_groups // 2
    first, second = order[:half], order[half : 2 * half]
    # Groups run along the last axis, where NumPy is fastest. The rotation differs every time.
    one = np.ascontiguousarray(members[first].T)
    two = np.ascontiguousarray(members[second].T[_turned(places, stream)])
    coins = stream.words(-(-one.size // 8), np.uint8)
    swapped = np.unpackbits(coins, count=one.size).reshape(one.shape).astype(bool)
    swapped &= ~_faces_shared(one, two, n_values)
    members[first] = np.where(swapped, two, one).T
    members[second] = np.where(swapped, one, two).T


def _turned(places: int, stream: Stream) -> Counts:
    """The places in order, starting at a random one."""
    return (np.arange(places) + stream.below(places, 1)) % places


def _faces_shared(one: Counts, two: Counts, n_values: int) -> NDArray[np.bool_]:
    """Where a place, or the one opposite, holds a value that both groups have."""
    places, n_pairs = one.shape
    shared = np.zeros(one.shape, bool)
    if places <= NARROW:
        for place in range(places):
            same = one[place] == two
            shared[place] |= same.any(axis=0)
            shared |= same
        return shared
    step = max(1, TABLE_CELLS // n_values)
    holds = np.zeros((2, step, n_values), bool)
    for start in range(0, n_pairs, step):
        here = slice(start, start + step)
        rows = np.arange(one[0, here].size)
        for table, group, other in ((holds[0], one, two), (holds[1], two, one)):
            table[rows, group[:, here]] = True
            shared[:, here] |= table[rows, other[:, here]]
            table[rows, group[:, here]] = False
    return shared


def level_size(places: int, n_balanced: int, n_values: int) -> int:
    """How many groups a level has."""
    pairs = n_balanced * (n_balanced - 1) / max(1, places * (places - 1))
    size = min(int(_MEETINGS * pairs), _MOST_PLACES // places)
    return max(size, _PLACES_PER_VALUE * n_values // places, 100)


def level(
    counts: Counts,
    groups: int,
    size: int,
    target: TargetMeetings,
    a_group: Floats,
    stream: Stream,
    progress: ShareDone = unreported,
) -> tuple[Counts, Counts]:
    """About `size` groups (rows), and how often each is used; none if no such groups exist.

    `a_group` is how often pairs meet per group of the design, as in the groups kept for later.
    """
    places = int(counts.sum()) // groups
    n = target.pairs.shape[0] - 1
    meetings = size * places * (places - 1) / max(1, n * (n - 1))
    kept = _LEAST_KEPT
    if n == counts.size:
        kept = min(max(kept, _REACH / meetings), _MOST_KEPT)
    times = max(1, int(groups * (1 - kept) / size))
    share = shares(counts, groups, size, times)
    if share is None:
        return np.zeros((0, places), np.int64), np.zeros(0, np.int64)
    rows = mixed_rows(share, size, stream, progress=section(progress, 0.0, 0.2))
    sweeps = MOST_SWEEPS if n == counts.size else _FEW_SWEEPS
    aim = target.after(a_group * (groups - size * times), times)
    # Rather too few meetings of rare pairs: the next level can add some, but not remove any.
    aim.pairs[aim.pairs < _SELDOM] -= _LESS
    balance(rows, aim, stream, sweeps, section(progress, 0.2, 1.0))
    return rows, np.full(size, times)


def shares(counts: Counts, groups: int, size: int, times: int) -> Counts | None:
    """How many of `size` groups, each used `times` over, hold each value; None if impossible."""
    places = int(counts.sum()) // groups
    low = np.maximum(0, size - (groups - counts) // times)
    high = np.minimum(size, counts // times)
    share: Counts = np.clip(np.floor(counts * (size / groups)).astype(np.int64), low, high)
    lacking = size * places - int(share.sum())
    room = high - share if lacking > 0 else share - low
    if abs(lacking) > int(room.sum()):
        return None
    if lacking:
        added = np.floor(np.cumsum(room) * (abs(lacking) / int(room.sum())) + 0.5)
        share += np.sign(lacking) * np.diff(added.astype(np.int64), prepend=0)
    return share
