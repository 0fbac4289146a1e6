"""W of a whole column as it is published, whatever the method.

Enters: counts per value, all of them positive; ell, how groups are formed, which values are common,
how much noise came first. Leaves: the matrix P(published | true). Must not know: actual groups.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.common import Copies
from countveil.maths.channel.design import design_channel
from countveil.maths.channel.greedy import greedy_templates
from countveil.maths.channel.templates import channel_matrix

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def whole_channel(
    counts: Counts,
    ell: int,
    groups: str = "mixed",
    common: Sequence[int] = (),
    gamma: float = 0.0,
) -> Floats:
    """W[true, published]; `gamma` is the chance that a row first took any of the values."""
    if gamma > 0:
        first = np.full((counts.size, counts.size), gamma / counts.size)
        first[np.diag_indices(counts.size)] += 1 - gamma
        noised: Floats = first @ whole_channel(expected_after(counts, gamma), ell, groups, common)
        return noised
    if groups == "random":
        shares = counts / counts.sum()
        random: Floats = np.eye(counts.size) / ell + (1 - 1 / ell) * shares
        return random
    if groups == "anatomy":
        return channel_matrix(greedy_templates(counts, ell))
    if common:
        return Copies.of(counts, ell, np.array(common, np.int64)).channel(ell)
    return design_channel(counts, ell)


def expected_after(counts: Counts, gamma: float) -> Counts:
    """How many rows have each value after the noise, on average; none is without rows."""
    kept = (1 - gamma) * counts + gamma * counts.sum() / counts.size
    rows: Counts = np.maximum(np.rint(kept).astype(np.int64), 1)
    return rows
