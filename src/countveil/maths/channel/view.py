"""The channel as an analyst sees it: from the published histogram, N, ell and the group method.

Enters: what a release tells. Leaves: a `ChannelView`. Must not know: true counts.

Everything here is post-processing of public numbers. The published count g[s] stands in for the
true f[s]; it is unbiased for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.design import design_channel
from countveil.maths.channel.greedy import greedy_templates
from countveil.maths.channel.templates import channel_matrix
from countveil.maths.channel.two_state import b_exact, keep_probability
from countveil.maths.channel.undo import two_state_weights, whole_domain_weights

# A dense matrix of this many values squared is 32 MB; beyond it the whole domain is not fitted.
WHOLE_DOMAIN_LIMIT = 2_000

# How many standard errors the published count must stay below N/ell for the value to be separable.
_SEPARABLE_MARGIN = 4.0

_NEAR, _TYPICAL_SHARE, _TYPICAL_DEPARTURE = 0.15, 0.05, 0.3

_FOLLOWED, _SHRINKS = 12, 0.7


@dataclass(frozen=True)
class ChannelView:
    """What an analyst can compute with for one sensitive column.

    `whole` is W of all values, as far as it can be known. `two_state_holds`: it differs so little
    from two states that estimates correct for it (mixed groups); otherwise they only widen errors.
    """

    rows: int
    keep: float
    published: NDArray[np.float64]
    whole: NDArray[np.float64] | None
    two_state_holds: bool

    @cached_property
    def b(self) -> NDArray[np.float64]:
        """B of every value, exact two-state form."""
        return b_exact(np.minimum(self.published, self.rows - 1.0), self.rows, self.keep)

    @cached_property
    def separable(self) -> NDArray[np.bool_]:
        """False where f is so near N/ell that a and b cannot be told apart: do not divide."""
        noise = np.sqrt(self.published * (1 - self.keep))
        return self.rows * self.keep - self.published > _SEPARABLE_MARGIN * noise

    @cached_property
    def told(self) -> NDArray[np.bool_]:
        """False where f is near N/ell, so that an estimate, though possible, is mostly noise.

        The counts of such a value are no help in correcting those of others. Nearness counts only
        if a typical predicate (a twentieth of the rows) could not show a typical departure.
        """
        gap = self.keep - self.b
        expected = np.maximum(self.published, 1.0) * _TYPICAL_SHARE
        rows = self.rows * _TYPICAL_SHARE
        with np.errstate(divide="ignore"):
            error = np.sqrt(rows * self.b) / np.maximum(gap, 0.0)
        noisy = (gap < _NEAR * self.keep) & (error > _TYPICAL_DEPARTURE * expected)
        told: NDArray[np.bool_] = self.separable & ~noisy
        return told

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """M[v, u]: what a row that publishes u counts in the estimate of v.

        A row of NaN where v cannot be separated.
        """
        if self.whole is None or not self.two_state_holds:
            weights = two_state_weights(self.keep, self.b)
        else:
            shares = np.where(self.told, 0.0, self.published)
            shares = shares / max(float(shares.sum()), 1.0)
            weights = whole_domain_weights(self.keep, self.b, self.whole, shares)
        weights[~self.separable] = np.nan
        weights.flags.writeable = False
        return weights


def view_of_release(published: NDArray[np.int64], rows: int, ell: int, groups: str) -> ChannelView:
    """The view for a column whose groups were formed by `groups`."""
    keep = keep_probability(rows, ell)
    whole = None
    if published.size <= WHOLE_DOMAIN_LIMIT:
        eligible = _nearest_eligible(published, ell)
        if eligible is not None and groups == "anatomy":
            whole = channel_matrix(greedy_templates(eligible, ell))
        elif eligible is not None:
            whole = design_channel(eligible, ell)
    # Greedy groups break the assumption that every tuple without s is as likely to sit with s.
    view = ChannelView(rows, keep, published.astype(np.float64), whole, groups != "anatomy")
    return view if _near_two_states(view) else replace(view, two_state_holds=False)


def _near_two_states(view: ChannelView) -> bool:
    """Does solving with two states again and again lead to the solution with the whole channel?

    Estimates correct the two-state answer in this way. It is so for mixed groups unless values
    are very few and very unequal. The error left after each step is followed for a while.
    """
    if view.whole is None or not view.two_state_holds:
        return True
    usable, b = view.separable & (view.published > 0), view.b
    if not usable.any():
        return True
    divisor = np.where(usable, view.keep - b, 1.0)
    error = np.where(usable, np.sqrt(view.published), 0.0)
    error[::2] *= -1
    shrunk = 1.0
    for _ in range(_FOLLOWED):
        size = float(np.abs(error).sum())
        if size == 0:
            return True
        seen = error @ view.whole
        error = np.where(usable, error - (seen - seen.sum() * b) / divisor, 0.0) / size
        shrunk = float(np.abs(error).sum())
    return shrunk < _SHRINKS


def _nearest_eligible(counts: NDArray[np.int64], ell: int) -> NDArray[np.int64] | None:
    """Published counts may overshoot N/ell by chance; cut them back until groups exist."""
    if np.count_nonzero(counts) < ell:
        return None
    while int(counts.max()) > int(counts.sum()) // ell:
        counts = np.minimum(counts, int(counts.sum()) // ell)
    return counts
