"""The paper's iterative Bayes estimate (its sections 7.1 and 7.2).

Enters: published counts of P and of the whole table, N, a of each column, and which b to use.
Leaves: estimated counts of (P, s1, ..., sw), and how many rounds they took. Must not know: SQL.
Theory: docs/theory/estimates.md, "Iterative Bayes".

A row is in one of 2^(w+1) states: in P or not, with the first wanted value or not, and so on. The
state number has one binary digit per question, P first, so with one column 0 to 3 are (not P, not
s), (not P, s), (P, not s), (P, s). Start at the published counts; in each round compute the
transition matrix, the tensor product of one matrix per column, from the current x, then

    x[i] <- sum over j of y[j] * m[i, j] x[i] / sum over r of m[r, j] x[r]

All cells are iterated together; a cell has converged once none of its numbers changes any more. The
matrix is never written out: a tensor product is applied one column at a time.

Where a and b of every value are known from the release, and do not depend on x, the rows outside P
say nothing about those inside: 2^w states are left, and the iteration is the EM algorithm for the
most likely counts under that channel (`counts_of_known_channel`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import b_exact
from countveil.maths.paper.printed import b_printed

Floats = NDArray[np.float64]

PAPER_TOLERANCE = 0.01
# A component that changes by less than this many rows has converged, however small it is.
_NEGLIGIBLE = 1e-7


@dataclass(frozen=True, slots=True)
class Rounds:
    """How many iterations each cell took, and whether it converged."""

    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]

    @classmethod
    def together(cls, several: Sequence[Rounds]) -> Rounds:
        """The rounds of all cells in one value."""
        return cls(
            np.concatenate([np.zeros(0, np.int64), *(r.iterations.ravel() for r in several)]),
            np.concatenate([np.zeros(0, bool), *(r.converged.ravel() for r in several)]),
        )

    def sentences(self) -> list[str]:
        """What an analyst should know about them."""
        if not self.iterations.size:
            return []
        median, mean = np.median(self.iterations), self.iterations.mean()
        most, cells = self.iterations.max(), self.iterations.size
        taken = f"median {median:,.0f}, mean {mean:,.0f}, most {most:,} (cells: {cells:,})"
        sentences = [f"Iterations: {taken}."]
        unfinished = int(np.count_nonzero(~self.converged))
        if unfinished:
            sentences.append(
                f"The iteration was stopped before it converged in {unfinished:,} of {cells:,} "
                f"cells: their values are hard to separate. Method 'shrunk' does not iterate."
            )
        return sentences


@dataclass(frozen=True, slots=True)
class BayesResult:
    """Estimated counts of every cell, and how many rounds they took."""

    estimate: Floats
    rounds: Rounds


def bayes_counts(
    inside: Floats,
    table: Floats,
    keeps: Sequence[float],
    *,
    only: NDArray[np.int64] | None = None,
    channel: str = "exact",
    tolerance: float = 1e-8,
    max_iterations: int = 20_000,
) -> BayesResult:
    """Estimate every cell of values (other axes) of every predicate (first axis of `inside`).

    `table` are the published counts of the whole table by the same values, all of them. `only`:
    some cells of values, by their number in the flat grid; the result has one column for each.
    `tolerance` is the largest relative change of a component at which a cell counts as converged;
    `PAPER_TOLERANCE` is the paper's 1%, which stops half way.
    """
    published = np.stack([_patterns(table[None] - inside), _patterns(inside)])
    published = published.reshape(2 ** (len(keeps) + 1), inside.shape[0], -1)
    if only is not None:
        published = published[:, :, only]
    y = published.reshape(published.shape[0], -1).astype(np.float64)
    rows = float(table.sum())
    shape = inside.shape if only is None else published.shape[1:]

    def step(x: Floats, active: NDArray[np.int64]) -> Floats:
        return bayes_step(x, y[:, active], rows, keeps, channel)

    return _iterated(y, step, shape, tolerance, max_iterations)


def counts_of_known_channel(
    inside: Floats,
    chances: Sequence[tuple[Floats, Floats]],
    only: NDArray[np.int64],
    tolerance: float = 1e-8,
    max_iterations: int = 20_000,
) -> BayesResult:
    """The most likely counts of some cells (`only`, by number in the flat grid) of every predicate.

    `chances` are a and b of every value, for each axis of values.
    """
    shape = (inside.shape[0], only.size)
    y = _patterns(inside).reshape(2 ** len(chances), inside.shape[0], -1)[:, :, only]
    y = y.reshape(y.shape[0], -1).astype(np.float64)
    values = np.unravel_index(only, inside.shape[1:])
    matrices = [
        (np.tile(b[value], shape[0]), np.tile(a[value], shape[0]))
        for (a, b), value in zip(chances, values, strict=True)
    ]

    def step(x: Floats, active: NDArray[np.int64]) -> Floats:
        here = [(b[active], a[active]) for b, a in matrices]
        return _after_round(x, y[:, active], here)

    return _iterated(y, step, shape, tolerance, max_iterations)


def _iterated(
    y: Floats,
    step: Callable[[Floats, NDArray[np.int64]], Floats],
    shape: tuple[int, ...],
    tolerance: float,
    max_iterations: int,
) -> BayesResult:
    """Start at y (states, cells), and iterate every cell until it has converged."""
    x = y.copy()
    iterations = np.zeros(x.shape[1], np.int64)
    active = np.arange(x.shape[1])
    while active.size and int(iterations[active[0]]) < max_iterations:
        before = x[:, active]
        after = step(before, active)
        x[:, active] = after
        iterations[active] += 1
        moved = np.abs(after - before) > np.maximum(tolerance * before, _NEGLIGIBLE)
        active = active[moved.any(axis=0)]
    converged = np.ones(x.shape[1], bool)
    converged[active] = False
    rounds = Rounds(iterations.reshape(shape), converged.reshape(shape))
    return BayesResult(x[-1].reshape(shape), rounds)


def bayes_step(x: Floats, y: Floats, rows: float, keeps: Sequence[float], channel: str) -> Floats:
    """One round: x and y are (states, cells); the transition matrix is computed from x."""
    digits = (2,) * (len(keeps) + 1)
    current = x.reshape(*digits, -1)
    matrices: list[tuple[Floats, Floats | float]] = []
    for axis, keep in enumerate(keeps, start=1):
        with_value = np.take(current, 1, axis).reshape(-1, current.shape[-1]).sum(axis=0)
        printed = channel == "printed"
        b = b_printed(with_value, rows) if printed else b_exact(with_value, rows, keep)
        matrices.append((b, keep))
    return _after_round(x, y, matrices)


def _after_round(x: Floats, y: Floats, matrices: Sequence[tuple[Floats, Floats | float]]) -> Floats:
    """One round with b and a of every column; the last digits of a state are those of columns."""
    digits = (2,) * int(np.log2(x.shape[0]))
    current = x.reshape(*digits, -1)
    first = len(digits) - len(matrices)
    expected = current
    for axis, (b, keep) in enumerate(matrices, start=first):
        without, has = np.take(expected, 0, axis), np.take(expected, 1, axis)
        sent = [without * (1 - b) + has * (1 - keep), without * b + has * keep]
        expected = np.stack(sent, axis)
    observed = y.reshape(*digits, -1)
    ratio = np.divide(observed, expected, out=np.zeros_like(expected), where=expected > 0)
    for axis, (b, keep) in enumerate(matrices, start=first):
        other, value = np.take(ratio, 0, axis), np.take(ratio, 1, axis)
        ratio = np.stack([(1 - b) * other + b * value, (1 - keep) * other + keep * value], axis)
    after: Floats = (current * ratio).reshape(x.shape)
    return after


def _patterns(counts: Floats) -> Floats:
    """Rows by which of the wanted values they publish: one axis of two per column, in front."""
    patterns = counts
    n_columns = counts.ndim - 1
    for column in range(n_columns):
        axis = patterns.ndim - n_columns + column
        others = patterns.sum(axis=axis, keepdims=True) - patterns
        patterns = np.stack([others, patterns], axis=column)
    return patterns
