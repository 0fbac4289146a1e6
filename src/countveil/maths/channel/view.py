"""The channel as an analyst can know it: from the published histogram, N, ell and the group method.

Enters: what a release publishes. Leaves: a `ChannelView` with the weights that undo the channel.
Must not know: true counts, predicates, errors. Theory: docs/theory/channel.md, "Two states", and
docs/theory/estimates.md, "Unbiased, one column".

Everything here is post-processing of public numbers. The published count g[s] takes the place of
the true f[s], for which it is unbiased.

**Two states.** Seen as "s or not s", the channel of a value s is two numbers:

    a = P(publish s | true value is s)          averaged over the rows with s
    b = P(publish s | true value is not s)      averaged over the rows without s

Published counts are unbiased, f = f a + (N - f) b, so b = f (1 - a) / (N - f). With all groups of
size ell, a = 1/ell and b = (ell - 1) f / (ell (N - f)). (The paper prints another b; see
`maths/paper`.) For n rows, of which x have the value and y publish it, E[y] = a x + b (n - x), so
x = (y - n b) / (a - b): a row that publishes u has the weight

    M[v, u] = ([u = v] - b[v]) / (a - b[v])

in the estimate of v.

**Whole domain.** The two-state b is an average over all rows without s. Within a predicate the
other values have other shares, and a frequent value shares a group with s a little less often,
relative to its count, than a rare one: mixed groups are as even as groups can be, not perfectly
even. The standard error, relative to the count, shrinks with the number of rows. This bias does
not: at 5 * 10^7 rows it is up to three standard errors. With W of the fitted design, E[y] = W^T x
for the counts x of all values. W is close to the two-state matrix. So the two-state estimate is
corrected, a few times, by the two-state estimate of the residual y - W^T x. Each correction shrinks
the bias by a factor of ten or more. The corrections are small beside the noise and hardly add to
it: the variance stays that of two states. For the whole table the residual is zero, and nothing is
corrected.

**Variance.** b is computed from the histogram of the same release. Its noise is shared with y and
works as a control variate, so leaving it out gives intervals that are far too wide for large
predicates. For sums of a number z over the rows of P: let X and q be the sums of z and z^2 over the
rows with s, L and r those over the others, b' = db/df, c = b/a. Then

    Var = [ a (1-a) (q + c r) + a^2 c (1-c) (r - L^2/(N-f))
            - 2 a (1-a) b' L (X + c L) + (b' L)^2 f (1-a) ] / (a-b)^2

With z = 1 it is the variance of a count: a quadratic in x, and f (1 - a) at n = N.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.beside import ValuesBeside
from countveil.maths.channel.design import design_channel
from countveil.maths.channel.greedy import greedy_templates
from countveil.maths.channel.templates import channel_matrix

Floats = NDArray[np.float64]
# The sums of a number and of its square, over some rows.
Sums = tuple[Floats, Floats]
Numbers = TypeVar("Numbers", float, Floats)

# A release says how its groups were formed, and what happened to the rows that are left over when
# N is not a multiple of ell.
GROUP_METHODS = ("mixed", "random", "anatomy")
RESIDUES = ("absorb", "drop")

# A dense matrix of this many values squared is 32 MB; beyond it the whole domain is not fitted.
WHOLE_DOMAIN_LIMIT = 2_000

CORRECTION_STEPS = 5

# A value is identifiable if its published count is this many standard errors below N/ell.
_IDENTIFIABLE_MARGIN = 4.0

# See `ChannelView.informative`.
_NEAR, _TYPICAL_SHARE, _TYPICAL_DEPARTURE = 0.15, 0.05, 0.3

# See `_corrections_converge`.
_STEPS_FOLLOWED, _SHRINKS = 12, 0.7


def keep_probability(rows: int, ell: int) -> float:
    """a: the chance that a row publishes its true value.

    k = rows // ell groups have the sizes rows // k and, for rows % k of them, one more. A value can
    be in any of them. The mean of 1/size over the groups is exact when all sizes are equal;
    otherwise only rows % k groups differ, and the mean for each value lies between the two sizes.
    """
    groups = rows // ell
    size, larger = divmod(rows, groups)
    return ((groups - larger) / size + larger / (size + 1)) / groups


def b_exact(count: Numbers, rows: float, keep: Numbers | float) -> Numbers:
    """b: the chance that a row without s publishes s, for `count` rows with s in the table."""
    return count * (1 - keep) / (rows - count)


@dataclass(frozen=True)
class ChannelView:
    """What an analyst can compute with for one sensitive column.

    `whole` is W of all values, as far as it can be known. `two_state_holds`: W differs so little
    from two states that estimates correct for it (mixed groups); otherwise they only widen errors.
    """

    rows: int
    keep: float
    published: Floats
    whole: Floats | None
    two_state_holds: bool

    @property
    def different(self) -> bool:
        """Whether groups hold different values, without noise before them, as in the paper."""
        return True

    @property
    def corrected(self) -> bool:
        """Whether `weights` correct two states by what is known of the whole domain."""
        return self.whole is not None and self.two_state_holds

    @property
    def grouped(self) -> tuple[ChannelView, float]:
        """The view of what groups were formed of, and the share of a count that is left there."""
        return self, 1.0

    @property
    def design_effect(self) -> float:
        """By how much rows that publish alike raise a variance: not at all, if all are drawn."""
        return 1.0

    @property
    def complete(self) -> bool:
        """Whether its rows are all that were drawn, so that a predicate may have all of them."""
        return True

    @cached_property
    def a(self) -> Floats:
        """The a of every value."""
        return np.full(self.published.size, self.keep)

    @cached_property
    def b(self) -> Floats:
        """The b of every value, exact two-state form."""
        return b_exact(np.minimum(self.published, self.rows - 1.0), self.rows, self.a)

    @cached_property
    def gap(self) -> Floats:
        """A - b: what an estimate divides by."""
        return self.a - self.b

    @property
    def shares(self) -> Floats:
        """The share of each value in the whole table, as the release tells it."""
        return self.published / self.rows

    def of_whole_table(self, y: Floats) -> Floats:
        """The estimate for all rows of the table: published counts are unbiased."""
        return y

    def variance(self, x: Floats, n: Floats) -> Floats:
        """Of the unbiased estimate when x of the n rows have the value (the last axis)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = self.sum_variance((x, x), (n - x, n - x))
        return np.where(n == self.rows, self.whole_variance(x), variance)

    def sum_variance(self, having: Sums, lacking: Sums) -> Floats:
        """Of the unbiased estimate of a sum: over the rows with the value, over the others."""
        return mixed_variance(having, lacking, self.published, self.rows, self.keep)

    def whole_variance(self, x: Floats) -> Floats:
        """Of the estimate for all rows of the table, when x of them have the value."""
        return x * (1 - self.keep)

    def undone(self, published: Floats, axis: int = -1) -> Floats:
        """M y: the unbiased estimates, from how many rows publish each value."""
        return _along(published, self.weights.T, axis)

    def row_weights(self, counting: Floats, axis: int = -1) -> Floats:
        """M^T c: the weight of a row by what it publishes, if true values count with these numbers.

        Values that count with 0 do no harm where they are not identifiable.
        """
        others = tuple(place for place in range(counting.ndim) if place != axis % counting.ndim)
        used = np.any(counting != 0, axis=others)
        return _along(counting, np.where(used[:, None], self.weights, 0.0), axis)

    def sent(self, counts: Floats, axis: int = -1) -> Floats | None:
        """W^T x: how many rows publish each value, if these have it. None if W is not known."""
        return None if self.whole is None else _along(counts, self.whole, axis)

    def returned(self, ratios: Floats, axis: int = -1) -> Floats | None:
        """W r: for each true value, the mean of what belongs to the published ones."""
        return None if self.whole is None else _along(ratios, self.whole.T, axis)

    @cached_property
    def repeated(self) -> NDArray[np.bool_]:
        """Which values may fill several places of a group."""
        return np.zeros(self.published.size, bool)

    @cached_property
    def beside(self) -> ValuesBeside:
        """Which values are in the group of a row, beside its own."""
        size = 1 / self.keep
        return ValuesBeside.of(self.b * size, self.shares, size, self.repeated)

    @cached_property
    def identifiable(self) -> NDArray[np.bool_]:
        """False where f is so near N/ell that a and b are nearly equal: do not divide by a - b."""
        noise = np.sqrt(self.published * (1 - self.keep))
        return self.rows * self.a - self.published > _IDENTIFIABLE_MARGIN * noise

    @cached_property
    def informative(self) -> NDArray[np.bool_]:
        """False where f is near N/ell, so that an estimate, though possible, is mostly noise.

        The counts of such a value cannot help to correct those of others. A value near N/ell counts
        as uninformative only if a typical predicate (a twentieth of the rows) could not show a
        typical departure from independence.
        """
        gap = self.gap
        expected = np.maximum(self.published, 1.0) * _TYPICAL_SHARE
        rows = self.rows * _TYPICAL_SHARE
        with np.errstate(divide="ignore"):
            error = np.sqrt(rows * self.b) / np.maximum(gap, 0.0)
        noisy = (gap < _NEAR * self.a) & (error > _TYPICAL_DEPARTURE * expected)
        informative: NDArray[np.bool_] = self.identifiable & ~noisy
        return informative

    @cached_property
    def weights(self) -> Floats:
        """M[v, u]: the weight, in the estimate of v, of a row that publishes u.

        M y estimates x without bias. A row of NaN where v is not identifiable.
        """
        if self.whole is None or not self.two_state_holds:
            weights = two_state_weights(self.a, self.b)
        else:
            shares = np.where(self.informative, 0.0, self.published)
            shares = shares / max(float(shares.sum()), 1.0)
            weights = whole_domain_weights(self.a, self.b, self.whole, shares)
        weights[~self.identifiable] = np.nan
        weights.flags.writeable = False
        return weights


