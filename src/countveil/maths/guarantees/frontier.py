"""How accurate any way to publish rows can be, given how much it lets a good observer believe.

Enters: a channel W, the shares p of the values. Leaves: the mean belief B, the total variance per
row, the bound on it, and the ratio of the two. Must not know: which method has this channel.
Theory: docs/theory/frontier.md.

Somebody knows the population and has linked a row to its person. After the output o he believes in
the value v with r_o(v) = p[v] W[v, o] / lam_o. B is his mean belief in the true value. Counts of n
rows that look like the population have a total variance of n times

    tr(D R^-1 D) - 1  >=  (1 - h)(1 - B) / (B - h),      h = sum p^2,  R = sum lam_o r_o r_o^T.

Random groups attain the bound; nothing that publishes rows one by one beats it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Eigenvalues below this are rounding: the channel does not tell some values apart.
_SINGULAR = 1e-12


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a channel stands: mean belief, total variance per row, and the least possible one."""

    belief: float
    variance: float
    bound: float

    @property
    def distance(self) -> float:
        """How many times the least possible variance: 1 at the frontier."""
        return self.variance / self.bound if self.bound > 0 else 1.0


def standing(channel: Floats, shares: Floats) -> Standing:
    """The standing of the channel W[true, published] for these shares.

    Values without rows take no part. The variance is infinite where the channel does not tell some
    values apart.
    """
    present = shares > 0
    p, whole = shares[present] / shares[present].sum(), channel[present]
    outputs = p @ whole
    whole, outputs = whole[:, outputs > 0], outputs[outputs > 0]
    # G = D^-1/2 R D^-1/2 has the eigenvalue 1 in the direction of sqrt(p).
    scaled = np.sqrt(p)[:, None] * whole / np.sqrt(outputs)
    values, vectors = np.linalg.eigh(scaled @ scaled.T)
    weights = p @ vectors**2
    belief = float(weights @ values)
    lost = values < _SINGULAR
    variance = np.inf if lost.any() else float(weights @ (1 / values)) - 1
    return Standing(belief, variance, least_variance(p, belief))


def mean_belief(channel: Floats, shares: Floats) -> float:
    """B alone, without the variance: for looking for the parameter of a method."""
    joint = shares[:, None] * channel
    outputs = joint.sum(axis=0)
    there = outputs > 0
    return float(((joint[:, there] ** 2).sum(axis=0) / outputs[there]).sum())


def largest_factor(channel: Floats, shares: Floats) -> float:
    """The largest factor by which an output changes the odds of a value, nobody's values included.

    Against the other values in proportion to their shares, as somebody expects who knows them.
    """
    outputs = shares @ channel
    there = outputs > 0
    mine, rest = channel[:, there], outputs[there] - shares[:, None] * channel[:, there]
    others = np.maximum(rest, 0.0) / np.maximum(1 - shares, 1e-300)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.where(mine > 0, mine / others, 0.0)
    return float(factors.max())


def least_variance(shares: Floats, belief: float) -> float:
    """The least total variance per row of any channel with this mean belief."""
    h = float(shares @ shares)
    if belief <= h:
        return np.inf
    return max(0.0, (1 - h) * (1 - belief) / (belief - h))


def random_channel(shares: Floats, ell: float) -> Floats:
    """W of random groups of ell: own value with probability 1/ell, else that of anybody."""
    whole: Floats = np.eye(shares.size) / ell + (1 - 1 / ell) * shares
    return whole
