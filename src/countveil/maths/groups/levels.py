"""Most groups of a large table, where there are too many pairs to solve for: level by level.

Enters: counts per value, a number of groups, how often pairs should meet, a stream. Leaves: groups
that are all used equally often and use up most of the table's. Must not know: what the groups are
for.

As in a number system, a level's groups count `times` each, the next level's far fewer. A level is
balanced against what is still missing, in units of `times`; it misses that by about half a unit for
each pair, and the next level aims at the difference. So it must be within reach of that level: the
groups that are kept for it are the more, the fewer meetings of a pair a level has.

**Shares.** Value v occurs c[v] times in g groups; a level has p groups, `times` over. The value
gets nearly c[v] p / g places. It may not get more than c[v] / times, nor so few that the rest does
not fit into the groups that are left: p - (g - c[v]) / times. Between these two lies a whole
number, since they are g / times - p apart, unless 0 or p lies between them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.maths.groups.balance import MOST_SWEEPS, Wished, balance
from countveil.maths.groups.progress import Tell, nobody, part
from countveil.maths.groups.trades import mixed_rows
from countveil.randomness import Stream

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

# The part of the groups that is kept for later levels: so much over the meetings of a pair, or
# the least if not all values are balanced. In that case swaps gain little, and few sweeps are made.
_LEAST_KEPT, _MOST_KEPT, _REACH = 0.05, 0.25, 60.0
_FEW_SWEEPS = 1
_SELDOM, _LESS = 10, 0.5
# Meetings of a pair in one level, as far as so many places go; at least so many of each value.
_MEETINGS, _MOST_PLACES, _PLACES_PER_VALUE = 600, 1_000_000, 20


def level_size(places: int, n_balanced: int, n_values: int) -> int:
    """How many groups a level has."""
    pairs = n_balanced * (n_balanced - 1) / max(1, places * (places - 1))
    size = min(int(_MEETINGS * pairs), _MOST_PLACES // places)
    return max(size, _PLACES_PER_VALUE * n_values // places, 100)


def level(
    counts: Counts,
    groups: int,
    size: int,
    wished: Wished,
    a_group: Floats,
    stream: Stream,
    tell: Tell = nobody,
) -> tuple[Counts, Counts]:
    """About `size` groups (rows), and how often each is used; none if they cannot be found.

    `a_group` is how often pairs meet per group of the design: what the kept groups will do.
    """
    places = int(counts.sum()) // groups
    n = wished.pairs.shape[0] - 1
    meetings = size * places * (places - 1) / max(1, n * (n - 1))
    kept = _LEAST_KEPT
    if n == counts.size:
        kept = min(max(kept, _REACH / meetings), _MOST_KEPT)
    times = max(1, int(groups * (1 - kept) / size))
    share = shares(counts, groups, size, times)
    if share is None:
        return np.zeros((0, places), np.int64), np.zeros(0, np.int64)
    rows = mixed_rows(share, size, stream, tell=part(tell, 0.0, 0.2))
    sweeps = MOST_SWEEPS if n == counts.size else _FEW_SWEEPS
    aim = wished.after(a_group * (groups - size * times), times)
    # Rather too little of what is seldom: the next level can add to it, but not take away.
    aim.pairs[aim.pairs < _SELDOM] -= _LESS
    balance(rows, aim, stream, sweeps, part(tell, 0.2, 1.0))
    return rows, np.full(size, times)


def shares(counts: Counts, groups: int, size: int, times: int) -> Counts | None:
    """How many of `size` groups, each used `times`, hold each value; None if there is no way."""
    places = int(counts.sum()) // groups
    low = np.maximum(0, size - (groups - counts) // times)
    high = np.minimum(size, counts // times)
    share: Counts = np.clip(np.floor(counts * (size / groups)).astype(np.int64), low, high)
    lacking = size * places - int(share.sum())
    room = high - share if lacking > 0 else share - low
    if abs(lacking) > int(room.sum()):
        return None
    if lacking:
        part = np.floor(np.cumsum(room) * (abs(lacking) / int(room.sum())) + 0.5)
        share += np.sign(lacking) * np.diff(part.astype(np.int64), prepend=0)
    return share
