"""Most groups of a large table, where there are too many pairs to solve for: level by level.

Enters: counts per value, a number of groups, how often pairs should meet, a stream. Leaves: groups
that are all used equally often, and use up nearly all of the table's. Must not know: what the groups
are for.

As in a number system, a level's groups count `times` each, the next level's far fewer. A level is
balanced against what is still missing, in units of `times`; it misses that by about half a unit for
each pair, and the next level aims at the difference. So it must be within reach of that level: the
groups that are kept for it are the more, the fewer meetings of a pair a level has.

**Shares.** Value v occurs c[v] times in g groups; a level has p groups, `times` over. It gets nearly
c[v] p / g of their places. It may not get more than c[v] / times, nor so few that the rest does not
fit into the groups that are left: p - (g - c[v]) / times. Between these two lies a whole number, since
they are g / times - p apart or bounded by 0 or p.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.decoys.balance import Wished, balance
from countveil.decoys.trades import mixed_rows
from countveil.randomness import Stream

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

_LEAST_KEPT, _MOST_KEPT = 0.05, 0.4


def level(
    counts: Counts, groups: int, size: int, wished: Wished, stream: Stream
) -> tuple[Counts, Counts]:
    """About `size` groups (rows), and how often each is used; none if they cannot be found."""
    places = int(counts.sum()) // groups
    n = max(2, wished.pairs.shape[0] - 1)
    meetings = size * places * (places - 1) / (n * (n - 1))
    kept = min(max(_LEAST_KEPT, 1 / max(meetings, 1e-9)), _MOST_KEPT)
    times = max(1, int(groups * (1 - kept) / size))
    share = shares(counts, groups, size, times)
    if share is None:
        return np.zeros((0, places), np.int64), np.zeros(0, np.int64)
    rows = mixed_rows(share, size, stream)
    balance(rows, wished.in_units_of(times), stream)
    return rows, np.full(size, times)


def shares(counts: Counts, groups: int, size: int, times: int) -> Counts | None:
    """How many of `size` groups, each used `times`, hold each value; None if there is no way."""
    places = int(counts.sum()) // groups
    low = np.maximum(0, size - (groups - counts) // times)
    high = np.minimum(size, counts // times)
    share = np.clip(np.floor(counts * (size / groups)).astype(np.int64), low, high)
    lacking = size * places - int(share.sum())
    room = high - share if lacking > 0 else share - low
    if abs(lacking) > int(room.sum()):
        return None
    if lacking:
        part = np.floor(np.cumsum(room) * (abs(lacking) / int(room.sum())) + 0.5)
        share += np.sign(lacking) * np.diff(part.astype(np.int64), prepend=0)
    return share
