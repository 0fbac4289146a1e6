"""Counts over the whole table, of sets of values that no answer about fewer rows could tell apart.

Enters: a total, and its estimates. Leaves: the same, with the published counts where these are all
that is known. Must not know: SQL.

If every value fills its groups (five values with a fifth of the rows each, ell = 5), the published
value says nothing about a row, and no part of the table can be estimated. The whole table can: its
published counts are unbiased. A group that holds k values of a set publishes k of them on average,
with the variance k (1 - k / ell). That is at most k (1 - 1 / ell), the sum of the variances of k
single values, and the same is true of the values that are not in the set.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.view import quadratic
from countveil.maths.estimate.estimates import Estimates, Likelihood
from countveil.maths.estimate.totals import NEVER, Total


def with_published_counts(total: Total, estimates: Estimates, level: float) -> Estimates:
    """The estimates of a count, and what is published where a whole table has no other."""
    tallies = total.tallies
    unknown = ~np.isfinite(estimates.std_error)
    if len(tallies.views) != 1 or total.values is not None or not unknown.any():
        return estimates
    (view,) = tallies.views
    published = np.zeros(unknown.shape)
    for condition in set(total.condition_of.ravel().tolist()) - {NEVER}:
        met = tallies.meeting(condition, 0)
        counted = total.condition_of == condition
        everywhere = met.sum(axis=1) == view.rows
        unknown &= everywhere[:, None] | ~counted.any(axis=1)
        published += np.einsum("gcr,cr->gc", tallies.by_cell(met), counted.astype(np.float64))
    if not unknown.any():
        return estimates
    rows = np.full(published.shape, float(view.rows))
    fewer = np.minimum(published, rows - published)
    step = np.ones_like(fewer)
    likelihood = Likelihood(fewer, *quadratic(view.whole_variance, rows), rows, step)
    known = _turned(likelihood.estimates(level), rows, published > fewer)
    pairs = zip(known.arrays(), estimates.arrays(), strict=True)
    return Estimates(*(np.where(unknown, number, before) for number, before in pairs))


def _turned(estimates: Estimates, rows: NDArray[np.float64], where: NDArray[np.bool_]) -> Estimates:
    """The rows that are not counted in the place of those that are."""
    estimate, error, low, high = estimates.arrays()
    return Estimates(
        np.where(where, rows - estimate, estimate),
        error,
        np.where(where, rows - high, low),
        np.where(where, rows - low, high),
    )
