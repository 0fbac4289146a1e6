"""The paper's iterative Bayes estimate (its sections 7.1 and 7.2).

Enters: published counts of P and of the whole table, N, a of each column, and which b to use.
Leaves: estimated counts of (P, s1, ..., sw), and how many rounds they took. Must not know: SQL.

A row is in one of 2^(w+1) states: in P or not, with the first wanted value or not, and so on. The
state number has one binary digit per question, P first, so with one column 0 to 3 are (not P, not
s), (not P, s), (P, not s), (P, s). Start at the published counts; in each round compute the
transition matrix, the tensor product of one matrix per column, from the current x, then

    x[i] <- sum over j of y[j] * m[i, j] x[i] / sum over r of m[r, j] x[r]

All cells are iterated together; a cell rests once none of its numbers moves any more. The matrix
is never written out: a tensor product is applied one column at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import b_exact, b_printed
from countveil.maths.estimate.estimates import Rounds

Floats = NDArray[np.float64]

PAPER_TOLERANCE = 0.01
# A component that moves by less than this many rows rests, however small it is.
_STILL = 1e-7


@dataclass(frozen=True, slots=True)
class BayesResult:
    """Estimated counts of every cell, and how long that took."""

    estimate: Floats
    rounds: Rounds


def bayes_counts(
    inside: Floats,
    everybody: Floats,
    keeps: Sequence[float],
    *,
    only: NDArray[np.int64] | None = None,
    channel: str = "exact",
    tolerance: float = 1e-8,
    max_iterations: int = 20_000,
) -> BayesResult:
    """Estimate every cell of values (other axes) of every predicate (first axis of `inside`).

    `everybody` are the published counts of the whole table by the same values, all of them. `only`:
    some cells of values, by their number in the flat grid; the result has one column for each.
    `tolerance` is the largest relative change of a component at which a cell rests;
    `PAPER_TOLERANCE` is the paper's 1%, which stops half way.
    """
    published = np.stack([_patterns(everybody[None] - inside), _patterns(inside)])
    published = published.reshape(2 ** (len(keeps) + 1), inside.shape[0], -1)
    if only is not None:
        published = published[:, :, only]
    y = published.reshape(published.shape[0], -1).astype(np.float64)
    rows = float(everybody.sum())
    x = y.copy()
    iterations = np.zeros(x.shape[1], np.int64)
    active = np.arange(x.shape[1])
    while active.size and int(iterations[active[0]]) < max_iterations:
        before = x[:, active]
        after = bayes_step(before, y[:, active], rows, keeps, channel)
        x[:, active] = after
        iterations[active] += 1
        moved = np.abs(after - before) > np.maximum(tolerance * before, _STILL)
        active = active[moved.any(axis=0)]
    converged = np.ones(x.shape[1], bool)
    converged[active] = False
    shape = inside.shape if only is None else published.shape[1:]
    rounds = Rounds(iterations.reshape(shape), converged.reshape(shape))
    return BayesResult(x[-1].reshape(shape), rounds)


def bayes_step(x: Floats, y: Floats, rows: float, keeps: Sequence[float], channel: str) -> Floats:
    """One round: x and y are (states, cells); the transition matrix is computed from x."""
    digits = (2,) * (len(keeps) + 1)
    current = x.reshape(*digits, -1)
    matrices = []
    for axis, keep in enumerate(keeps, start=1):
        with_value = np.take(current, 1, axis).reshape(-1, current.shape[-1]).sum(axis=0)
        printed = channel == "printed"
        b = b_printed(with_value, rows) if printed else b_exact(with_value, rows, keep)
        matrices.append((b, keep))
    expected = current
    for axis, (b, keep) in enumerate(matrices, start=1):
        without, has = np.take(expected, 0, axis), np.take(expected, 1, axis)
        sent = [without * (1 - b) + has * (1 - keep), without * b + has * keep]
        expected = np.stack(sent, axis)
    seen = y.reshape(*digits, -1)
    ratio = np.divide(seen, expected, out=np.zeros_like(expected), where=expected > 0)
    for axis, (b, keep) in enumerate(matrices, start=1):
        other, value = np.take(ratio, 0, axis), np.take(ratio, 1, axis)
        ratio = np.stack([(1 - b) * other + b * value, (1 - keep) * other + keep * value], axis)
    after: Floats = (current * ratio).reshape(x.shape)
    return after


def _patterns(counts: Floats) -> Floats:
    """Rows by which of the wanted values they publish: one axis of two per column, in front."""
    found = counts
    n_columns = counts.ndim - 1
    for column in range(n_columns):
        axis = found.ndim - n_columns + column
        found = np.stack([found.sum(axis=axis, keepdims=True) - found, found], axis=column)
    return found
