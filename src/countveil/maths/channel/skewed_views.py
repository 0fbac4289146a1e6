"""The channel as an analyst can know it, where groups may hold a value more than once.

Enters: what a release publishes. Leaves: a `ChannelView` for random groups, or for mixed groups
with common values. Must not know: true counts, predicates, errors. Theory: docs/theory/channel.md,
"Random groups" and "Common values".

**Random groups.** A row publishes its own place of the group with probability k = groups / N, and
otherwise the value of some other row of the table, each as likely:

    a = k + (1 - k)(f - 1)/(N - 1)        b = (1 - k) f/(N - 1)        a - b = k - (1 - k)/(N - 1)

The same holds for any set of values, so two states are exact for every value, every set, and every
predicate; no value is too frequent to be told apart, and W need not be made.

**Variance.** With p = f/N and, as in `view`, sums X, q over the rows of P with s and L, r over the
others, Z = X + L, D = X - Z p:

    Var = [ q a (1 - a) + r b (1 - b) + (1 - k) k / N (D^2 - Z^2 p (1 - p))
            - (1 - k)^2 (1 + k) Z^2 p (1 - p) / N - 2 (1 - k)^2 k Z (1 - 2 p) D / N ] / (a - b)^2

which is f (1 - p) (1 - k) at n = N. docs/theory/frontier.md derives it.

**Common values.** The others have the a of mixed groups. A common value has a larger one, and its
variance is that of random groups with k = a - b. Correcting it with W costs more than elsewhere,
where a value that is not common is near N/ell: the noise of that one comes in. The factor is
computed for a predicate with the shares of the table: with 84% and 4.5% at ell = 10 it is 1.14.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.common import Copies, coarser
from countveil.maths.channel.view import (
    WHOLE_DOMAIN_LIMIT,
    ChannelView,
    Sums,
    keep_probability,
    two_state_weights,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RandomView(ChannelView):
    """Random groups; `keep` is k.

    `effect` is the design effect, where rows publish alike. Not `all_rows` that were drawn may be
    left, or there are more.
    """

    effect: float = field(default=1.0, kw_only=True)
    all_rows: bool = field(default=True, kw_only=True)

    @property
    def complete(self) -> bool:
        """Whether its rows are all that were drawn."""
        return self.all_rows

    @property
    def design_effect(self) -> float:
        """By how much rows that publish alike raise a variance."""
        return self.effect

    @property
    def different(self) -> bool:
        """Not so here."""
        return False

    @cached_property
    def a(self) -> Floats:
        """The a of every value."""
        others = np.maximum(self.published - 1, 0.0)
        return self.keep + (1 - self.keep) * others / max(self.rows - 1, 1)

    @cached_property
    def b(self) -> Floats:
        """The b of every value."""
        return (1 - self.keep) * self.published / max(self.rows - 1, 1)

    @cached_property
    def gap(self) -> Floats:
        """A - b, the same for all values."""
        return np.full(self.published.size, self.keep - (1 - self.keep) / max(self.rows - 1, 1))

    @cached_property
    def identifiable(self) -> NDArray[np.bool_]:
        """All, but in a table of a single group, which tells nothing."""
        return self.gap > 0

    @cached_property
    def informative(self) -> NDArray[np.bool_]:
        """All: no value is harder to tell apart than another."""
        return self.identifiable

    @cached_property
    def weights(self) -> Floats:
        """M[v, u]: two states are exact."""
        weights = two_state_weights(self.gap + self.b, self.b)
        weights[~self.identifiable] = np.nan
        weights.flags.writeable = False
        return weights

    def sum_variance(self, having: Sums, lacking: Sums) -> Floats:
        """Of the unbiased estimate of a sum: over the rows with the value, over the others."""
        (x, q), (others, r) = having, lacking
        squares = (x, self.effect * q), (others, self.effect * r)
        return random_variance(*squares, self.shares, self.rows, self.keep)

    def of_values(self, published: Floats) -> RandomView:
        """The same draw seen of other values: margins, or sets of these."""
        return RandomView(
            self.rows, self.keep, published, None, two_state_holds=True,
            effect=self.effect, all_rows=self.all_rows,
        )  # fmt: skip

    def whole_variance(self, x: Floats) -> Floats:
        """Of the estimate for all rows of the table, when x of them have the value."""
        return x * (1 - x / self.rows) * (1 - self.keep)

    def undone(self, published: Floats, axis: int = -1) -> Floats:
        """M y, without M."""
        moved = np.moveaxis(published, axis, -1)
        missed = moved.sum(axis=-1, keepdims=True) * self.b
        return np.moveaxis((moved - missed) / self._divisor, -1, axis)

    def row_weights(self, counting: Floats, axis: int = -1) -> Floats:
        """M^T c, without M."""
        moved = np.moveaxis(counting, axis, -1)
        return np.moveaxis((moved - (moved @ self.b)[..., None]) / self._divisor, -1, axis)

    @cached_property
    def _divisor(self) -> Floats:
        return np.where(self.identifiable, self.gap, np.nan)

    def sent(self, counts: Floats, axis: int = -1) -> Floats:
        """W^T x, without W."""
        moved = np.moveaxis(counts, axis, -1)
        sent = self.gap * moved + moved.sum(axis=-1, keepdims=True) * self.b
        return np.moveaxis(sent, -1, axis)

    def returned(self, ratios: Floats, axis: int = -1) -> Floats:
        """W r, without W."""
        moved = np.moveaxis(ratios, axis, -1)
        returned = self.gap * moved + (moved @ self.b)[..., None]
        return np.moveaxis(returned, -1, axis)


@dataclass(frozen=True)
class JointView(RandomView):
    """Several columns together: every combination of their values is one value, in a flat grid.

    `shape` is that of the grid. Its axes need not be the columns: `columns` has the number of each
    combination in every column, so that a grid may list only combinations that occur.
    """

    shape: tuple[int, ...]
    columns: tuple[NDArray[np.int64], ...]

    def margin(self, axes: tuple[int, ...]) -> RandomView:
        """Some axes of the grid: their combinations have the same channel, with their shares."""
        left_out = tuple(axis for axis in range(len(self.shape)) if axis not in axes)
        published = self.published.reshape(self.shape).sum(axis=left_out)
        grids = [column.reshape(self.shape) for column in self.columns]
        first = tuple(slice(None) if axis in axes else 0 for axis in range(len(self.shape)))
        kept = [
            grid[first].ravel()
            for grid in grids
            if not any(np.ptp(grid, axis=axis).any() for axis in left_out)
        ]
        if len(kept) == 1:
            return self.of_values(published.ravel())
        return JointView(
            self.rows, self.keep, published.ravel(), None, two_state_holds=True,
            shape=published.shape, columns=tuple(kept), effect=self.effect, all_rows=self.all_rows,
        )  # fmt: skip

    def alone(self, column: int) -> RandomView:
        """One column."""
        counts = np.bincount(self.columns[column], self.published).astype(np.float64)
        return self.of_values(counts)


@dataclass(frozen=True)
class CommonView(ChannelView):
    """Mixed groups in which the values `common` (by number) may fill several places.

    `common_keep` are their chances to be published by a row that has them.
    """

    common: tuple[int, ...]
    common_keep: tuple[float, ...]

    @property
    def different(self) -> bool:
        """Not so here."""
        return False

    @cached_property
    def a(self) -> Floats:
        """The a of every value: for a common one, that of the design."""
        a = np.full(self.published.size, self.keep)
        a[list(self.common)] = self.common_keep
        return a

    @cached_property
    def identifiable(self) -> NDArray[np.bool_]:
        """A common value stands out however frequent it is: few rows publish anything else."""
        return np.where(self.repeated, self.gap > 0, super().identifiable)

    @cached_property
    def informative(self) -> NDArray[np.bool_]:
        """Common values, and those that are so without them."""
        return np.where(self.repeated, self.gap > 0, super().informative)

    @cached_property
    def repeated(self) -> NDArray[np.bool_]:
        """The common values."""
        return np.isin(np.arange(self.published.size), self.common)

    def sum_variance(self, having: Sums, lacking: Sums) -> Floats:
        """Of the unbiased estimate of a sum: over the rows with the value, over the others."""
        with np.errstate(divide="ignore", invalid="ignore"):
            plain = super().sum_variance(having, lacking)
            k = np.clip(self.gap, 1e-9, 1.0)
            repeated = random_variance(having, lacking, self.shares, self.rows, k)
        return np.where(self.repeated, repeated * self._by_corrections, plain)

    @cached_property
    def _by_corrections(self) -> Floats:
        """The factor by which correcting with W raises the variance, for an average predicate."""
        if self.whole is None:
            return np.ones(self.published.size)
        weights = np.where(self.identifiable[:, None], self.weights, 0.0)
        drawn = self.whole @ (weights**2).T - (self.whole @ weights.T) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            single = self.shares * self.a * (1 - self.a) + (1 - self.shares) * self.b * (1 - self.b)
            factor = (self.shares @ drawn) * self.gap**2 / single
        return np.where(np.isfinite(factor), np.maximum(factor, 1.0), 1.0)

    def whole_variance(self, x: Floats) -> Floats:
        """Of the estimate for all rows of the table, when x of them have the value."""
        plain = super().whole_variance(x)
        return np.where(self.repeated, x * (1 - x / self.rows) * (1 - self.gap), plain)


def random_variance(
    having: Sums, lacking: Sums, share: Floats, rows: float, keep: Floats | float
) -> Floats:
    """The variance of a sum in a predicate, with random groups. `keep` is k."""
    (x, q), (others, r) = having, lacking
    total = x + others
    a, b = keep + (1 - keep) * share, (1 - keep) * share
    beyond, spread = x - total * share, share * (1 - share) * total**2
    single = q * a * (1 - a) + r * b * (1 - b)
    pairs = (1 - keep) * keep * (beyond**2 - spread)
    shared = (1 + keep) * spread + 2 * keep * total * (1 - 2 * share) * beyond
    gap = keep - (1 - keep) / max(rows - 1, 1)
    variance: Floats = (single + (pairs - (1 - keep) ** 2 * shared) / rows) / gap**2
    return variance


def random_view(published: NDArray[np.int64], rows: int, ell: int) -> RandomView:
    """The view of a column, or of several together, with random groups."""
    keep = (rows // ell) / rows
    view = RandomView(rows, keep, published.astype(np.float64), None, two_state_holds=True)
    if published.size > WHOLE_DOMAIN_LIMIT:
        return view
    whole = np.diag(view.gap) + view.b
    return RandomView(rows, keep, view.published, whole, two_state_holds=True)


def joint_view(
    published: Floats, rows: int, ell: int, columns: tuple[NDArray[np.int64], ...] | None = None
) -> JointView:
    """The view of columns that were published together, by the counts of their combinations.

    `columns`: the number of every combination in each column, unless the axes are the columns.
    """
    counts = published.astype(np.float64)
    keep = (rows // ell) / rows
    if columns is None:
        columns = tuple(np.unravel_index(np.arange(counts.size), counts.shape))
    return JointView(
        rows, keep, counts.ravel(), None, two_state_holds=True, shape=counts.shape, columns=columns
    )


def common_view(
    published: NDArray[np.int64], rows: int, ell: int, common: tuple[int, ...]
) -> CommonView:
    """The view of a column with common values."""
    keep = keep_probability(rows, ell)
    repeating = np.array(common, np.int64)
    fits = published.size <= WHOLE_DOMAIN_LIMIT
    counts, places = (published, repeating) if fits else coarser(published, repeating)
    copies = Copies.of(counts, ell, places)
    # Published counts may exceed what is eligible by chance.
    most = int(copies.counts.sum()) // ell
    if copies.counts.max(initial=0) > most:
        copies = Copies(np.minimum(copies.counts, most), copies.owner, copies.n_values)
    whole = copies.channel(ell)
    return CommonView(
        rows,
        keep,
        published.astype(np.float64),
        whole if fits else None,
        two_state_holds=True,
        common=common,
        common_keep=tuple(np.diag(whole)[places].tolist()),
    )
