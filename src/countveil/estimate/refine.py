"""From two states to the whole domain: the estimate corrected by who sits with whom.

Enters: two-state estimates, published counts, the channel. Leaves: corrected estimates, or the row
weights that give them. Must not know: SQL.

The two-state b is an average over all rows without s. Within a predicate the other values have
other shares, and a frequent value sits with s a little less often, relative to its count, than a
rare one: mixed groups are as even as groups can be, not perfectly even. The error of an estimate
shrinks like one over the root of the number of rows, this bias does not, so at 5 * 10^7 rows it is
up to three standard errors.

With W of the fitted design, E[y] = W^T x for the counts x of all values. W is near the two-state
matrix, so the two-state estimate is corrected by the two-state estimate of what it leaves
unexplained, y - W^T x, a few times. Every time the bias shrinks by a factor of ten or more. The
corrections are small beside the noise and hardly add to it: the variance is that of two states.

For the whole table the published counts explain themselves, and nothing is corrected.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.channel import ChannelView

Floats = NDArray[np.float64]

STEPS = 5


def two_state_weights(view: ChannelView) -> Floats:
    """M[v, u] of two states: the weight of a row that publishes u in the estimate of v."""
    b = view.b
    with np.errstate(divide="ignore", invalid="ignore"):
        weights: Floats = (np.eye(b.size) - b[:, None]) / (view.keep - b)[:, None]
    return weights


def refined_weights(view: ChannelView) -> Floats:
    """M after the corrections: M[v, u] is the weight of a published u in the estimate of v."""
    return refined(two_state_weights(view).T, np.eye(view.published.size), view).T


def weight_matrix(view: ChannelView) -> Floats:
    """The same; a row of NaN where a value cannot be separated."""
    weights = refined_weights(view)
    weights[~view.separable] = np.nan
    return weights


def refined(x: Floats, y: Floats, view: ChannelView) -> Floats:
    """Two-state estimates x (rows: predicates) of published counts y, corrected."""
    if view.whole is None or not view.two_state_holds:
        return x
    b = view.b
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(STEPS):
            left = y - _all_values(x, y, view) @ view.whole
            x = x + (left - left.sum(axis=1, keepdims=True) * b) / (view.keep - b)
    return x


def _all_values(x: Floats, y: Floats, view: ChannelView) -> Floats:
    """Values that cannot be separated share, by their published counts, what the others leave."""
    hidden = ~view.separable
    if not hidden.any():
        return x
    known = np.where(hidden, 0.0, x)
    shares = np.where(hidden, view.published, 0.0)
    shares = shares / max(float(shares.sum()), 1.0)
    rest = y.sum(axis=1, keepdims=True) - known.sum(axis=1, keepdims=True)
    filled: Floats = known + rest * shares
    return filled
