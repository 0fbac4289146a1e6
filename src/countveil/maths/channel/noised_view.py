"""The channel as an analyst can know it, where noise came before the groups.

Enters: the view of the noised table, gamma. Leaves: a `ChannelView` of the true values. Must not
know: true counts, predicates. Theory: docs/theory/odds.md.

A row kept its value with probability 1 - gamma, and otherwise took one of the V values of the
domain. Counts of the noised table are estimated as ever; of n rows with x true ones,

    E[noised] = (1 - gamma) x + gamma n / V,

so the estimate is (noised - gamma n / V) / (1 - gamma). The variance of the noise is that of n
independent rows, and adds to the variance of the groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.view import ChannelView

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NoisedView(ChannelView):
    """What `groups` shows of the noised table, seen through the noise."""

    groups: ChannelView
    gamma: float

    @classmethod
    def of(cls, groups: ChannelView, gamma: float) -> NoisedView:
        """The view of a release with noise; all values of the domain are in `groups`."""
        return cls(
            groups.rows,
            groups.keep,
            groups.published,
            None,
            groups.two_state_holds,
            groups=groups,
            gamma=gamma,
        )

    @property
    def _q(self) -> float:
        return self.gamma / self.published.size

    @cached_property
    def a(self) -> Floats:
        """The a of every value."""
        kept = 1 - self.gamma + self._q
        return kept * self.groups.a + (1 - kept) * self.groups.b

    @cached_property
    def b(self) -> Floats:
        """The b of every value."""
        return self._q * self.groups.a + (1 - self._q) * self.groups.b

    @cached_property
    def gap(self) -> Floats:
        """A - b."""
        return (1 - self.gamma) * self.groups.gap

    @cached_property
    def shares(self) -> Floats:
        """Shares of the true values; a value that noise alone explains has next to none."""
        shares = (self.published / self.rows - self._q) / (1 - self.gamma)
        shares = np.maximum(shares, 0.5 / self.rows)
        normed: Floats = shares / shares.sum()
        return normed

    def of_whole_table(self, y: Floats) -> Floats:
        """The estimate for all rows of the table."""
        return (y - self._q * self.rows) / (1 - self.gamma)

    @cached_property
    def identifiable(self) -> NDArray[np.bool_]:
        """Where the groups tell the value apart."""
        return self.groups.identifiable

    @cached_property
    def informative(self) -> NDArray[np.bool_]:
        """Where the groups are informative."""
        return self.groups.informative

    @cached_property
    def weights(self) -> Floats:
        """M[v, u]: the weight, in the estimate of v, of a row that publishes u."""
        weights = (self.groups.weights - self._q) / (1 - self.gamma)
        weights.flags.writeable = False
        return weights

    def variance(self, x: Floats, n: Floats) -> Floats:
        """Of the unbiased estimate when x of the n rows have the value (the last axis)."""
        kept, q = 1 - self.gamma + self._q, self._q
        expected = kept * x + q * (n - x)
        noise = x * kept * (1 - kept) + (n - x) * q * (1 - q)
        return (self.groups.variance(expected, n) + noise) / (1 - self.gamma) ** 2

    def sent(self, counts: Floats, axis: int = -1) -> Floats | None:
        """How many rows publish each value, if these have it."""
        noised = (1 - self.gamma) * counts + self._q * counts.sum(axis=axis, keepdims=True)
        return self.groups.sent(noised, axis)

    def returned(self, ratios: Floats, axis: int = -1) -> Floats | None:
        """For each true value, the mean of what belongs to the published ones."""
        back = self.groups.returned(ratios, axis)
        if back is None:
            return None
        mixed: Floats = (1 - self.gamma) * back + self._q * back.sum(axis=axis, keepdims=True)
        return mixed
