"""Where the iteration of one sensitive column comes to rest, without its thousands of rounds.

Enters: what `iteration` takes, for one column. Leaves: the same estimates, at the limit itself.
Must not know: SQL. Theory: docs/theory/estimates.md, "Iterative Bayes".

At rest, for the b of that moment, the rows with s inside P and outside of it are the most likely
ones: (y - n b)/(a - b), moved to 0 or n where that lies outside. b depends on their sum f alone. So
f solves one equation, f = inside(b(f)) + outside(b(f)), whose right side falls as f grows while
a > b: there is one solution at most, and Newton's method inside a bracket finds it. Where a > b
does not hold, or the bracket ends before the solution, the cell is iterated as in the paper.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import b_exact
from countveil.maths.paper.iteration import (
    BayesResult,
    Rounds,
    bayes_counts,
    counts_of_known_channel,
)
from countveil.maths.paper.printed import b_printed

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

_MOST_ROUNDS = 100
_TOLERANCE = 1e-13


def resting_counts(
    inside: Floats, table: Floats, keep: float, only: Numbers, channel: str = "exact"
) -> BayesResult:
    """As `bayes_counts` for one column and these values, with an unlimited number of rounds."""
    n = inside.sum(axis=1, keepdims=True)
    rows = float(table.sum())
    y = inside[:, only].astype(np.float64)
    sides = [(y, n + 0 * y), (table[only] - y, rows - n + 0 * y)]
    # Published counts are the start of the iteration, and for most cells its end.
    total, rounds, solved = _total(sides, rows, keep, channel)
    b = _b(total, rows, keep, channel)[0]
    estimate = np.where(solved, _most_likely(*sides[0], keep, b), 0.0)
    result = BayesResult(estimate, Rounds(rounds, np.ones(y.shape, bool)))
    unsolved = np.flatnonzero(~solved.all(axis=0))
    if unsolved.size:
        slow = bayes_counts(inside, table, [keep], only=only[unsolved], channel=channel)
        result = _replaced(result, slow, unsolved, ~solved[:, unsolved])
    return result


def resting_counts_of_known_channel(
    inside: Floats, chances: tuple[Floats, Floats], only: Numbers
) -> BayesResult:
    """As `counts_of_known_channel` for one column, with an unlimited number of rounds."""
    a, b = (chance[only] for chance in chances)
    y = inside[:, only].astype(np.float64)
    n = inside.sum(axis=1, keepdims=True) + 0 * y
    solved = a > b
    estimate = np.where(solved, _most_likely(y, n, np.where(solved, a, b + 1), b), 0.0)
    result = BayesResult(estimate, Rounds(np.ones(y.shape, np.int64), np.ones(y.shape, bool)))
    unsolved = np.flatnonzero(~solved)
    if unsolved.size:
        slow = counts_of_known_channel(inside, [chances], only[unsolved])
        result = _replaced(result, slow, unsolved, np.ones((y.shape[0], unsolved.size), bool))
    return result


def _total(
    sides: list[tuple[Floats, Floats]], rows: float, keep: float, channel: str
) -> tuple[Floats, Numbers, NDArray[np.bool_]]:
    """F of every cell, how many rounds it took, and where there is one."""
    f: Floats = sides[0][0] + sides[1][0]
    # Below `highest`, a > b.
    highest = keep * rows * (1 - 1e-12)
    low, high = np.zeros_like(f), np.full_like(f, highest)
    solved = (f < highest) & (_excess(high, sides, rows, keep, channel)[0] < 0)
    rounds = np.ones(f.shape, np.int64)
    f = np.minimum(f, highest)
    moving = solved.copy()
    for _ in range(_MOST_ROUNDS):
        excess, slope = _excess(f, sides, rows, keep, channel)
        moving &= np.abs(excess) > _TOLERANCE * rows
        if not moving.any():
            break
        low, high = np.where(excess > 0, f, low), np.where(excess > 0, high, f)
        newton = f - excess / slope
        within = (newton > low) & (newton < high)
        f = np.where(moving, np.where(within, newton, (low + high) / 2), f)
        rounds += moving
    return f, rounds, solved & ~moving


def _excess(
    f: Floats, sides: list[tuple[Floats, Floats]], rows: float, keep: float, channel: str
) -> tuple[Floats, Floats]:
    """The most likely counts of both sides less f, and the slope of that, which is -1 or less."""
    b, slope_of_b = _b(f, rows, keep, channel)
    excess, slope = -f, np.full_like(f, -1.0)
    for y, n in sides:
        count = _most_likely(y, n, keep, b)
        excess = excess + count
        inner = (count > 0) & (count < n)
        slope = slope + np.where(inner, (y - n * keep) / (keep - b) ** 2 * slope_of_b, 0.0)
    return excess, slope


def _b(f: Floats, rows: float, keep: float, channel: str) -> tuple[Floats, Floats]:
    """B for f rows with the value, and its slope."""
    if channel == "printed":
        return b_printed(f, rows), np.full_like(f, 1 / rows)
    return b_exact(f, rows, keep), (1 - keep) * rows / (rows - f) ** 2


def _most_likely(y: Floats, n: Floats, a: Floats | float, b: Floats) -> Floats:
    return np.clip((y - n * b) / (a - b), 0.0, n)


def _replaced(
    result: BayesResult, slow: BayesResult, places: Numbers, which: NDArray[np.bool_]
) -> BayesResult:
    """The result with some cells of another, whose columns have these places."""
    pairs = [
        (result.estimate, slow.estimate),
        (result.rounds.iterations, slow.rounds.iterations),
        (result.rounds.converged, slow.rounds.converged),
    ]
    for array, other in pairs:
        array[:, places] = np.where(which, other, array[:, places])
    return result
