"""Counts through a channel and back, at the cost that the form of the channel allows.

Enters: K[u, v] = P(publish v | true u), counts by value. Leaves: what is expected to be published,
means over what is published, the unbiased answer. Must not know: what is estimated from them.

Randomised response and the invariant PRAM are of one form: a row keeps its value with some extra
probability, and otherwise publishes one that does not depend on it,

    K = gap I + 1 others,

so all of this takes as many steps as there are values, and not their square. With two columns taken
together there are hundreds or thousands of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from countveil.comparing.baselines.method import Floats

_INVERTIBLE, _ROUNDING = 1e8, 1e-12


class Through(Protocol):
    """A channel, for lines of counts."""

    def sent(self, x: Floats) -> Floats:
        """How many rows are expected to publish each value, if these have it."""

    def returned(self, ratios: Floats) -> Floats:
        """For each true value, the mean of what belongs to the published ones."""

    def undone(self, y: Floats) -> Floats | None:
        """The counts of which these are what is expected; None if there is no such answer."""


@dataclass(frozen=True)
class Kept:
    """K = gap I + 1 others."""

    gap: float
    others: Floats

    def sent(self, x: Floats) -> Floats:
        """As many steps as values."""
        sent: Floats = self.gap * x + x.sum(axis=1, keepdims=True) * self.others
        return sent

    def returned(self, ratios: Floats) -> Floats:
        """As many steps as values."""
        returned: Floats = self.gap * ratios + (ratios @ self.others)[:, None]
        return returned

    def undone(self, y: Floats) -> Floats | None:
        """The rows of K add up to 1, so the counts add up to as many rows."""
        if self.gap < 1 / _INVERTIBLE:
            return None
        undone: Floats = (y - y.sum(axis=1, keepdims=True) * self.others) / self.gap
        return undone


@dataclass(frozen=True)
class AnyChannel:
    """A channel of no special form."""

    channel: Floats

    def sent(self, x: Floats) -> Floats:
        """A product with the matrix."""
        sent: Floats = x @ self.channel
        return sent

    def returned(self, ratios: Floats) -> Floats:
        """A product with the matrix."""
        returned: Floats = ratios @ self.channel.T
        return returned

    def undone(self, y: Floats) -> Floats | None:
        """The solution of as many equations as values."""
        if np.linalg.cond(self.channel) >= _INVERTIBLE:
            return None
        return np.linalg.solve(self.channel.T, y.T).T.astype(np.float64)


def through(channel: Floats) -> Through:
    """The channel, in the form that it has."""
    if channel.shape[0] < 2:
        return AnyChannel(channel)
    others = np.append(channel[1, :1], channel[0, 1:])
    gap = float(channel[0, 0] - others[0])
    kept = Kept(gap, others)
    apart = channel - others
    apart[np.diag_indices_from(apart)] -= gap
    if gap >= 0 and np.abs(apart).max() < _ROUNDING:
        return kept
    return AnyChannel(channel)
