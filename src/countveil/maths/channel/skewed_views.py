"""The channel as an analyst can know it, where groups may hold a value more than once.

Enters: what a release publishes. Leaves: a `ChannelView` for random groups, or for mixed groups
with common values. Must not know: true counts, predicates, errors. Theory: docs/theory/channel.md,
"Random groups" and "Common values".

**Random groups.** A row publishes its own place of the group with probability k = groups / N, and
otherwise the value of some other row of the table, each as likely:

    a = k + (1 - k)(f - 1)/(N - 1)        b = (1 - k) f/(N - 1)        a - b = k - (1 - k)/(N - 1)

The same holds for any set of values, so two states are exact for every value, every set, and every
predicate; no value is too frequent to be told apart, and W need not be made.

**Common values.** The others have the a of mixed groups. A common value has a larger one, and its
variance is that of random groups with k = a - b.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.common import Copies
from countveil.maths.channel.variance import random_variance, unbiased_variance
from countveil.maths.channel.view import (
    WHOLE_DOMAIN_LIMIT,
    ChannelView,
    keep_probability,
    two_state_weights,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RandomView(ChannelView):
    """Random groups; `keep` is k."""

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

    def variance(self, x: Floats, n: Floats) -> Floats:
        """Of the unbiased estimate when x of the n rows have the value (the last axis)."""
        return random_variance(x, n, self.published, self.rows, self.keep)

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
class CommonView(ChannelView):
    """Mixed groups in which the values `common` (by number) may fill several places."""

    common: tuple[int, ...]

    @cached_property
    def a(self) -> Floats:
        """The a of every value: for a common one, that of the design."""
        a = np.full(self.published.size, self.keep)
        if self.whole is not None:
            numbers = list(self.common)
            a[numbers] = np.diag(self.whole)[numbers]
        return a

    @cached_property
    def identifiable(self) -> NDArray[np.bool_]:
        """A common value stands out however frequent it is: few rows publish anything else."""
        return np.where(self._is_common, self.gap > 0, super().identifiable)

    @cached_property
    def informative(self) -> NDArray[np.bool_]:
        """Common values, and those that are so without them."""
        return np.where(self._is_common, self.gap > 0, super().informative)

    @cached_property
    def _is_common(self) -> NDArray[np.bool_]:
        return np.isin(np.arange(self.published.size), self.common)

    def variance(self, x: Floats, n: Floats) -> Floats:
        """Of the unbiased estimate when x of the n rows have the value (the last axis)."""
        f, rows, is_common = self.published, self.rows, self._is_common
        with np.errstate(divide="ignore", invalid="ignore"):
            plain = unbiased_variance(x, n, f, rows, self.keep)
            repeated = random_variance(x, n, f, rows, np.clip(self.gap, 1e-9, 1.0))
        return np.where(is_common, repeated, plain)


def random_view(published: NDArray[np.int64], rows: int, ell: int) -> RandomView:
    """The view of a column, or of several together, with random groups."""
    keep = (rows // ell) / rows
    view = RandomView(rows, keep, published.astype(np.float64), None, two_state_holds=True)
    if published.size > WHOLE_DOMAIN_LIMIT:
        return view
    whole = np.diag(view.gap) + view.b
    return RandomView(rows, keep, view.published, whole, two_state_holds=True)


def common_view(
    published: NDArray[np.int64], rows: int, ell: int, common: tuple[int, ...]
) -> CommonView:
    """The view of a column with common values."""
    keep = keep_probability(rows, ell)
    copies = Copies.of(published, ell, np.array(common, np.int64))
    # Published counts may exceed what is eligible by chance.
    most = int(copies.counts.sum()) // ell
    if copies.counts.max(initial=0) > most:
        copies = Copies(np.minimum(copies.counts, most), copies.owner, copies.n_values)
    whole = copies.channel(ell)
    return CommonView(
        rows, keep, published.astype(np.float64), whole, two_state_holds=True, common=common
    )
