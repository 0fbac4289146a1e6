"""The unbiased estimate of a count, its variance and its interval.

Enters: y[p, v] = rows of predicate p that publish v, n[p] = rows of p, the channel as the analyst
sees it. Leaves: estimates of x[p, v], the rows of p whose true value is v. Must not know: SQL.
Theory: docs/theory/estimates.md, "Unbiased, one column".

With a and b of the two-state channel, E[y] = a x + b (n - x), so x = (y - n b) / (a - b). It may
come out negative: clipping would bias it. For the whole table (n = N) it is g itself.

b is that of an average predicate; `channel.view` corrects it for the values that occur in this one.

**Variance.** See `channel.view`: a quadratic in x (`estimates.Likelihood` gives its intervals).

**Greedy groups.** There, rows without s are not equally likely to share a group with s, so the b of
a predicate differs from the average b. The estimate is then biased by (n - x)(b_P - b)/(a - b).
b_P is unknown; it is estimated with the channel of the whole domain, and its size enters the
standard error (`_misfit`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView
from countveil.maths.channel.view import quadratic
from countveil.maths.estimate.estimates import Estimates, Likelihood

Floats = NDArray[np.float64]

# Measured with greedy groups on three tables (benchmarks/coverage.py): with these two, 95%
# intervals cover 0.92 to 0.99.
_EM_STEPS = 10
_MISFIT_SPREAD = 1.5


def unbiased_counts(y: Floats, n: Floats, channel: ChannelView, level: float) -> Estimates:
    """Estimates for every predicate (rows of y) and every value (columns)."""
    return unbiased_likelihood(y, n, channel).estimates(level)


def unbiased_likelihood(y: Floats, n: Floats, channel: ChannelView) -> Likelihood:
    """The same before a level is chosen."""
    n = n[:, None]
    exact = ((n == channel.rows) & channel.complete) | (n == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where(exact, channel.of_whole_table(y), _estimates(y, n, channel))
        x = np.where(n == 0, 0.0, x)
        spread = np.where(exact, 0.0, _misfit(y, n, channel))
        coefficients = quadratic(lambda t: channel.variance(t, n), n + 0 * y)
        step = np.where(exact, 1.0, 1 / np.abs(channel.gap)) + 0 * y
    return Likelihood(x, *coefficients, n + 0 * y, step).widened(spread)


def _estimates(y: Floats, n: Floats, channel: ChannelView) -> Floats:
    """M y; NaN where a value is not identifiable."""
    if not channel.corrected:
        # The same, without a matrix: these domains can be large.
        two_state = (y - n * channel.b) / channel.gap
        return np.where(channel.identifiable, two_state, np.nan)
    estimate: Floats = y @ channel.weights.T
    return estimate


def _misfit(y: Floats, n: Floats, channel: ChannelView) -> Floats:
    """How far the average b may mislead for these predicates: an estimated root mean square."""
    implied, mispaired = misfits(y, n, channel)
    spread: Floats = np.sqrt(implied**2 + mispaired**2)
    return spread


def misfits(y: Floats, n: Floats, channel: ChannelView) -> tuple[Floats, Floats]:
    """The two components of the misfit, in rows.

    Ten EM steps with the fitted channel of the whole domain give a smooth guess z of the true
    counts. One component is what z implies for b_P; the other is how much the departures of z from
    independence could move b_P if the fitted channel pairs the values wrongly.
    """
    channel, share = channel.grouped
    if channel.two_state_holds:
        return np.zeros_like(y), _uninformative_spread(y, n, channel) / share
    if channel.whole is None:
        return np.zeros_like(y), np.full_like(y, np.inf)
    whole, b, gap, rows = channel.whole, channel.b, channel.gap, channel.rows
    z = np.maximum(y, 1e-3)
    for _ in range(_EM_STEPS):
        z = z * ((y / np.maximum(z @ whole, 1e-9)) @ whole.T)
    kept = np.diag(whole)
    others = np.maximum(n - z, 1.0)
    implied = others * ((z @ whole - z * kept) / others - b)
    departure = z - others * channel.published / (rows - channel.published)
    mispaired = np.sqrt(np.maximum(departure**2 @ whole**2 - departure**2 * kept**2, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Where a and b are nearly equal nothing is known; the estimate is NaN there.
        return implied / gap / share, _MISFIT_SPREAD * mispaired / gap / share


def _uninformative_spread(y: Floats, n: Floats, channel: ChannelView) -> Floats:
    """The bias that values which are not informative may cause in the others (mixed groups).

    A value near N/ell is in nearly every group, so the release does not show how many rows of P
    have it. If there are h more than independence predicts, the same y means fewer rows with the
    other values: as many as, sent through W, would publish what h rows of this value publish. The
    size of h is guessed from how far the other values of P depart from independence.
    """
    hidden = ~channel.informative
    if channel.whole is None or not hidden.any():
        return np.zeros_like(y)
    g = channel.published
    shares = np.where(hidden, g, 0.0) / float(g[hidden].sum())
    others = np.where(hidden, 0.0, g)
    known = np.flatnonzero(others)
    block = channel.whole[np.ix_(known, known)]
    moved = np.zeros(g.size)
    moved[known] = np.linalg.lstsq(block.T, (shares @ channel.whole)[known], rcond=1e-9)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where(hidden, 0.0, _estimates(y, n, channel))
        expected = np.maximum(n * g / channel.rows, 1e-300)
        departures = (others * (x / expected - 1) ** 2).sum(axis=1, keepdims=True)
        relative = np.sqrt(departures / max(float(others.sum()), 1.0))
        unknown = n * (float(g[hidden].sum()) / channel.rows) * relative
    spread: Floats = unknown * np.abs(moved)
    return spread
