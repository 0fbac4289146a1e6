"""Most groups of a large table at once: a pool of templates, and how often to use each.

Enters: counts per value, a number of groups, how often pairs should meet, a stream. Leaves:
templates with multiplicities that use up nearly all groups, such that what is left is a small and
ordinary task. Must not know: what the groups are for.

A small composition that is merely repeated repeats its own errors, and these do not shrink as the
errors of estimates do. So the multiplicities differ:

1. The pool is balanced groups for a histogram of the same shape, except that rare values (and
   values that are nearly everywhere) get more places, or gaps, than their share, so that each meets
   all others. Where few groups are possible at all, the pool holds every one of them.
2. A template's multiplicity starts at what the maximum-entropy design says: the product of its
   values' weights over their weights in the pool.
3. Conjugate gradients find the smallest relative change of the multiplicities that makes every pair
   meet exactly as often as wished. There are far more templates than pairs.
4. The multiplicities are rounded down. The cut-off fractions are what is left: about half as many
   groups as templates in the pool, with non-negative counts and meetings, hence a task that can be
   solved with every template once, to within one or two meetings of each pair.

The error is thus one or two groups however many rows there are, at a cost that does not grow with
them.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from countveil.channel.design import expected_pairs, fit_design
from countveil.channel.templates import pair_keys
from countveil.decoys.balance import Wished, balance
from countveil.decoys.trades import mixed_rows
from countveil.randomness import Stream

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

_ROUNDS, _ITERATIONS = 40, 12
_STALLED = 0.95
_COUNTS_FIRST = 10.0
# Work of one pass over the pool, and of all passes, in looked-up pairs.
_POOL_LOOKUPS, _ALL_LOOKUPS = 5_000_000, 500_000_000
_POOL_PLACES = 1_000_000
_GRADIENT = 1e-3
# Looking up a pair takes as long as so many multiplications in a matrix product.
_LOOKUP = 10
# Meetings that are off by less than this do not matter beside what rounding does.
_CLOSE = 0.1
# A value should be in this many templates per other value, as far as a quarter of all places goes.
_TEMPLATES_PER_PARTNER = 3
_EXTRA_SHARE = 0.25


def _cost(places: int, n_balanced: int) -> float:
    """Work per template and pass, in looked-up pairs, by the cheaper of two ways."""
    return max(1.0, min(places**2 / 2, n_balanced**2 / _LOOKUP))


def largest_pool(places: int, n_balanced: int) -> int:
    """How many templates can be afforded, for groups of so many places."""
    affordable = min(_POOL_LOOKUPS / _cost(places, n_balanced), _POOL_PLACES / places)
    return max(200, int(affordable))


def bulk(
    counts: Counts, groups: int, pool: int, pairs: Floats, balanced: Counts, stream: Stream
) -> tuple[Counts, Counts]:
    """Templates (rows) and multiplicities; `pairs` are wished meetings of the `balanced` values."""
    places = int(counts.sum()) // groups
    place = np.full(counts.size, balanced.size, np.int64)
    place[balanced] = np.arange(balanced.size)
    log_weights = fit_design(counts, places).log_weights
    some = (counts > 0) & (counts < groups)
    if some.all() and comb(counts.size, places) <= pool:
        members = np.array(list(combinations(range(counts.size), places)), np.int64)
    else:
        share = pool_counts(counts, groups, pool, balanced.size)
        members = mixed_rows(share, pool, stream)
        ours = fit_design(share, places)
        smaller, larger = expected_pairs(ours, balanced)
        wished = smaller + larger
        balance(members, Wished.of(place, wished, wished), stream)
        log_weights = log_weights - ours.log_weights
    log_times = log_weights[members].sum(axis=1)
    times = np.exp(log_times - log_times.max())
    times *= groups / times.sum()
    fixed = _nearly_always(counts, groups, pool)
    times = _Fit(members, place, counts, pairs, fixed).solve(times)
    whole = _possible(members, np.floor(times).astype(np.int64), counts, groups)
    used = whole > 0
    return members[used], whole[used]


def _nearly_always(counts: Counts, groups: int, pool: int) -> NDArray[np.bool_]:
    """Values missing from so few groups that those left at the end can be the ones."""
    nearly: NDArray[np.bool_] = groups - counts <= pool // 100
    return nearly


def pool_counts(counts: Counts, groups: int, pool: int, n_balanced: int) -> Counts:
    """Counts of the same shape for `pool` groups, with more of what is rare."""
    places = int(counts.sum()) // groups
    always = _nearly_always(counts, groups, pool)
    free = places - int(np.count_nonzero(always))
    n_free = int(np.count_nonzero((counts > 0) & ~always))
    enough = _TEMPLATES_PER_PARTNER * n_balanced
    in_some = min(enough, _EXTRA_SHARE * pool * free / max(n_free, 1))
    out_of_some = min(enough, _EXTRA_SHARE * pool * (n_free - free) / max(n_free, 1))
    low = np.where(always, pool, np.minimum(counts, in_some))
    high = np.where(always, pool, pool - np.minimum(groups - counts, out_of_some))
    fair = counts * (pool / groups)
    # Scale what lies between the bounds until the sum is right: it grows with the scale.
    bottom, top = 0.0, 1.0
    while np.clip(fair * top, low, high).sum() < pool * places and top < 2.0**60:
        bottom, top = top, 2 * top
    for _ in range(80):
        middle = (bottom + top) / 2
        if np.clip(fair * middle, low, high).sum() < pool * places:
            bottom = middle
        else:
            top = middle
    ends = np.floor(np.cumsum(np.clip(fair * top, low, high)) + 0.5).astype(np.int64)
    ends[-1] = pool * places
    return np.diff(ends, prepend=0)


def _possible(members: Counts, times: Counts, counts: Counts, groups: int) -> Counts:
    """Lower multiplicities until what is left can still be grouped.

    No value may be used more often than it occurs, nor be left out more often than it may be.
    """
    used = np.zeros(counts.size, np.int64)
    np.add.at(used, members, times[:, None])
    left_out = int(times.sum()) - used
    room = np.minimum(1.0, counts / np.maximum(used, 1))
    scale = room[members].min(axis=1)
    share = (groups - counts) / np.maximum(left_out, 1)
    tightest = np.argsort(share, kind="stable")[: members.shape[1] + 1]
    # A template holds fewer values than these, so it lacks one: looser bounds do not matter.
    for value in tightest[share[tightest] < 1].tolist():
        without = ~(members == value).any(axis=1)
        scale[without] = np.minimum(scale[without], share[value])
    # A little less, so that rounding in the product cannot exceed an integer bound.
    lowered = np.floor(times * scale * (1 - 1e-12)).astype(np.int64)
    return np.where(scale < 1, lowered, times)


def _squares(parts: tuple[Floats, Floats]) -> float:
    return float((parts[0] ** 2).sum()) + float((parts[1] ** 2).sum())


class _Fit:
    """Least squares for the multiplicities, by conjugate gradients (CGLS)."""

    def __init__(
        self,
        members: Counts,
        place: Counts,
        counts: Counts,
        pairs: Floats,
        fixed: NDArray[np.bool_],
    ) -> None:
        self._members, self._counts = members, counts
        self._n = pairs.shape[0]
        # Few values: a table of who is where and matrix products; many: the pairs of each template.
        self._incidence: Floats | None = None
        if _cost(members.shape[1], self._n) < members.shape[1] ** 2 / 2:
            table = np.zeros((members.shape[0], self._n + 1))
            table[np.arange(members.shape[0])[:, None], place[members]] = 1.0
            self._incidence = np.ascontiguousarray(table[:, :-1])
        else:
            self._keys = list(pair_keys(place[members], self._n))
        self._work = 0
        wanted = pairs.copy()
        np.fill_diagonal(wanted, 0.0)
        self._wanted = wanted
        self._pair_scale = 1 / np.sqrt(np.maximum(wanted, 1.0))
        self._count_scale = 1 / np.sqrt(np.maximum(counts, 1.0))
        if members.shape[0] < self._n**2 / 2:
            # Too few templates for all pairs: counts come first, or little could be used.
            self._count_scale *= _COUNTS_FIRST
        # Where a value is in every template there is nothing to choose.
        self._count_scale[fixed] = 0.0
        here = place[fixed & (place < self._n)]
        self._pair_scale[here, :] = self._pair_scale[:, here] = 0.0

    def solve(self, times: Floats) -> Floats:
        """Multiplicities near `times` with the wished meetings, all positive."""
        left, worst = self._left(times)
        squares = _squares(left)
        for _ in range(_ROUNDS):
            if worst < _CLOSE or self._work > _ALL_LOOKUPS:
                break
            root = np.sqrt(times)
            # The change is found as if it were added; as a factor it keeps all positive. Half of
            # it, and half again, if that went too far; the next round sees to the difference.
            factors = self._change(left, root) / np.maximum(root, 1e-300)
            before = squares
            for part in (1.0, 0.5, 0.25):
                changed = times * np.exp(np.clip(part * factors, -2.0, 2.0))
                left, worst = self._left(changed)
                squares = _squares(left)
                if squares < before:
                    times = changed
                    break
            if squares > _STALLED * before:
                break
        return times

    def _left(self, times: Floats) -> tuple[tuple[Floats, Floats], float]:
        """What is missing, scaled; and the largest number that is missing."""
        counts, pairs = self._forward(times)
        counts, pairs = self._counts - counts, self._wanted - pairs
        chosen = np.abs(counts) * (self._count_scale > 0), np.abs(pairs) * (self._pair_scale > 0)
        worst = max(float(part.max(initial=0.0)) for part in chosen)
        return (counts * self._count_scale, pairs * self._pair_scale), worst

    def _change(self, left: tuple[Floats, Floats], root: Floats) -> Floats:
        """Conjugate gradients for the smallest sum of squares of (change / root)."""
        change = np.zeros_like(root)
        gradient = self._backward(left, root)
        direction, size = gradient, float(gradient @ gradient)
        first = size
        for _ in range(_ITERATIONS):
            if size <= _GRADIENT**2 * first or size == 0 or self._work > _ALL_LOOKUPS:
                break
            self._work += 2 * int(self._members.shape[0] * _cost(self._members.shape[1], self._n))
            counts, pairs = self._forward(root * direction)
            image = (counts * self._count_scale, pairs * self._pair_scale)
            step = size / _squares(image)
            change = change + step * direction
            left = (left[0] - step * image[0], left[1] - step * image[1])
            gradient = self._backward(left, root)
            size, before = float(gradient @ gradient), size
            direction = gradient + size / before * direction
        return change

    def _forward(self, times: Floats) -> tuple[Floats, Floats]:
        """Counts and meetings of templates used so often."""
        places = self._members.shape[1]
        counts: Floats = np.zeros(self._counts.size)
        counts += np.bincount(self._members.ravel(), np.repeat(times, places), self._counts.size)
        if self._incidence is None:
            square = np.zeros((self._n + 1) ** 2)
            for rows, keys in self._keys:
                repeated = np.repeat(times[rows], keys.shape[1])
                square += np.bincount(keys.ravel(), repeated, minlength=square.size)
            pairs = square.reshape(self._n + 1, self._n + 1)[:-1, :-1]
            return counts, pairs + pairs.T
        pairs = (self._incidence * times[:, None]).T @ self._incidence
        np.fill_diagonal(pairs, 0.0)
        return counts, pairs

    def _backward(self, left: tuple[Floats, Floats], root: Floats) -> Floats:
        """The transpose: of multiplying by `root`, `_forward` and the scales."""
        counts, pairs = left[0] * self._count_scale, left[1] * self._pair_scale
        result: Floats = counts[self._members].sum(axis=1)
        if self._incidence is not None:
            result += ((self._incidence @ pairs) * self._incidence).sum(axis=1)
        else:
            padded = np.zeros((self._n + 1, self._n + 1))
            padded[:-1, :-1] = 2 * pairs
            for rows, keys in self._keys:
                result[rows] += padded.reshape(-1)[keys].sum(axis=1)
        return result * root
