"""Sums of a plain number over the rows with one true value: survey weights, above all.

Enters: for every predicate and published value (or combination of values), how many rows there are,
the sum of their number z and the sum of its square; the channels; shrunk counts. Leaves: a
`Likelihood` in effective rows with its unit, and shrunk sums. Must not know: SQL. Theory:
docs/theory/estimates.md, "Weighted counts and sums".

**Unbiased.** The row weights of counts, applied to z: X = sum over u of M[v, u] Y_z[u].

**Variance.** `ChannelView.sum_variance`: that of counts, with z^2 where a count has rows and z
where it has shared terms. Of rows with s, the sum q of z^2 is not known; it is their sum X times
their mean square over their mean, which is that of all rows of P unless many rows show otherwise.
In units of that ratio, a sum is a count of *effective rows*, and has the interval of a count.

**Shrunk.** X = m x + D: the mean m of z in P, times the rows with s, and what rows with s have more
than that mean. x is the shrunk count. The unbiased estimates of x and D are nearly uncorrelated, D
has the variance above with z - m in the place of z, and it is drawn towards 0 as far as the values
of P together do not show that means differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView
from countveil.maths.channel.view import quadratic
from countveil.maths.estimate.estimates import Likelihood
from countveil.maths.estimate.shrunk import likelihood_and_centre, mixture
from countveil.maths.estimate.unbiased import misfits, unbiased_likelihood

Floats = NDArray[np.float64]

# By how much the mean of a value departs from that of P, relative to it: the widths of a mixture of
# normal distributions, and its Dirichlet prior, in values.
_WIDTHS = np.array([0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6])
_PRIOR = np.array([0.5, 1.0, 0.5, 0.25, 0.15, 0.1, 0.05])
_EM_STEPS = 20


@dataclass(frozen=True, slots=True)
class PublishedSums:
    """Rows, sums and sums of squares by predicate (first axis) and published value."""

    rows: Floats
    first: Floats
    second: Floats

    @property
    def totals(self) -> tuple[Floats, Floats, Floats]:
        """The same of all rows of each predicate, which are known exactly."""
        values = tuple(range(1, self.rows.ndim))
        rows, first, second = (
            array.sum(axis=values, keepdims=True) for array in (self.rows, self.first, self.second)
        )
        return rows, first, second


def unbiased_sums(published: Floats, view: ChannelView) -> Floats:
    """M applied to published sums; NaN where a value is not identifiable."""
    if not view.corrected:
        total = published.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            estimate = (published - total * view.b) / view.gap
        return np.where(view.identifiable, estimate, np.nan)
    product: Floats = published @ view.weights.T
    return product


def sum_likelihood(
    sums: PublishedSums, views: Sequence[ChannelView], counts: Floats
) -> tuple[Likelihood, Floats]:
    """Unbiased sums of a number that is never negative, in effective rows, and the unit.

    `counts` are shrunk counts. The unit is by predicate, with one more axis.
    """
    rows, first, second = sums.totals
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = np.where(first > 0, second / first, 1.0)
        if len(views) == 1:
            effective = _one_column(sums, views[0], counts, unit)
        else:
            effective = likelihood_and_centre(sums.first / unit, views)[0]
    # Where all rows have the same number, the sum is that number times the count.
    same = second * rows <= first**2 * (1 + 1e-9)
    if same.any():
        plain = likelihood_and_centre(sums.rows, views)[0]
        arrays = zip(plain.arrays(), effective.arrays(), strict=True)
        effective = Likelihood(*(np.where(same, one, two) for one, two in arrays))
    return effective, unit.reshape(-1, 1)


def _one_column(sums: PublishedSums, view: ChannelView, counts: Floats, unit: Floats) -> Likelihood:
    _, first, second = sums.totals
    estimate = unbiased_sums(sums.first, view)
    spread = np.hypot(*misfits(sums.first, first, view))
    ratio = _mean_square_over_mean(sums, view, counts, estimate, unit)

    def variance(total: Floats) -> Floats:
        return view.sum_variance((total, total * ratio), (first - total, second - total * ratio))

    constant, linear, square = quadratic(variance, first + 0 * estimate, least=0.0)
    step = 1 / np.abs(view.gap) + 0 * estimate
    size = first / unit + 0 * estimate
    likelihood = Likelihood(estimate / unit, constant / unit**2, linear / unit, square, size, step)
    return likelihood.widened(spread / unit)


def _mean_square_over_mean(
    sums: PublishedSums, view: ChannelView, counts: Floats, estimate: Floats, unit: Floats
) -> Floats:
    """Of the rows with each value: that of all rows of P, or what the release shows.

    The release shows it where the count is many standard errors from 0.
    """
    rows, _, second = sums.totals
    likelihood = unbiased_likelihood(sums.rows, rows[:, 0], view)
    variance = likelihood.variance(np.clip(counts, 1.0, None))
    trust = np.where(np.isfinite(variance), counts**2 / (counts**2 + variance), 0.0)
    squares = np.clip(unbiased_sums(sums.second, view), 0.0, second)
    shown = np.where(estimate > 0, squares / estimate, unit)
    shown = np.clip(np.where(np.isfinite(shown), shown, unit), unit / 10, unit * 10)
    ratio: Floats = (1 - trust) * unit + trust * shown
    return ratio


def shrunk_sums(
    sums: PublishedSums, views: Sequence[ChannelView], counts: Floats, likelihood: Likelihood
) -> Floats:
    """M x + D for every predicate and value, from shrunk counts x and the likelihood of counts."""
    rows, first, second = sums.totals
    rows = np.maximum(rows, 1.0)
    mean = first / rows
    moved, variance = departures(sums, views, counts, mean, likelihood)
    return mean * counts + drawn_to_zero(moved, variance, counts * np.sqrt(second / rows))


def departures(
    sums: PublishedSums,
    views: Sequence[ChannelView],
    counts: Floats,
    mean: Floats,
    likelihood: Likelihood,
) -> tuple[Floats, Floats]:
    """By how much sums exceed the mean times the count, unbiased, and the variance of that."""
    rows, first, second = sums.totals
    moved = sums.first - mean * sums.rows
    squares = np.maximum(second - 2 * mean * first + mean**2 * rows, 0.0)
    rows = np.maximum(rows, 1.0)
    share = counts / rows
    with np.errstate(divide="ignore", invalid="ignore"):
        if len(views) == 1:
            moved = unbiased_sums(moved, views[0])
            having, lacking = share * squares, (1 - share) * squares
            none = np.zeros_like(counts)
            variance = views[0].sum_variance((none, having), (none, lacking))
        else:
            for axis, view in enumerate(views):
                moved = view.undone(moved, 1 + axis)
            variance = likelihood.variance(counts) * squares / rows
    return moved, variance


def drawn_to_zero(moved: Floats, variance: Floats, scale: Floats) -> Floats:
    """Posterior means of departures of every predicate, that are a few tenths of `scale`."""
    shape = (moved.shape[0], -1)
    flat = (array.reshape(shape) for array in (moved, variance, scale))
    return _drawn_to_zero(*flat).reshape(moved.shape)


def _drawn_to_zero(moved: Floats, variance: Floats, scale: Floats) -> Floats:
    """Posterior means of departures with these variances, that are a few tenths of `scale`."""
    exact = np.isfinite(moved) & (variance <= 0)
    known = np.isfinite(moved) & np.isfinite(variance) & (variance > 0) & (scale > 0)
    unshrunk = moved
    moved, variance = np.where(known, moved, 0.0), np.where(known, variance, 1.0)
    spread = (np.where(known, scale, 0.0)[..., None] * _WIDTHS) ** 2
    total = variance[..., None] + spread
    logs = -0.5 * (np.log(total) + moved[..., None] ** 2 / total)
    evidence = np.exp(logs - logs.max(axis=-1, keepdims=True))
    weights = mixture(evidence, known, _EM_STEPS, _PRIOR)
    likely = evidence @ weights
    drawn: Floats = moved * ((evidence * (spread / total)) @ weights)[..., 0] / likely[..., 0]
    return np.where(exact, unshrunk, np.where(known, drawn, 0.0))
