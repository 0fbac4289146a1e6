"""How often to use each template of a pool, so that all pairs of values meet as they should.

Enters: templates, target counts and meetings, how far these may be off, first multiplicities.
Leaves: positive real multiplicities near them; how many templates make that easy, and whether the
work is affordable. Must not know: how templates are made, what they are for.

Counts and meetings are linear in the multiplicities. Conjugate gradients (CGLS) find the change
that makes them right with the smallest sum of squares over multiplicities. Applied as a factor, it
keeps all multiplicities positive; a few rounds remove the difference. (These are Newton steps
towards the multiplicities of largest entropy relative to the first ones.)
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.templates import pair_keys
from countveil.maths.groups.balance import ShareDone, TargetMeetings, unreported
from countveil.maths.groups.steady import steady

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

# Work of one pass over the pool, in pairs looked up, and its size. Where groups hold a large share
# of all values, every pair meets often in each level: levels are as good, for far less work.
_POOL_LOOKUPS, _WIDE_LOOKUPS, _POOL_PLACES = 250_000_000, 10_000_000, 60_000_000
# Templates per pair: with fewer, there are more steps; with more, each step takes longer.
_PER_PAIR, _PLACES_PER_PAIR, _SMALLEST_POOL = 2, 10, 300
# All possible groups are the pool if there are at most _ALL, or at most _ALL_TIMES the pool.
_ALL, _ALL_TIMES = 50_000, 12
_ROUNDS, _ITERATIONS = 12, 24
# The usual number of iterations, for the progress.
_USUAL = 30
_STALLED = 0.95
# The most work in all, in pairs looked up.
_ALL_LOOKUPS = 20_000_000_000
# A round stops at a tenth of what is missing: applying factors changes more than that.
_FORWARD = 0.1
# Looking up a pair takes as long as this many multiplications in a matrix product.
_LOOKUP = 10
# What is missing here adds to the rounding error: stop at a share of the allowance for both, or of
# the twelfth of a square per pair that rounding leaves at best.
_SHARE, _SQUARE = 0.1, 0.02


def pool_size(places: int, n_balanced: int, n_values: int) -> int:
    """How many templates make it easy to solve for all pairs; 0 if that is too much work.

    Where some values are left to chance, most are; levels serve for the others.
    """
    per_pair = max(_PER_PAIR, _PLACES_PER_PAIR / places)
    pool = max(_SMALLEST_POOL, int(per_pair * n_balanced * (n_balanced - 1) / 2))
    if n_balanced < n_values or not affordable(pool, places, n_balanced):
        return 0
    possible = comb(n_values, places)
    return possible if possible <= max(_ALL, _ALL_TIMES * pool) else pool


def affordable(pool: int, places: int, n_balanced: int) -> bool:
    """Is solving for this many templates affordable?"""
    most = _WIDE_LOOKUPS if wide(places, n_balanced) else _POOL_LOOKUPS
    return pool * cost(places, n_balanced) <= most and pool * places <= _POOL_PLACES


def cost(places: int, n_balanced: int) -> float:
    """Work per template and pass, in pairs looked up, by the cheaper of two ways."""
    return max(1.0, n_balanced**2 / _LOOKUP if wide(places, n_balanced) else places**2 / 2)


def wide(places: int, n_balanced: int) -> bool:
    """Do groups hold so many of the values that matrix products are cheaper than lookups?"""
    return n_balanced**2 / _LOOKUP < places**2 / 2


def _squares(parts: tuple[Floats, Floats]) -> float:
    return float((parts[0] ** 2).sum()) + float((parts[1] ** 2).sum())


class Fit:
    """Least squares for the multiplicities, by conjugate gradients (CGLS)."""

    def __init__(
        self,
        members: Counts,
        counts: Counts,
        target: TargetMeetings,
        fixed: NDArray[np.bool_],
        progress: ShareDone = unreported,
    ) -> None:
        """`fixed` values are in every template."""
        self._members, self._counts, self._progress = members, counts, progress
        self._a_pass = int(members.shape[0] * cost(members.shape[1], target.allowed.size))
        place, self._n = target.place, target.allowed.size
        self._close = np.maximum(_SHARE * target.allowed, _SQUARE * self._n)
        # Few values: an incidence table and matrix products; many: the pairs of each template.
        self._incidence: Floats | None = None
        if wide(members.shape[1], self._n):
            table = np.zeros((members.shape[0], self._n + 1))
            table[np.arange(members.shape[0])[:, None], place[members]] = 1.0
            self._incidence = np.ascontiguousarray(table[:, :-1])
        else:
            self._keys = list(pair_keys(place[members], self._n))
        self._work = 0
        wanted = target.pairs[:-1, :-1].copy()
        np.fill_diagonal(wanted, 0.0)
        self._wanted = wanted
        self._pair_scale = 1 / np.sqrt(np.maximum(wanted, 1.0))
        self._count_scale = 1 / np.sqrt(np.maximum(counts, 1.0))
        # A value that is in every template leaves nothing to choose.
        self._count_scale[fixed] = 0.0
        # Meetings of all values with each other add up to counts: no need to fit both.
        free = members.shape[1] - int(np.count_nonzero(fixed))
        self._needs_counts = self._n < counts.size or free < 2
        if not self._needs_counts:
            self._count_scale[:] = 0.0
        here = place[fixed & (place < self._n)]
        self._pair_scale[here, :] = self._pair_scale[:, here] = 0.0

    def solve(self, times: Floats) -> tuple[Floats, bool]:
        """Positive multiplicities near `times`, and whether they give the target meetings."""
        left, done = self._left(times)
        squares = _squares(left)
        for _ in range(_ROUNDS):
            if done or self._work > _ALL_LOOKUPS:
                break
            root = np.sqrt(times)
            # The change is computed as a summand and applied as a factor, which keeps all positive.
            # If that goes too far, take half of it, and half again; the next round corrects it.
            factors = self._change(left, root) / np.maximum(root, 1e-300)
            before = squares
            for step in (1.0, 0.5, 0.25):
                changed = times * steady(np.exp(np.clip(step * factors, -2.0, 2.0)))
                left, done = self._left(changed)
                squares = _squares(left)
                if squares < before or done:
                    times = changed
                    break
            if squares > _STALLED * before:
                break
        return times, done

    def _left(self, times: Floats) -> tuple[tuple[Floats, Floats], bool]:
        """What is missing, scaled, and whether that is little enough."""
        counts, pairs = self._forward(times)
        counts, pairs = self._counts - counts, self._wanted - pairs
        chosen = pairs * (self._pair_scale > 0)
        done = bool(np.all((chosen * chosen).sum(axis=0) <= self._close))
        return (counts * self._count_scale, pairs * self._pair_scale), done

    def _change(self, left: tuple[Floats, Floats], root: Floats) -> Floats:
        """Conjugate gradients for the smallest sum of squares of (change / root)."""
        change = np.zeros_like(root)
        gradient = self._backward(left, root)
        direction, size = gradient, float((gradient * gradient).sum())
        enough = _FORWARD**2 * _squares(left)
        for _ in range(_ITERATIONS):
            if _squares(left) <= enough or size == 0 or self._work > _ALL_LOOKUPS:
                break
            self._work += 2 * self._a_pass
            self._progress(1 - np.exp(-self._work / (_USUAL * self._a_pass)))
            counts, pairs = self._forward(root * direction)
            image = (counts * self._count_scale, pairs * self._pair_scale)
            step = size / _squares(image)
            change = change + step * direction
            left = (left[0] - step * image[0], left[1] - step * image[1])
            gradient = self._backward(left, root)
            size, before = float((gradient * gradient).sum()), size
            direction = gradient + size / before * direction
        return change

    def _forward(self, times: Floats) -> tuple[Floats, Floats]:
        """Counts and meetings of templates used so often."""
        counts: Floats = np.zeros(self._counts.size)
        if self._needs_counts:
            repeated = np.repeat(times, self._members.shape[1])
            counts += np.bincount(self._members.ravel(), repeated, self._counts.size)
        if self._incidence is None:
            square = np.zeros((self._n + 1) ** 2)
            for rows, keys in self._keys:
                repeated = np.tile(times[rows], keys.shape[0])
                square += np.bincount(keys.ravel(), repeated, minlength=square.size)
            pairs = square.reshape(self._n + 1, self._n + 1)[:-1, :-1]
            return counts, pairs + pairs.T
        pairs = steady((self._incidence * times[:, None]).T @ self._incidence)
        np.fill_diagonal(pairs, 0.0)
        return counts, pairs

    def _backward(self, left: tuple[Floats, Floats], root: Floats) -> Floats:
        """The transpose: of multiplying by `root`, `_forward` and the scales."""
        counts, pairs = left[0] * self._count_scale, left[1] * self._pair_scale
        result: Floats = np.zeros(root.size)
        if self._needs_counts:
            result += counts[self._members].sum(axis=1)
        if self._incidence is not None:
            result += (steady(self._incidence @ pairs) * self._incidence).sum(axis=1)
        else:
            padded = np.zeros((self._n + 1, self._n + 1))
            padded[:-1, :-1] = 2 * pairs
            for rows, keys in self._keys:
                result[rows] += padded.take(keys).sum(axis=0)
        return result * root
