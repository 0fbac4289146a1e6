"""The weights that undo a channel: from published counts to estimates of true ones.

Enters: a, b of every value, W where it is known, which values can be separated. Leaves: M, such
that M y estimates x without bias. Must not know: predicates, errors.

**Two states.** E[y] = a x + b (n - x), so x = (y - n b) / (a - b): a row that publishes u counts

    M[v, u] = ([u = v] - b[v]) / (a - b[v])

in the estimate of v.

**Whole domain.** The two-state b is an average over all rows without s. Within a predicate the
other values have other shares, and a frequent value sits with s a little less often, relative to
its count, than a rare one: mixed groups are as even as groups can be, not perfectly even. The
error of an estimate shrinks like one over the root of the number of rows, this bias does not, so
at 5 * 10^7 rows it is up to three standard errors. With W of the fitted design, E[y] = W^T x for
the counts x of all values. W is near the two-state matrix, so the two-state estimate is corrected
by the two-state estimate of what it leaves unexplained, y - W^T x, a few times. Every time the
bias shrinks by a factor of ten or more. The corrections are small beside the noise and hardly add
to it: the variance is that of two states. For the whole table the published counts explain
themselves, and nothing is corrected.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEPS = 5


def two_state_weights(keep: float, b: Floats) -> Floats:
    """M of two states; nothing that could be used where a and b are the same."""
    with np.errstate(divide="ignore", invalid="ignore"):
        weights: Floats = (np.eye(b.size) - b[:, None]) / (keep - b)[:, None]
    return weights


def whole_domain_weights(keep: float, b: Floats, whole: Floats, hidden_shares: Floats) -> Floats:
    """M after the corrections.

    Values that nobody can tell share what the others leave: `hidden_shares` add up to one over
    them, or to nothing if there are none. Their own weights stay those of two states.
    """
    hidden = hidden_shares > 0
    published = np.eye(b.size)
    estimates = two_state_weights(keep, b).T
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(STEPS):
            known = estimates
            if hidden.any():
                known = np.where(hidden, 0.0, estimates)
                known = known + (1.0 - known.sum(axis=1, keepdims=True)) * hidden_shares
            left = published - known @ whole
            more = (left - left.sum(axis=1, keepdims=True) * b) / (keep - b)
            estimates = estimates + np.where(hidden, 0.0, more)
    return np.ascontiguousarray(estimates.T)
