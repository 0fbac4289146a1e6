"""The paper's iterative Bayes estimate for one sensitive attribute (its section 7.1).

Enters: y[p, v], n[p], the published histogram, N, a, and which b to use. Leaves: x[p, v] and how
many iterations it took. Must not know: SQL.

Four states: (not P, not s), (not P, s), (P, not s), (P, s), numbered 0 to 3. Start at the published
counts; in each round compute the transition probabilities from the current x, then

    x[i] <- sum over j of y[j] * a[i, j] x[i] / sum over r of a[r, j] x[r]

All cells are iterated together; a cell rests once none of its four numbers moves any more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.channel import b_exact, b_printed

Floats = NDArray[np.float64]

PAPER_TOLERANCE = 0.01
# A component that moves by less than this many rows rests, however small it is.
_STILL = 1e-7


@dataclass(frozen=True, slots=True)
class BayesResult:
    """Estimated counts of (P, s), rounds per cell, and whether each cell came to rest."""

    estimate: Floats
    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]


def bayes_counts(
    y: Floats,
    n: Floats,
    published: Floats,
    rows: float,
    keep: float,
    *,
    channel: str = "exact",
    tolerance: float = 1e-8,
    max_iterations: int = 20_000,
) -> BayesResult:
    """Estimate (P, s) for every predicate (rows of y) and value (columns).

    `tolerance` is the largest relative change of a component at which a cell rests;
    `PAPER_TOLERANCE` is the paper's 1%, which stops half way.
    """
    shape = y.shape
    states = np.stack(
        [
            rows - n[:, None] - (published - y),
            published - y,
            n[:, None] - y,
            y,
        ]
    ).reshape(4, -1)
    x = states.copy()
    iterations = np.zeros(x.shape[1], np.int64)
    active = np.arange(x.shape[1])
    while active.size and int(iterations[active[0]]) < max_iterations:
        before = x[:, active]
        after = bayes_step(before, states[:, active], rows, keep, channel)
        x[:, active] = after
        iterations[active] += 1
        moved = np.abs(after - before) > np.maximum(tolerance * before, _STILL)
        active = active[moved.any(axis=0)]
    converged = np.ones(x.shape[1], bool)
    converged[active] = False
    return BayesResult(x[3].reshape(shape), iterations.reshape(shape), converged.reshape(shape))


def bayes_step(x: Floats, y: Floats, rows: float, keep: float, channel: str) -> Floats:
    """One round: x and y are (4, cells); the transition matrix is computed from x."""
    with_s = x[1] + x[3]
    b = b_printed(with_s, rows) if channel == "printed" else b_exact(with_s, rows, keep)
    after = np.empty_like(x)
    for without, has in ((0, 1), (2, 3)):
        as_other = x[without] * (1 - b) + x[has] * (1 - keep)
        as_s = x[without] * b + x[has] * keep
        ratio_other = np.divide(y[without], as_other, out=np.zeros_like(b), where=as_other > 0)
        ratio_s = np.divide(y[has], as_s, out=np.zeros_like(b), where=as_s > 0)
        after[without] = x[without] * ((1 - b) * ratio_other + b * ratio_s)
        after[has] = x[has] * ((1 - keep) * ratio_other + keep * ratio_s)
    return after
