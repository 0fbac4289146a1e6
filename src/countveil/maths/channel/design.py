"""The maximum-entropy design: how often two values meet when groups are as mixed as they can be.

Enters: counts per value, ell. Leaves: expected numbers of groups that contain a value, or two
values together, and the channel W that follows. Must not know: actual groups, randomness, and
whether the counts are true ones (the publisher) or published ones (an analyst). Theory:
docs/theory/channel.md, "Mixed groups".

**Design.** k = N // ell groups, of N // k values or one more. Among all laws of such groups with
the given expected counts, the one of largest entropy gives a set of values the probability
proportional to the product of one weight per value: conditional Poisson sampling, with the same
weights for both sizes. Write a weight as p / (1 - p), let S be the sum of independent indicators
with these p, and S_u, S_uv the sum without one or two of them. A group of size m contains

    u with probability        p[u] P(S_u = m - 1) / P(S = m),
    u and v with probability  p[u] p[v] P(S_uv = m - 2) / P(S = m).

**Numbers.** The probabilities of S come from its characteristic function at `n` points of the unit
circle. That is exact except for sums further than n from m, which are beyond ten standard
deviations. The p are scaled so that S has the mean m. So every probability above lies in the bulk
of the distribution and nothing cancels: relative errors stay near machine precision for 2 to
100,000 values, groups of hundreds and counts up to 10^9. With an odd number of points no factor is
ever zero, so dividing by the factor of a value is safe.

**Edges.** A value with f = k is in every group. It is taken out, and groups become smaller by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_NEVER, _ALWAYS = -1, -2
_ROUNDS = 400
_CLOSE, _CENTRED = 1e-10, 1e-12
# Full steps would oscillate for ever between two values that share one place. Two thirds of a step
# shrink both that oscillation and every slow component by a factor of three. Where many values
# share many places, full steps are faster.
_STEP, _SHARED = 2 / 3, 2.0


@dataclass(frozen=True, slots=True)
class Design:
    """The fitted design. Classes are the different counts that occur; equal counts share one.

    `size` is that of the smaller groups; `smaller` and `larger` are how many groups there are of
    this size and of one more. `always` values are in every group and in no class.
    """

    counts: Counts
    size: int
    smaller: int
    larger: int
    always: int
    class_of: Counts
    logits: Floats
    multiplicity: Counts

    @property
    def groups(self) -> int:
        """Number of groups."""
        return self.smaller + self.larger

    @property
    def log_weights(self) -> Floats:
        """Per value the logarithm of its weight; 0 for those in every group or in none."""
        return np.concatenate([self.logits, [0.0, 0.0]])[self.class_of]


def fit_design(counts: Counts, ell: int) -> Design:
    """The design for these counts, which must be eligible for `ell`."""
    total = int(counts.sum())
    groups = total // ell
    if groups == 0 or int(counts.max()) > groups:
        raise ValueError("counts are not eligible for this ell")
    size, larger = divmod(total, groups)
    between = (counts > 0) & (counts < groups)
    always = int(np.count_nonzero(counts == groups))
    levels, inverse, multiplicity = np.unique(
        counts[between], return_inverse=True, return_counts=True
    )
    class_of = np.full(counts.size, _NEVER, np.int64)
    class_of[between] = inverse
    class_of[counts == groups] = _ALWAYS
    sizes = ((size - always, groups - larger), (size + 1 - always, larger))
    occurring = [(places, number) for places, number in sizes if number]
    logits = _fit(levels, multiplicity, groups, occurring)
    return Design(counts, size, groups - larger, larger, always, class_of, logits, multiplicity)


def expected_pairs(design: Design, values: Counts) -> tuple[Floats, Floats]:
    """Expected number of groups with u and v, for the smaller and for the larger groups.

    Both are square matrices over `values`; on the diagonal, the groups with u.
    """
    smaller = _pairs_of_size(design, values, design.size - design.always, design.smaller)
    larger = _pairs_of_size(design, values, design.size + 1 - design.always, design.larger)
    return smaller, larger


def design_channel(counts: Counts, ell: int) -> Floats:
    """W[u, v] of the design: as `channel_matrix` of groups that follow it on average."""
    design = fit_design(counts, ell)
    smaller, larger = expected_pairs(design, np.arange(counts.size))
    smaller /= design.size
    larger /= design.size + 1
    smaller += larger
    # Rows of W sum to one; without this they would only up to rounding.
    sums = smaller.sum(axis=1, keepdims=True)
    smaller /= np.where(sums > 0, sums, 1.0)
    return smaller


def _pairs_of_size(design: Design, values: Counts, size: int, groups: int) -> Floats:
    """`size` counts the places that are left beside the values that are in every group."""
    result: Floats = np.zeros((values.size, values.size))
    if groups == 0:
        return result
    classes = design.class_of[values]
    always, fitted = classes == _ALWAYS, np.flatnonzero(classes >= 0)
    single = np.where(always, 1.0, 0.0)
    if size > 0 and fitted.size:
        points = _Points(design.logits, design.multiplicity)
        single[fitted] = points.single(size)[0][classes[fitted]]
        pairs = points.pairs(size, classes[fitted])
        if fitted.size == values.size:
            result = pairs
        else:
            result[np.ix_(fitted, fitted)] = pairs
    result[always, :] = single
    result[:, always] = single[:, None]
    np.fill_diagonal(result, single)
    result *= groups
    return result


def _fit(levels: Counts, multiplicity: Counts, groups: int, sizes: list[tuple[int, int]]) -> Floats:
    """Logits of p for each class such that the expected counts are `levels`."""
    if levels.size == 0:
        return np.zeros(0)
    wanted = np.log(levels / (groups - levels))
    mean = float(levels @ multiplicity) / groups
    logits = _centred(wanted, multiplicity, mean)
    for _ in range(_ROUNDS):
        points = _Points(logits, multiplicity)
        present, absent = np.zeros(levels.size), np.zeros(levels.size)
        for size, number in sizes:
            inside, outside = points.single(size)
            present += number * inside
            absent += number * outside
        step = wanted - np.log(present / absent)
        length = 1.0 if multiplicity @ (points.p * points.q) > _SHARED else _STEP
        logits = _centred(logits + length * step, multiplicity, mean)
        if np.ptp(step) < _CLOSE:
            break
    return logits


def _centred(logits: Floats, multiplicity: Counts, mean: float) -> Floats:
    """Shift the logits so that the p sum to `mean`: Newton's method, kept between two bounds."""
    low, high = -80.0 - float(logits.max()), 80.0 - float(logits.min())
    shift = min(max(0.0, low), high)
    for _ in range(200):
        p = _sigmoid(logits + shift)
        over = float(multiplicity @ p) - mean
        low, high = (low, shift) if over > 0 else (shift, high)
        slope = float(multiplicity @ (p * (1 - p)))
        step = -over / slope if slope > 0 else np.inf
        if not low <= shift + step <= high:
            step = (low + high) / 2 - shift
        shift += step
        if abs(step) < _CENTRED * max(1.0, abs(shift)):
            break
    return logits + shift


