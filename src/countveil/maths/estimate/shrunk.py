"""The default: the unbiased estimate, shrunk towards independence.

Enters: y[p, v, ...] = rows of predicate p that publish these values, the channels. Leaves:
estimates of all cells of every predicate, never negative, adding up to the rows of the predicate.
Must not know: SQL, intervals (they are those of the unbiased estimate). Theory:
docs/theory/estimates.md, "Shrunk, the default".

The unbiased estimate is noisy where few rows carry much noise. The count expected under
independence (the rows of P times the share of the value; for several columns the product of their
shrunk shares) has little noise but is biased. All values of P together show how much of the
departure from independence is real. Let x = e r, with e the count expected under independence. r is
drawn from a mixture of

- exactly 1 (independent), exactly 0 (the value does not occur in P),
- log-normal distributions with mean 1 and five widths.

Their weights are fitted by EM over the values of P, with a prior that favours small departures.
The likelihood of the unbiased estimate is normal, with the variance that it has at each x. The
posterior mean is the estimate; cells share what they lack of n as far as each is uncertain.

Finally, one step of EM with the fitted channel of the whole domain makes the values of P consistent
with each other and with n. More steps would bring the noise back.

Where a value has much of the table, most of what P departs from independence is that it has more or
fewer rows of that value, and all others share what is left: their e is scaled to it
(`beside_frequent`).

Columns that were published together have one channel for their combinations. Their centre is the
table's own shares of combinations, times a departure for every value of each column: the one that P
shows beyond what the departures of the other columns imply through the table (`by_margins`).
Combinations are many, and the rare ones depart further: those that stand out from their own noise
have weights of their own (`shrink`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView
from countveil.maths.channel.skewed_views import JointView
from countveil.maths.estimate.estimates import Likelihood
from countveil.maths.estimate.products import product_likelihood
from countveil.maths.estimate.unbiased import unbiased_likelihood
from countveil.system.process import in_order

Floats = NDArray[np.float64]

# Every width is twice the one before: one exponential serves all (`_integrals`).
_WIDTHS = (0.1, 0.2, 0.4, 0.8, 1.6)
# The Dirichlet prior of the mixture, in values: independent, absent, then the widths. It weighs as
# much as one value of P, and little of that on wide departures: chosen on two skewed columns and
# looked at on eight others, in weights of 0.3 and 0.5 times (benchmarks/estimators.py measures it).
_PRIOR = np.array([0.2, 0.02, 0.4, 0.2, 0.1, 0.04, 0.02])
# A value with this share of the table tells by itself how many rows of P are left for the others.
# Chance alone moves it by less than so many standard errors.
_FREQUENT, _BY_CHANCE = 0.2, 2.0
_EM_STEPS = 20
# Rounds over the columns of combinations; one more changes nothing (benchmarks/together.py).
_ROUNDS = 2
# A combination stands out if it is expected to be so many times its standard error.
_STANDS_OUT, _STEPS_OUT = 2.0, 60
_SHARING_STEPS, _UNCERTAIN = 3, 0.2

_POINTS = 32
_HALFWAY = np.arange(0.5, _POINTS)[:, None]
# The likelihood is negligible this many standard errors away.
_REACH = 7.0
# Counts below this fraction of independence are not distinguished from absent values.
_LEAST = 1e-3
# So few that what is computed of them stays near the processor: 27 ms for what took 48 at 20,000.
CELLS_AT_ONCE = 2_000
_FEW_PARTS = 8


def shrunk_counts(y: Floats, views: Sequence[ChannelView]) -> Floats:
    """Estimates for every predicate (first axis of y) and every cell of values (other axes)."""
    return shrunk_from(*likelihood_and_centre(y, views), y, views)


def likelihood_and_centre(y: Floats, views: Sequence[ChannelView]) -> tuple[Likelihood, Floats]:
    """The likelihood of all cells, and the counts expected under independence."""
    n = y.sum(axis=tuple(range(1, y.ndim)), keepdims=True)
    if len(views) == 1:
        view = views[0]
        likelihood = unbiased_likelihood(y, n[:, 0], view)
        if isinstance(view, JointView):
            return likelihood, _of_combinations(y, n, view)
        return likelihood, beside_frequent(likelihood, n * view.shares, n)
    margins = [shrunk_counts(margin(y, axis), [view]) for axis, view in enumerate(views)]
    centre = n + 0 * y
    for axis, counts in enumerate(margins):
        shape = [y.shape[0]] + [1] * len(views)
        shape[1 + axis] = counts.shape[1]
        centre = centre * counts.reshape(shape) / np.maximum(n, 1.0)
    return product_likelihood(y, views, margins), centre


def beside_frequent(likelihood: Likelihood, centre: Floats, n: Floats) -> Floats:
    """The counts expected beside frequent values, of which P may have more or fewer than others.

    What they depart from independence counts as far as it exceeds what chance may do.
    """
    frequent = (centre > _FREQUENT * n) & np.isfinite(likelihood.estimate)
    if not frequent.any():
        return centre
    counts = np.clip(likelihood.estimate, 0.0, n)
    departure = counts - centre
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = 1 - _BY_CHANCE**2 * likelihood.variance(counts) / departure**2
        moved = np.where(frequent & (beyond > 0), beyond * departure, 0.0)
    others = np.where(frequent, 0.0, centre).sum(axis=1, keepdims=True)
    left = np.maximum(others - moved.sum(axis=1, keepdims=True), 0.0)
    return np.where(frequent, centre, centre * left / np.maximum(others, 1e-300))


def _of_combinations(y: Floats, n: Floats, view: JointView) -> Floats:
    columns = [CombinedColumn.of(column) for column in view.columns]
    likelihoods = [
        unbiased_likelihood(column.summed(y), n[:, 0], view.alone(number))
        for number, column in enumerate(columns)
    ]
    return by_margins(n * view.shares, n, columns, likelihoods)


def by_margins(
    centre: Floats, n: Floats, columns: Sequence[CombinedColumn], likelihoods: Sequence[Likelihood]
) -> Floats:
    """Combinations of columns together: the associations of the table, and the margins of P.

    `centre` is what the shares of the table predict. What P shows of one column tells about the
    others through these associations, so each is shrunk towards what the others imply, in turn.
    """
    departures = [np.ones_like(likelihood.estimate) for likelihood in likelihoods]
    for _ in range(_ROUNDS):
        for place, (column, likelihood) in enumerate(zip(columns, likelihoods, strict=True)):
            others = centre
            for other, departure in enumerate(departures):
                if other != place:
                    others = others * departure[:, columns[other].numbers]
            expected = column.summed(_normed(others, n))
            counts = adding_up(shrink(likelihood, expected), n, likelihood)
            departures[place] = counts / np.maximum(expected, 1e-300)
    for column, departure in zip(columns, departures, strict=True):
        centre = centre * departure[:, column.numbers]
    return _normed(centre, n)


def _normed(counts: Floats, n: Floats) -> Floats:
    normed: Floats = counts * n / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    return normed


@dataclass(frozen=True)
class CombinedColumn:
    """Which value of a column every combination has, and the combinations in this order."""

    numbers: NDArray[np.int64]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, numbers: NDArray[np.int64]) -> CombinedColumn:
        order = np.argsort(numbers, kind="stable")
        _, starts = np.unique(numbers[order], return_index=True)
        if starts.size != int(numbers.max()) + 1:
            raise ValueError("every value of a column must be in some combination")
        return cls(numbers, order, starts)

    def summed(self, array: Floats) -> Floats:
        """Over the combinations that have each value, by predicate."""
        summed: Floats = np.add.reduceat(array[:, self.order], self.starts, axis=1)
        return summed


def shrunk_from(
    likelihood: Likelihood, centre: Floats, y: Floats, views: Sequence[ChannelView]
) -> Floats:
    """Shrunk estimates from the likelihood of every cell."""
    cells = tuple(range(1, y.ndim))
    n = y.sum(axis=cells, keepdims=True)
    joint = len(views) == 1 and isinstance(views[0], JointView)
    means = adding_up(shrink(likelihood, centre, by_size=joint), n, likelihood)
    # Columns together: the centre has the margins of P already, and the step would add noise.
    consistent = means if joint else made_consistent(means, y, views)
    if len(views) == 1:
        # The published histogram is the best estimate of the whole table.
        whole_table = np.maximum(views[0].of_whole_table(y), 0.0)
        consistent = np.where(n == views[0].rows, whole_table, consistent)
    return consistent


def adding_up(means: Floats, n: Floats, likelihood: Likelihood) -> Floats:
    """The same, with the sum n: cells share what is missing as far as each is uncertain.

    Scaling all alike would move a large count that is well known, such as that of a value which is
    strongly associated with P, as far as those that are not. How uncertain: the standard error, or
    a fifth of the count if that is smaller, since independence says about as much of it.
    """
    cells = tuple(range(1, means.ndim))
    variance = likelihood.variance(means)
    error = np.sqrt(np.where(np.isfinite(variance), variance, np.inf))
    share = np.minimum(error, _UNCERTAIN * means)
    share = share / np.maximum(share.sum(axis=cells, keepdims=True), 1e-300)
    for _ in range(_SHARING_STEPS):
        # What would become negative is 0, and the others share the rest.
        means = np.maximum(means + (n - means.sum(axis=cells, keepdims=True)) * share, 0.0)
    scaled: Floats = means * n / np.maximum(means.sum(axis=cells, keepdims=True), 1e-300)
    return scaled


def shrink(likelihood: Likelihood, centre: Floats, *, by_size: bool = False) -> Floats:
    """Posterior means of the counts of every predicate (first axis), given their centres.

    `by_size`: cells that stand out from their noise have weights of their own.
    """
    shape = (centre.shape[0], -1)
    evidence, moment, known = components(likelihood, centre)
    expected = centre.reshape(shape)
    if not by_size:
        mean = _posterior(evidence, moment, known, _EM_STEPS)
    else:
        variance = likelihood.variance(centre).reshape(shape)
        large = known & (expected**2 > _STANDS_OUT**2 * variance)
        mean = _posterior(evidence, moment, known & ~large, _EM_STEPS)
        # Few cells are large in any predicate: more steps are cheap, and they need them.
        some = np.flatnonzero(large.any(axis=0))
        out = _posterior(evidence[:, some], moment[:, some], large[:, some], _STEPS_OUT)
        mean[:, some] = np.where(large[:, some], out, mean[:, some])
    return np.where(known, mean, expected).reshape(centre.shape)


def components(likelihood: Likelihood, centre: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Evidence and first moment of every cell under each component, and whether it is known."""
    arrays = [*likelihood.arrays()[:5], centre]
    cells = [np.ascontiguousarray(array.reshape(centre.shape[0], -1)) for array in arrays]
    known = np.isfinite(cells[0]) & np.isfinite(cells[1]) & (cells[5] > 0)
    evidence = np.ones((*known.shape, _PRIOR.size))
    moment = np.zeros_like(evidence)
    flat = [array[known] for array in cells]
    parts = [
        [array[start : start + CELLS_AT_ONCE] for array in flat]
        for start in range(0, flat[0].size, CELLS_AT_ONCE)
    ]
    # In threads where there is work enough for them.
    each = in_order if len(parts) > _FEW_PARTS else map
    integrals = list(each(lambda part: _integrals(*part), parts))
    if integrals:
        evidence[known] = np.concatenate([masses for masses, _ in integrals])
        moment[known] = np.concatenate([moments for _, moments in integrals])
    return evidence, moment, known