def mixed_variance(
    having: Sums, lacking: Sums, published: Floats, rows: float, keep: float | Floats
) -> Floats:
    """The variance of a sum in a predicate, where groups hold different values."""
    (x, q), (others_sum, r) = having, lacking
    f = np.minimum(published, rows - 1.0)
    others = rows - f
    gap = (rows * keep - f) / others
    shared = np.minimum(f * (1 - keep) / (others * keep), 1.0)
    slope = others_sum * (1 - keep) * rows / others**2
    drawn = keep * (1 - keep) * (q + shared * r - 2 * slope * (x + shared * others_sum))
    grouped = keep**2 * shared * (1 - shared) * (r - others_sum**2 / others)
    variance: Floats = (drawn + grouped + slope**2 * f * (1 - keep)) / gap**2
    return variance


def quadratic(
    variance: Callable[[Floats], Floats], size: Floats, least: float = 1.0
) -> tuple[Floats, Floats, Floats]:
    """The three coefficients of a variance that is a quadratic in the true count, 0 to size."""
    size = np.where(size > 0, np.maximum(size, least), 1.0)
    none, half, all_ = variance(np.array([0.0, 0.5, 1.0]).reshape(3, *(1,) * size.ndim) * size)
    square = 2 * (none - 2 * half + all_) / size**2
    return none, (all_ - none) / size - square * size, square