def _sigmoid(x: Floats) -> Floats:
    with np.errstate(over="ignore"):
        result: Floats = 1 / (1 + np.exp(-x))
    return result


class _Points:
    """The characteristic function of S at an odd number of points, of which one half suffices.

    One over the factor of a class at a point is `real` - i `imaginary`.
    """

    def __init__(self, logits: Floats, multiplicity: Counts) -> None:
        self.p, self.q = _sigmoid(logits), _sigmoid(-logits)
        n_values = int(multiplicity.sum())
        deviation = float(np.sqrt(multiplicity @ (self.p * self.q)))
        n_points = min(n_values + 1, int(10 * deviation) + 10) | 1
        self.angles = 2 * np.pi * np.arange(n_points // 2 + 1) / n_points
        # Every point but the first also represents its mirror image.
        self.share = np.where(self.angles > 0, 2.0, 1.0) / n_points
        real = self.q[:, None] + self.p[:, None] * np.cos(self.angles)
        imaginary = self.p[:, None] * np.sin(self.angles)
        squared = real * real + imaginary * imaginary
        times = multiplicity.astype(np.float64)
        self.log_size = times @ np.log(squared) / 2
        self.turned = times @ np.arctan2(imaginary, real)
        self.real = real / squared
        self.imaginary = imaginary / squared

    def _weights(self, total: int) -> tuple[Floats, Floats]:
        """Real and imaginary parts; the sum of the real ones is P(S = total)."""
        turned = self.turned - self.angles * total
        size = np.exp(self.log_size) * self.share
        return size * np.cos(turned), size * np.sin(turned)

    def _without(self, total: int) -> Floats:
        """P(S_u = total) for each class."""
        real, imaginary = self._weights(total)
        result: Floats = self.real @ real + self.imaginary @ imaginary
        return result

    def single(self, size: int) -> tuple[Floats, Floats]:
        """P(in the group), P(not in it) for groups of `size`, relative errors small for both."""
        whole = float(self._weights(size)[0].sum())
        inside, outside = self._without(size - 1), self._without(size)
        return np.maximum(self.p * inside / whole, 0.0), np.maximum(self.q * outside / whole, 0.0)

    def pairs(self, size: int, classes: Counts) -> Floats:
        """P(two different values of these classes are in the group)."""
        if size < 2:
            return np.zeros((classes.size, classes.size))
        whole = float(self._weights(size)[0].sum())
        real, imaginary = self._weights(size - 2)
        p = self.p[classes][:, None]
        re, im = p * self.real[classes], p * self.imaginary[classes]
        both: Floats = (re * real + im * imaginary) @ (re / whole).T
        both += (re * imaginary - im * real) @ (im / whole).T
        return np.maximum(both, 0.0, out=both)