def _posterior(evidence: Floats, moment: Floats, among: NDArray[np.bool_], steps: int) -> Floats:
    """Means with the weights that these cells have."""
    weights = mixture(evidence, among, steps)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean: Floats = (moment @ weights)[..., 0] / (evidence @ weights)[..., 0]
    return mean


def _integrals(
    estimate: Floats, constant: Floats, linear: Floats, square: Floats, size: Floats, centre: Floats
) -> tuple[Floats, Floats]:
    """Under each component: the marginal likelihood of the estimate, and its first moment."""

    def variance(x: Floats) -> Floats:
        result = x * square
        result += linear
        result *= x
        result += constant
        return np.maximum(result, 1e-9, out=result)

    # The variance grows with the count: take the error at the upper end of what is plausible.
    error = np.sqrt(variance(np.minimum(np.maximum(estimate, 1.0), size)))
    error = np.sqrt(variance(np.minimum(np.maximum(estimate + 4 * error, 1.0), size)))
    reach, least = _REACH * error, _LEAST * centre
    low = np.maximum(estimate - reach, least)
    high = np.minimum(np.maximum(estimate + reach, 2 * least), size)
    step = np.log(np.maximum(high / low, 1.01)) / _POINTS
    logs = _HALFWAY * step
    logs += np.log(low / centre)
    ratios = np.exp(logs)
    counts = np.empty((_POINTS + 2, estimate.size))
    counts[0], counts[1] = centre, 0.0
    np.multiply(ratios, centre, out=counts[2:])
    spread = variance(counts)
    likelihood = counts - estimate
    likelihood *= likelihood
    likelihood /= spread
    likelihood += np.log(spread, out=spread)
    likelihood -= likelihood.min(axis=0)
    likelihood *= -0.5
    np.exp(likelihood, out=likelihood)
    masses = np.empty((_PRIOR.size, estimate.size))
    moments = np.empty_like(masses)
    masses[:2], moments[:2] = likelihood[:2], likelihood[:2] * counts[:2]
    # A log-normal with mean 1 and width w has, at the logarithm t, the density of a normal with
    # mean -w^2/2: exp(-t^2 / 2w^2) exp(-t / 2) exp(-w^2 / 8) / (w sqrt(2 pi)). Halving the width
    # takes the first factor to the fourth power.
    both = np.empty((2, _POINTS, estimate.size))
    np.divide(likelihood[2:], np.sqrt(ratios, out=ratios), out=both[0])
    both[0] *= step
    np.multiply(both[0], counts[2:], out=both[1])
    logs *= logs
    logs /= -2 * _WIDTHS[-1] ** 2
    bell = np.exp(logs, out=logs)
    for number in range(len(_WIDTHS) - 1, -1, -1):
        width = _WIDTHS[number]
        factor = math.exp(-(width**2) / 8) / (width * math.sqrt(2 * math.pi))
        integral = np.einsum("ij,kij->kj", bell, both)
        integral *= factor
        masses[2 + number], moments[2 + number] = integral
        if number:
            bell *= bell
            bell *= bell
    return masses.T, moments.T