def view_of_release(
    published: NDArray[np.int64],
    rows: int,
    ell: int,
    groups: str,
    common: tuple[int, ...] = (),
    noise: tuple[float, int] | None = None,
) -> ChannelView:
    """The view for a column whose groups were formed by `groups`; `common` values may repeat.

    `noise`: gamma, and how many of the values, the first ones, are declared.
    """
    if noise is not None:
        from countveil.maths.channel.noised_view import NoisedView

        return NoisedView.of(view_of_release(published, rows, ell, groups, common), *noise)
    if groups == "random" or common:
        # Loaded only where they are needed.
        from countveil.maths.channel.skewed_views import common_view, random_view

        if groups == "random":
            return random_view(published, rows, ell)
        return common_view(published, rows, ell, common)
    keep = keep_probability(rows, ell)
    whole = None
    if published.size <= WHOLE_DOMAIN_LIMIT:
        eligible = _nearest_eligible(published, ell)
        if eligible is not None and groups == "anatomy":
            whole = channel_matrix(greedy_templates(eligible, ell))
        elif eligible is not None:
            whole = design_channel(eligible, ell)
    # With greedy groups, rows without s are not all equally likely to share a group with s.
    view = ChannelView(rows, keep, published.astype(np.float64), whole, groups != "anatomy")
    return view if _corrections_converge(view) else replace(view, two_state_holds=False)


