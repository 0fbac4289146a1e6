"""Which values are in the group of a row, beside its own.

Enters: the chances of a channel in which groups hold different values. Leaves: the numbers with
which rows fill the places beside others, as covariances need them. Must not know: predicates,
estimates. Theory: docs/theory/covariance.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_HAJEK_STEPS = 10


@dataclass(frozen=True)
class ValuesBeside:
    """By value.

    `sampled` is Hajek's d of a place beside a row; `alone` the part of it that is never beside a
    row with the same value; `slopes` how strongly a value comes to be beside others as its count
    grows.
    """

    sampled: Floats
    alone: Floats
    slopes: Floats

    @classmethod
    def of(
        cls, beside: Floats, shares: Floats, size: float, common: NDArray[np.bool_]
    ) -> ValuesBeside:
        """From b times ell, the shares in the table, ell, and which values may repeat in a group.

        Groups are an exponential family. Its parameters move by dg ell / (N d0), with d0 of a group
        of which nothing is known, and chances by these times d.
        """
        beside = np.clip(beside, 0.0, size - 1)
        wanted = beside * np.clip(1 - beside / np.where(common, size - 1, 1.0), 0.0, 1.0)
        d = _hajek(wanted, np.where(common, 0.0, shares))
        mean = np.clip(shares * size, 0.0, size)
        unknown = mean * np.clip(1 - mean / np.where(common, size, 1.0), 0.0, 1.0)
        everywhere = _hajek(unknown, np.zeros(mean.size))
        return cls(d, np.where(common, 0.0, d), d / np.maximum(everywhere, 1e-12))


def _hajek(wanted: Floats, left_out: Floats) -> Floats:
    """Give d with the variances d - d^2 / sum(d); the sum is without `left_out`."""
    d = wanted.copy()
    for _ in range(_HAJEK_STEPS):
        d = wanted / np.maximum(1 - d / max(float(d.sum() - left_out @ d), 1e-12), 0.3)
    return d