def mixture(
    evidence: Floats, known: NDArray[np.bool_], steps: int, prior: Floats = _PRIOR
) -> Floats:
    """Weights of the components for every predicate, by EM over its cells."""
    # One predicate is asked again and again, and matrices of two axes cost less.
    only = known.shape[0] == 1
    evidence = evidence[0] if only else evidence
    counted = (known[0] if only else known)[..., None].astype(np.float64)
    scale = 1 / (counted.sum(axis=-2, keepdims=True) + prior.sum())
    turned = np.ascontiguousarray(np.swapaxes(evidence, -1, -2)) * scale
    start = prior[:, None] / prior.sum()
    weights = start.copy() if only else np.tile(start, (known.shape[0], 1, 1))
    least = prior[:, None] * scale
    # Every cell is likely under some component, and no weight is ever 0: the division is safe.
    for _ in range(steps):
        likely = evidence @ weights
        weights *= turned @ np.divide(counted, likely, out=likely)
        weights += least
    return weights[None] if only else weights


def made_consistent(means: Floats, y: Floats, views: Sequence[ChannelView]) -> Floats:
    """One step of EM with the channels of the whole domains."""
    expected: Floats | None = means
    for axis, view in enumerate(views, start=1):
        expected = None if expected is None else view.sent(expected, axis)
    if expected is None:
        return means
    ratio: Floats | None = y / np.maximum(expected, 1e-9)
    for axis, view in enumerate(views, start=1):
        ratio = None if ratio is None else view.returned(ratio, axis)
    return means if ratio is None else means * ratio


def margin(y: Floats, axis: int) -> Floats:
    """Counts of one column alone."""
    others = tuple(place for place in range(1, y.ndim) if place != 1 + axis)
    summed: Floats = y.sum(axis=others)
    return summed