def two_state_weights(a: Floats, b: Floats) -> Floats:
    """M of two states; infinite or NaN where a and b are equal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        weights: Floats = (np.eye(b.size) - b[:, None]) / (a - b)[:, None]
    return weights


def whole_domain_weights(a: Floats, b: Floats, whole: Floats, hidden_shares: Floats) -> Floats:
    """M after the corrections.

    Values that are not informative share what the others leave: `hidden_shares` sum to one over
    them, or to zero if there are none. Their weights stay those of two states.
    """
    hidden = hidden_shares > 0
    published = np.eye(b.size)
    estimates = two_state_weights(a, b).T
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(CORRECTION_STEPS):
            known = estimates
            if hidden.any():
                known = np.where(hidden, 0.0, estimates)
                known = known + (1.0 - known.sum(axis=1, keepdims=True)) * hidden_shares
            residual = published - known @ whole
            step = (residual - residual.sum(axis=1, keepdims=True) * b) / (a - b)
            estimates = estimates + np.where(hidden, 0.0, step)
    return np.ascontiguousarray(estimates.T)


def _corrections_converge(view: ChannelView) -> bool:
    """Does correcting with two states again and again lead to the solution with W?

    It does for mixed groups unless values are very few and very unequal. The error that is left
    after each step is followed for some steps.
    """
    if view.whole is None or not view.two_state_holds:
        return True
    usable, b = view.identifiable & (view.published > 0), view.b
    if not usable.any():
        return True
    divisor = np.where(usable, view.gap, 1.0)
    error = np.where(usable, np.sqrt(view.published), 0.0)
    error[::2] *= -1
    ratio = 1.0
    for _ in range(_STEPS_FOLLOWED):
        size = float(np.abs(error).sum())
        if size == 0:
            return True
        sent = error @ view.whole
        error = np.where(usable, error - (sent - sent.sum() * b) / divisor, 0.0) / size
        ratio = float(np.abs(error).sum())
    return ratio < _SHRINKS


def _along(counts: Floats, matrix: Floats, axis: int) -> Floats:
    """The matrix applied along one axis."""
    if axis % counts.ndim == counts.ndim - 1:
        along_the_last: Floats = counts @ matrix
        return along_the_last
    product: Floats = np.moveaxis(np.tensordot(counts, matrix, (axis, 0)), -1, axis)
    return product


def _nearest_eligible(counts: NDArray[np.int64], ell: int) -> NDArray[np.int64] | None:
    """Published counts may exceed N/ell by chance; cut them back until groups exist."""
    if np.count_nonzero(counts) < ell:
        return None
    while int(counts.max()) > int(counts.sum()) // ell:
        counts = np.minimum(counts, int(counts.sum()) // ell)
    return counts
