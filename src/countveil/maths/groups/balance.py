"""Balancing: swaps between groups until every pair of values meets as often as it should.

Enters: groups as rows of a matrix, the target number of meetings of each pair, how far they may be
off, a stream. Leaves: the same groups after swaps, in place. Must not know: what the groups are
for. Every module that makes groups uses it, so it also says how progress is reported.

C[u, v] is the number of groups that hold u and v, T the target and D = C - T. The sum of D[u, v]^2
over u may be at most `allowed[v]`. Swaps lower the sum over pairs of w D^2, with w[u, v] =
1 / allowed[u] + 1 / allowed[v]: each value's sum, divided by what it is allowed. Random groups miss
T by about its square root, balanced ones by less than one, whatever the number of groups. Pairs
that should meet less than half a time are left to chance (w = 0): a sum of squares would round all
of them down.

**A swap.** Groups g and h exchange u, which only g has, for v, which only h has. Only pairs with
values that g and h do not share change, each by one: u leaves the rest of g and joins that of h, v
the other way round. A pair that meets once more costs w (1 + 2 D), one that meets once less
w (1 - 2 D).

**Batches.** The best swap of many pairs of groups is computed at once, all with the same D. The
best of these are made together, and only if together they lower the sum; the batch grows while it
achieves most of the predicted gain and shrinks when it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.templates import meetings
from countveil.maths.groups.steady import lowest
from countveil.randomness import Stream

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

# Work per batch, in pairs looked up; and how many places of a group are tried.
_LOOKUPS = 200_000
_TRIED = 8
# Rounds between two checks for progress: at least this many, and this many sweeps over all groups.
_PATIENCE, _SWEEPS = 20, 2
# The most rounds, and the most sweeps.
_MOST_ROUNDS, MOST_SWEEPS = 250, 20
_LEAST_GAIN = 0.1
# Pairs of groups that are searched per swap of the batch; at least _FEWEST.
_LOOKED_AT, _FEWEST = 4, 64
# Up to this many pairs each round adds up a table of all; above, it sorts the keys.
DENSE_PAIRS = 1 << 18
CHANCE_BELOW = 0.5
_REPORT_EVERY = 20

# Called with the share of the work that is done, from 0 to 1. Groups are not formed row by row, and
# no step's time is known beforehand: shares are estimates of what the steps usually take. They
# never fall.
ShareDone = Callable[[float], None]


def unreported(_share: float) -> None:
    """Progress that is not reported."""


def section(progress: ShareDone, begin: float, end: float) -> ShareDone:
    """The progress of a step that takes the work from `begin` to `end`."""
    return lambda share: progress(begin + (end - begin) * min(max(share, 0.0), 1.0))


@dataclass(frozen=True, slots=True)
class TargetMeetings:
    """How often pairs should meet, for the values that are balanced.

    `place[v]` is the row of v in `pairs`; values that are left to chance share the last row, which
    is zero. The diagonal of `pairs` is unused.
    """

    place: Counts
    pairs: Floats
    weights: Floats
    allowed: Floats

    @classmethod
    def of(cls, place: Counts, pairs: Floats, overall: Floats, allowed: Floats) -> TargetMeetings:
        """`overall` says which pairs meet often enough to be balanced at all."""
        n = pairs.shape[0]
        padded, weights = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
        padded[:n, :n] = pairs
        each = 1 / allowed
        weights[:n, :n] = np.where(overall >= CHANCE_BELOW, each[:, None] + each[None, :], 0.0)
        np.fill_diagonal(weights, 0.0)
        return cls(place, padded, weights, allowed)

    def after(self, pairs: Floats, times: int) -> TargetMeetings:
        """What remains after these meetings, for groups that are used `times` over."""
        remaining = self.pairs.copy()
        remaining[:-1, :-1] -= pairs
        return TargetMeetings(
            self.place, remaining / times, self.weights * times**2, self.allowed / times**2
        )


def balance(
    members: Counts,
    target: TargetMeetings,
    stream: Stream,
    sweeps: float = MOST_SWEEPS,
    progress: ShareDone = unreported,
) -> None:
    """Swap in place until every value is within its allowance, or swaps gain little."""
    if members.shape[0] < 2 or members.shape[1] < 1 or not target.weights.any():
        return
    _Balance(members, target, stream).run(sweeps, progress)


class _Balance:
    def __init__(self, members: Counts, target: TargetMeetings, stream: Stream) -> None:
        self._members, self._place, self._stream = members, target.place, stream
        self._weights, self._allowed = target.weights, target.allowed
        n = target.pairs.shape[0] - 1
        off = np.zeros((n + 1, n + 1))
        off[:n, :n] = meetings(target.place[members], None, n) - target.pairs[:n, :n]
        np.fill_diagonal(off, 0.0)
        self._off = off
        # The cost of a pair meeting once less, and once more: one table above the other.
        self._costs = np.concatenate([self._weights * (1 - 2 * off), self._weights * (1 + 2 * off)])
        self.total = float((self._weights * off**2).sum()) / 2
        places = members.shape[1]
        self._tried = min(_TRIED, places)
        at_once = max(_LOOKUPS // (4 * self._tried * places), 4 * _FEWEST)
        self._most = max(1, min(at_once, members.shape[0] // 2, 2_048))
        self._batch = max(1, self._most // 4)
        self._order, self._next = np.zeros(0, np.int64), 0

    def run(self, sweeps: float, progress: ShareDone) -> None:
        """Swap until all values are within their allowance, or the sum hardly falls any more."""
        n_groups, places = self._members.shape
        a_sweep = n_groups / (2 * self._most) * max(1.0, places / _TRIED)
        patience = max(_PATIENCE, int(_SWEEPS * a_sweep))
        rounds = int(max(_MOST_ROUNDS * min(1.0, sweeps / MOST_SWEEPS), sweeps * a_sweep))
        fewest = min(_FEWEST, self._most)
        last_total = self.total
        for number in range(rounds):
            if number % _REPORT_EVERY == 0:
                progress(number / rounds)
            if number % patience == 0:
                if self.within():
                    break
                if number and last_total - self.total <= _LEAST_GAIN * last_total:
                    # Large batches miss small moves of the pairs that meet most; try smaller ones.
                    self._most //= 4
                    self._batch = max(1, min(self._batch, self._most))
                    if self._most < fewest:
                        break
                last_total = self.total
            self.round()

    def within(self) -> bool:
        """Is every value off by no more than it may be?"""
        if self.total <= 0.5:
            # The sum includes every value's own, divided by its allowance.
            return True
        off = self._off[:-1, :-1] * (self._weights[:-1, :-1] > 0)
        return bool(np.all((off * off).sum(axis=0) <= self._allowed))

    def round(self) -> None:
        """One batch: propose, choose, make if it helps."""
        first, second = self._pairs()
        gain, at_first, at_second = self._best(first, second)
        few = max(1, min(self._batch, gain.size))
        order = lowest(gain, few)
        chosen = order[gain[order] < -1e-12]
        if chosen.size == 0:
            self._batch = max(1, self._batch // 2)
            return
        g, i = first[chosen], at_first[chosen]
        h, j = second[chosen], at_second[chosen]
        predicted = float(gain[chosen].sum())
        keys, moves = self._moves(g, h, i, j)
        off, weights = self._off.reshape(-1)[keys], self._weights.reshape(-1)[keys]
        change = float((weights * moves * (2 * off + moves)).sum())
        if change < 0:
            self._record(keys, off + moves, weights)
            self._members[g, i], self._members[h, j] = self._members[h, j], self._members[g, i]
            self.total += change
        if change < 0.6 * predicted:
            self._batch = min(self._most, self._batch + self._batch // 2 + 1)
        elif change > 0.3 * predicted:
            self._batch = max(1, self._batch // 2)

    def _record(self, keys: Counts, off: Floats, weights: Floats) -> None:
        """Record how far these pairs are off now."""
        n = self._off.shape[0]
        less, more = weights * (1 - 2 * off), weights * (1 + 2 * off)
        for same in (keys, keys % n * n + keys // n):
            self._off.reshape(-1)[same] = off
            self._costs.reshape(-1)[same] = less
            self._costs.reshape(-1)[same + n * n] = more

    def _pairs(self) -> tuple[Counts, Counts]:
        """The next disjoint pairs of groups of a random order."""
        wanted = max(1, min(self._most, max(_FEWEST, _LOOKED_AT * self._batch)))
        if self._next + 2 * wanted > self._order.size:
            self._order, self._next = self._stream.permutation(self._members.shape[0]), 0
        here = self._order[self._next : self._next + 2 * wanted]
        self._next += 2 * wanted
        return here[:wanted], here[wanted:]

    def _best(self, first: Counts, second: Counts) -> tuple[Floats, Counts, Counts]:
        """The change by the best swap of each pair of groups, and the two places that it swaps.

        The pairs of groups run along the last axis, where NumPy is fastest.
        """
        groups = [np.ascontiguousarray(self._members[here].T) for here in (first, second)]
        same = groups[0][:, None, :] == groups[1][None, :, :]
        free = ~same.any(axis=1), ~same.any(axis=0)
        values = self._place[groups[0]], self._place[groups[1]]
        n, tried = self._off.shape[0], self._tried
        at, leaving, cost = [], [], []
        for side in range(2):
            here, value, movable = self._tried_of(values[side], free[side])
            # The rest of its group meets the value once less, the other group once more.
            price = np.where(movable, 0.0, np.inf)
            for table, group in ((0, side), (n * n, 1 - side)):
                keys = value[:, None, :] * n + (values[group] + table)[None, :, :]
                price += (self._costs.take(keys) * free[group]).sum(axis=1)
            at.append(here)
            leaving.append(value)
            cost.append(price)
        # The two values that swap do not meet, neither before nor after.
        apart = self._costs.take(leaving[0][:, None, :] * n + leaving[1][None, :, :] + n * n)
        change = (cost[0][:, None, :] + cost[1][None, :, :] - 2 * apart).reshape(tried * tried, -1)
        best, pairs = np.argmin(change, axis=0), np.arange(first.size)
        return change[best, pairs], at[0][best // tried, pairs], at[1][best % tried, pairs]

    def _tried_of(
        self, values: Counts, free: NDArray[np.bool_]
    ) -> tuple[Counts, Counts, NDArray[np.bool_]]:
        """The places of groups that are tried, the values there and whether these can move."""
        places, n_pairs = values.shape
        if places <= self._tried:
            return np.broadcast_to(np.arange(places)[:, None], values.shape), values, free
        here = self._stream.below(places, n_pairs * self._tried).reshape(self._tried, n_pairs)
        return here, np.take_along_axis(values, here, 0), np.take_along_axis(free, here, 0)

    def _moves(self, g: Counts, h: Counts, i: Counts, j: Counts) -> tuple[Counts, Floats]:
        """What swapping place i of g for j of h does to C: keys of pairs (u <= v), and changes."""
        one, two = self._place[self._members[g]], self._place[self._members[h]]
        rows = np.arange(g.size)
        u, v = one[rows, i], two[rows, j]
        size = self._off.shape[0]
        keys, moves = [], []
        for group, spared, sign in ((one, i, 1.0), (two, j, -1.0)):
            # The value that leaves is paired with itself, which is removed below.
            for value, direction in ((u, -sign), (v, sign)):
                other = group.copy()
                other[rows, spared] = value
                pair = np.minimum(value[:, None], other) * size + np.maximum(value[:, None], other)
                keys.append(pair.ravel())
                moves.append(np.full(pair.size, direction))
        whole, steps = np.concatenate(keys), np.concatenate(moves)
        if size * size <= DENSE_PAIRS:
            table = np.bincount(whole, steps, size * size)
            pairs = np.flatnonzero(table)
            change = table[pairs]
        else:
            pairs, inverse = np.unique(whole, return_inverse=True)
            change = np.bincount(inverse, steps)
        counted = (change != 0) & (pairs // size != pairs % size)
        # Pairs of values left to chance are not kept: their row stays zero.
        counted &= pairs % size != size - 1
        return pairs[counted], change[counted]
