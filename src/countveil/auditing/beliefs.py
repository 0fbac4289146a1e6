"""Exact Bayes for one linked row at a time, and what it should achieve.

Enters: prior beliefs, the channel, true and published values of rows. Leaves: guesses, posterior
beliefs, expected and measured successes. Must not know: where the priors come from.

**What to expect.** Given how many rows with true value u publish v (for all u and v), the
mechanism deals the published values of the rows with u to these rows in a uniformly random order,
whoever they are. So for a guess that is a function of the row's published value and of anything
else (priors, other rows, other columns), the expected number of correct guesses is known exactly:
it is what the guesses would achieve on average over all such orders. More than that, beyond chance,
means that a published value reveals more about its person than the channel allows.

**What is chance.** Take the rows of a true value one by one. What is left to deal is known, and so
is the chance that the next guess is correct; a bet on it is fair (`chance.bet`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.auditing.chance import bet
from countveil.auditing.target import AttackedColumn, Codes

Floats = NDArray[np.float64]

_WORK, _CELLS = 250_000_000, 4_000_000
_LEAST_ROWS, _MANY_ROWS = 400, 100_000
_CHUNK_NUMBERS = 1 << 22


@dataclass(frozen=True)
class Score:
    """Successes among `rows` guesses."""

    successes: int
    rows: int
    expected: float
    p_value: float


@dataclass(frozen=True)
class Beliefs:
    """For every row and every value that it might publish: the best guess, and the belief in it."""

    guess: NDArray[np.int32]
    belief: NDArray[np.float32]


def attacked_rows(column: AttackedColumn, linked: int) -> int:
    """How many rows can be attacked with every value that they might publish."""
    most = _WORK // column.n_values**2
    if most < _MANY_ROWS and _meets_all_alike(column):
        most = min(_MANY_ROWS, _CELLS // column.n_values)
    return min(linked, max(_LEAST_ROWS, most))


def _meets_all_alike(column: AttackedColumn) -> bool:
    """Whether what a row publishes depends on its value in one place only: random groups."""
    return column.groups == "random" and column.odds is None


def beliefs_after(before: NDArray[np.float32], column: AttackedColumn) -> Beliefs:
    """Posterior beliefs after each value that the column might publish."""
    if _meets_all_alike(column):
        return _published_or_likeliest(before, column.view.gap, column.view.b)
    return update(before, column.channel)


def _published_or_likeliest(before: NDArray[np.float32], gap: Floats, b: Floats) -> Beliefs:
    """P(v | u) = b[v], and gap[v] more if u = v: v is the best guess, or what was before."""
    guess = np.repeat(before.argmax(axis=1)[:, None].astype(np.int32), b.size, axis=1)
    most = before.max(axis=1)
    belief = np.empty(before.shape, np.float32)
    for value in range(b.size):
        published = before[:, value] * (gap[value] + b[value])
        other, total = most * b[value], before[:, value] * gap[value] + b[value]
        guess[published > other, value] = value
        belief[:, value] = np.maximum(published, other) / np.maximum(total, 1e-30)
    return Beliefs(guess, belief)


def update(before: NDArray[np.float32], channel: Floats) -> Beliefs:
    """Posterior beliefs after each possible published value, by any channel."""
    n_rows, n_values = before.shape
    guess = np.zeros((n_rows, channel.shape[1]), np.int32)
    belief = np.zeros((n_rows, channel.shape[1]), np.float32)
    step = max(1, _CHUNK_NUMBERS // n_values)
    columns = np.ascontiguousarray(channel.T.astype(np.float32))
    for start in range(0, n_rows, step):
        some = before[start : start + step]
        rows = slice(start, start + some.shape[0])
        total = some @ columns.T
        for value, likelihood in enumerate(columns):
            joint = some * likelihood
            best = joint.argmax(axis=1)
            guess[rows, value] = best
            belief[rows, value] = np.take_along_axis(joint, best[:, None], axis=1)[:, 0]
        belief[rows] /= np.maximum(total, 1e-30)
    return Beliefs(guess, belief)


def dealt_chances(column: AttackedColumn) -> Floats:
    """How often rows with each true value publish each value, among the rows at hand."""
    table = column.pairs()
    chances: Floats = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    return chances


def score(right: NDArray[np.bool_], column: AttackedColumn, folds: Sequence[Codes] = ()) -> Score:
    """`right[i, v]`: would the guess about row i be counted as right if it published v?

    A guess must not depend on what other rows of the same score publish. If it was learnt from the
    release, give the `folds`, the sets of rows that one model was asked about; each is scored by
    itself.
    """
    if folds:
        each = [score(right[rows], column.rows_at(rows)) for rows in folds if rows.size]
        return Score(
            sum(fold.successes for fold in each),
            sum(fold.rows for fold in each),
            sum(fold.expected for fold in each),
            min(1.0, len(each) * min(fold.p_value for fold in each)),
        )
    chances = dealt_chances(column)
    expected = 0.0
    step = max(1, _CHUNK_NUMBERS // column.n_values)
    for start in range(0, column.truth.size, step):
        rows = slice(start, start + step)
        expected += float(chances[column.truth[rows]][right[rows]].sum())
    happened = right[np.arange(column.truth.size), column.released]
    p_value = bet(happened, _chances_in_turn(right, column), both_ways=False)
    return Score(int(happened.sum()), column.truth.size, expected, p_value)


def _chances_in_turn(right: NDArray[np.bool_], column: AttackedColumn) -> Floats:
    """The chance that each guess is right, given what earlier rows of its true value publish."""
    chances = np.zeros(column.truth.size)
    order = np.argsort(column.truth, kind="stable")
    ends = np.cumsum(np.bincount(column.truth, minlength=column.n_values))
    for rows in np.split(order, ends[:-1]):
        dealt = np.zeros((rows.size + 1, column.n_values), np.int32)
        dealt[np.arange(1, rows.size + 1), column.released[rows]] = 1
        np.cumsum(dealt, axis=0, out=dealt)
        left = dealt[-1] - dealt[:-1]
        chances[rows] = (left * right[rows]).sum(axis=1) / np.arange(rows.size, 0, -1)
    return chances
