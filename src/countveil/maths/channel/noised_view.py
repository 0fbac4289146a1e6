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

from countveil.maths.channel.view import ChannelView, Sums

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NoisedView(ChannelView):
    """What `groups` shows of the noised table, seen through the noise."""

    groups: ChannelView
    gamma: float
    declared: int

    @classmethod
    def of(cls, groups: ChannelView, gamma: float, declared: int) -> NoisedView:
        """The view of a release with noise.

        The first `declared` values are the domain. Others, which a question may name, no row has.
        """
        return cls(
            groups.rows,
            groups.keep,
            groups.published,
            None,
            groups.two_state_holds,
            groups=groups,
            gamma=gamma,
            declared=declared,
        )

    @property
    def corrected(self) -> bool:
        """Whether that of the groups is."""
        return self.groups.corrected

    @property
    def grouped(self) -> tuple[ChannelView, float]:
        """The view of the noised table."""
        return self.groups, 1 - self.gamma

    @property
    def different(self) -> bool:
        """Not so here."""
        return False

    @cached_property
    def _q(self) -> Floats:
        """The chance that noise puts each value in the place of another."""
        numbers = np.arange(self.published.size)
        return np.where(numbers < self.declared, self.gamma / self.declared, 0.0)

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
        weights = (self.groups.weights - self._q[:, None]) / (1 - self.gamma)
        weights.flags.writeable = False
        return weights

    def undone(self, published: Floats, axis: int = -1) -> Floats:
        """M y."""
        noise = published.sum(axis=axis, keepdims=True) * self._along(published.ndim, axis)
        undone: Floats = (self.groups.undone(published, axis) - noise) / (1 - self.gamma)
        return undone

    def sum_variance(self, having: Sums, lacking: Sums) -> Floats:
        """Of the unbiased estimate of a sum: over the rows with the value, over the others."""
        kept, q = 1 - self.gamma + self._q, self._q
        noised = [kept * one + q * other for one, other in zip(having, lacking, strict=True)]
        others = [one + other for one, other in zip(having, lacking, strict=True)]
        others = [both - one for both, one in zip(others, noised, strict=True)]
        noise = having[1] * kept * (1 - kept) + lacking[1] * q * (1 - q)
        groups = self.groups.sum_variance((noised[0], noised[1]), (others[0], others[1]))
        return (groups + noise) / (1 - self.gamma) ** 2

    def whole_variance(self, x: Floats) -> Floats:
        """Of the estimate for all rows of the table, when x of them have the value."""
        kept, q, others = 1 - self.gamma + self._q, self._q, self.rows - x
        noise = x * kept * (1 - kept) + others * q * (1 - q)
        groups = self.groups.whole_variance(kept * x + q * others)
        return (groups + noise) / (1 - self.gamma) ** 2

    def sent(self, counts: Floats, axis: int = -1) -> Floats | None:
        """How many rows publish each value, if these have it."""
        noise = counts.sum(axis=axis, keepdims=True) * self._along(counts.ndim, axis)
        return self.groups.sent((1 - self.gamma) * counts + noise, axis)

    def returned(self, ratios: Floats, axis: int = -1) -> Floats | None:
        """For each true value, the mean of what belongs to the published ones."""
        back = self.groups.returned(ratios, axis)
        if back is None:
            return None
        noise = (back * self._along(back.ndim, axis)).sum(axis=axis, keepdims=True)
        mixed: Floats = (1 - self.gamma) * back + noise
        return mixed

    def _along(self, dimensions: int, axis: int) -> Floats:
        """The chances of noise, laid along one axis."""
        shape = [1] * dimensions
        shape[axis] = -1
        return self._q.reshape(shape)
