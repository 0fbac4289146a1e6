"""Balancing: swaps between groups until every pair of values meets as often as it should.

Enters: groups as rows of a matrix, the wished number of meetings of each pair, a stream. Leaves:
the same groups after swaps, in place. Must not know: what the groups are for.

With C[u, v] the number of groups that hold u and v and T the wished one, the sum over pairs of
w (C - T)^2 is lowered, w = 1 / T. Random groups miss T by about its square root; balanced ones by
one or two, whatever the number of groups. Pairs that should meet less than half a time are left to
chance (w = 0): a sum of squares would round all of them down.

**A swap.** Groups g and h exchange u, which only g has, for v, which only h has. Only pairs with
values that g and h do not share change, each by one. With D = C - T, with s = 1 for the other
values that only g has and s = -1 for those that only h has,

    H[x] = sum of s w[x, z] D[x, z],   R[x] = sum of w[x, z]        over these values z,

the swap changes the sum by 2 (H[v] - H[u]) + R[u] + R[v] - 4 w[u, v] D[u, v] - 2 w[u, v].

**Batches.** Many pairs of groups look for their best swap at once, all with the same D. The best of
them are made together, and only if all together lower the sum; the batch grows while it achieves
most of what was promised and shrinks when it does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.channel.templates import meetings
from countveil.randomness import Stream

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

# Work per batch, in looked-up pairs; and how many places of a group are tried.
_LOOKUPS = 400_000
_TRIED = 8
_ROUNDS = 400
_PATIENCE = 25
_LEAST_GAIN = 1e-2
# Pairs of groups that look for a swap, per swap that may be made; at least so many.
_LOOKED_AT, _FEWEST = 4, 64
_ENOUGH = 1.3
CHANCE_BELOW = 0.5


@dataclass(frozen=True, slots=True)
class Wished:
    """How often pairs should meet, for the values that are balanced.

    `place[v]` is the row of v in `pairs`; values that are left to chance share the last row, which
    is zero. The diagonal of `pairs` is not used.
    """

    place: Counts
    pairs: Floats
    weights: Floats

    @classmethod
    def of(cls, place: Counts, pairs: Floats, overall: Floats) -> Wished:
        """`overall` says which pairs meet often enough to be balanced at all."""
        n = pairs.shape[0]
        padded, weights = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
        padded[:n, :n] = pairs
        weights[:n, :n] = np.where(overall >= CHANCE_BELOW, 1 / np.maximum(pairs, 1.0), 0.0)
        np.fill_diagonal(weights, 0.0)
        return cls(place, padded, weights)


def balance(members: Counts, wished: Wished, stream: Stream) -> None:
    """Swap in place until the sum of squares hardly falls any more."""
    if members.shape[0] < 2 or members.shape[1] < 1 or not wished.weights.any():
        return
    _Balance(members, wished, stream).run()


class _Balance:
    def __init__(self, members: Counts, wished: Wished, stream: Stream) -> None:
        self._members, self._place, self._stream = members, wished.place, stream
        self._weights = wished.weights
        n = wished.pairs.shape[0] - 1
        off = np.zeros((n + 1, n + 1))
        off[:n, :n] = meetings(wished.place[members], None, n) - wished.pairs[:n, :n]
        np.fill_diagonal(off, 0.0)
        self._off = off
        self.total = float((self._weights * off**2).sum()) / 2
        places = members.shape[1]
        self._tried = min(_TRIED, places)
        at_once = _LOOKUPS // (4 * self._tried * places + places * places)
        self._most = max(1, min(at_once, members.shape[0] // 2, 2_048))
        self._batch = max(1, self._most // 4)
        # Whole numbers next to real ones leave a twelfth per pair: nobody can do much better.
        self._enough = _ENOUGH * float(self._weights.sum()) / 2 / 12
        self._order, self._next = np.zeros(0, np.int64), 0

    def run(self) -> None:
        """Until the sum hardly falls any more."""
        mark = self.total
        for number in range(1, _ROUNDS + 1):
            if self.total <= self._enough:
                break
            self.round()
            if number % _PATIENCE == 0:
                if mark - self.total <= _LEAST_GAIN * mark:
                    # Large batches hide small moves of the pairs that meet most; smaller ones next.
                    self._most //= 4
                    self._batch = min(self._batch, self._most)
                    if self._most < _FEWEST:
                        break
                mark = self.total

    def round(self) -> None:
        """One batch: propose, choose, make if it helps."""
        first, second = self._pairs()
        change, at_first, at_second = self._best(first, second)
        order = np.argsort(change, kind="stable")
        order = order[: self._batch]
        chosen = order[change[order] < -1e-12]
        if chosen.size == 0:
            self._batch = max(1, self._batch // 2)
            return
        g, h = first[chosen], second[chosen]
        i, j = at_first[chosen], at_second[chosen]
        promised = float(change[chosen].sum())
        keys, moves = self._moves(g, h, i, j)
        off, weights = self._off.reshape(-1)[keys], self._weights.reshape(-1)[keys]
        true = float((weights * moves * (2 * off + moves)).sum())
        if true < 0:
            self._off.reshape(-1)[keys] += moves
            n = self._off.shape[0]
            self._off.reshape(-1)[keys % n * n + keys // n] += moves
            self._members[g, i], self._members[h, j] = self._members[h, j], self._members[g, i]
            self.total += true
        if true < 0.6 * promised:
            self._batch = min(self._most, self._batch + self._batch // 2 + 1)
        elif true > 0.3 * promised:
            self._batch = max(1, self._batch // 2)

    def _pairs(self) -> tuple[Counts, Counts]:
        """The next disjoint pairs of groups of a random order."""
        wanted = min(self._most, max(_FEWEST, _LOOKED_AT * self._batch))
        if self._next + 2 * wanted > self._order.size:
            self._order, self._next = self._stream.permutation(self._members.shape[0]), 0
        here = self._order[self._next : self._next + 2 * wanted]
        self._next += 2 * wanted
        return here[:wanted], here[wanted:]

    def _best(self, first: Counts, second: Counts) -> tuple[Floats, Counts, Counts]:
        """The best swap among the tried places of each pair of groups: change, places."""
        one, two = self._members[first], self._members[second]
        same = one[:, :, None] == two[:, None, :]
        alone = ~np.concatenate([same.any(axis=2), same.any(axis=1)], axis=1)
        n_pairs, places = one.shape
        signs = np.where(np.arange(2 * places) < places, 1.0, -1.0) * alone
        at = [self._try_places(n_pairs, places) for _ in range(2)]
        size = self._off.shape[0]
        z = self._place[np.concatenate([one, two], axis=1)]
        pulls, roughs, x, ok = [], [], [], []
        for side, tried in enumerate(at):
            own = np.take_along_axis(z, tried + side * places, axis=1)
            keys = own[:, :, None] * size + z[:, None, :]
            weights = self._weights.reshape(-1)[keys]
            pulls.append(np.einsum("pcz,pcz,pz->pc", weights, self._off.reshape(-1)[keys], signs))
            roughs.append(np.einsum("pcz,pz->pc", weights, np.abs(signs)))
            x.append(own)
            ok.append(np.take_along_axis(alone, tried + side * places, axis=1))
        keys = x[0][:, :, None] * size + x[1][:, None, :]
        weights = self._weights.reshape(-1)[keys]
        change = (
            (roughs[0] - 2 * pulls[0])[:, :, None]
            + (roughs[1] + 2 * pulls[1])[:, None, :]
            - weights * (4 * self._off.reshape(-1)[keys] + 2)
        )
        change[~(ok[0][:, :, None] & ok[1][:, None, :])] = np.inf
        flat = change.reshape(n_pairs, -1)
        best = np.argmin(flat, axis=1)
        rows = np.arange(n_pairs)
        tried = self._tried
        return flat[rows, best], at[0][rows, best // tried], at[1][rows, best % tried]

    def _try_places(self, n_pairs: int, places: int) -> Counts:
        if places <= self._tried:
            return np.broadcast_to(np.arange(places), (n_pairs, places))
        return self._stream.below(places, n_pairs * self._tried).reshape(n_pairs, self._tried)

    def _moves(self, g: Counts, h: Counts, i: Counts, j: Counts) -> tuple[Counts, Floats]:
        """What swapping place i of g for j of h does to C: keys of pairs (u <= v), and changes."""
        one, two = self._place[self._members[g]], self._place[self._members[h]]
        rows = np.arange(g.size)
        u, v = one[rows, i], two[rows, j]
        size = self._off.shape[0]
        keys, moves = [], []
        for group, spared, sign in ((one, i, 1.0), (two, j, -1.0)):
            rest = np.ones(group.shape, bool)
            rest[rows, spared] = False
            for value, direction in ((u, -sign), (v, sign)):
                pair = np.minimum(value[:, None], group) * size + np.maximum(value[:, None], group)
                keys.append(pair[rest])
                moves.append(np.full(pair[rest].size, direction))
        found, inverse = np.unique(np.concatenate(keys), return_inverse=True)
        change = np.bincount(inverse, np.concatenate(moves))
        counted = (change != 0) & (found // size != found % size)
        # What belongs to values left to chance is not kept: their row stays zero.
        counted &= found % size != size - 1
        return found[counted], change[counted]
