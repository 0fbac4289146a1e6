"""Common values: those that may fill several places of a decoy group.

Enters: counts per value, ell, which values are common. Leaves: the same rows with every common
value split into copies, and W of the values from W of the copies. Must not know: actual groups,
and whether the counts are true ones (the publisher) or published ones (an analyst). Theory:
docs/theory/channel.md, "Common values".

A value with more than N/ell rows has no decoy groups of different values. Its rows are divided
evenly among copies that groups treat as different values, so that it may fill several places, and
a random number of them. The maximum-entropy design of the copies then is that of the values: with
many copies, the places of a common value are a Poisson number, given that the group is full. If
every group had the same number of them, groups would not tell the value from the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.design import design_channel

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

# A value with this share of N/ell is common: values just below N/ell could not be told apart from
# the others either.
COMMON_FROM = 0.5
# Copies of a common value, times ell: no copy has more than N / (2 ell) rows, whatever its share.
_COPIES = 2


@dataclass(frozen=True, slots=True)
class Copies:
    """Rows per copy, and the value that each copy belongs to."""

    counts: Counts
    owner: Counts
    n_values: int

    @classmethod
    def of(cls, counts: Counts, ell: int, common: Counts) -> Copies:
        """Every value of `common` in copies; the others are their own only copy."""
        parts = np.ones(counts.size, np.int64)
        parts[common] = _COPIES * ell
        owner = np.repeat(np.arange(counts.size), parts)
        number = np.arange(owner.size) - np.repeat(np.cumsum(parts) - parts, parts)
        share, more = np.divmod(counts, parts)
        return cls(share[owner] + (number < more[owner]), owner, counts.size)

    def channel(self, ell: int) -> Floats:
        """W of the values: a row is in one of the copies, and publishes any of them."""
        by_copy = design_channel(self.counts, ell)
        published = np.zeros((self.owner.size, self.n_values))
        np.add.at(published.T, self.owner, by_copy.T)
        whole = np.zeros((self.n_values, self.n_values))
        np.add.at(whole, self.owner, published * self.counts[:, None])
        rows = np.bincount(self.owner, self.counts, self.n_values)
        result: Floats = whole / np.maximum(rows, 1)[:, None]
        return result


def frequent_values(counts: Counts, ell: int) -> Counts:
    """The values that should be common."""
    return np.flatnonzero(counts > COMMON_FROM * counts.sum() / ell)


def eligible_with(counts: Counts, ell: int, common: Counts) -> bool:
    """Whether groups exist in which only `common` values fill several places."""
    others = np.delete(counts, common)
    return bool(counts.sum() >= ell and others.max(initial=0) <= counts.sum() // ell)
