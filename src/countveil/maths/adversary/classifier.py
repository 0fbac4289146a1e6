"""A classifier: which value somebody has, guessed from the other columns.

Enters: codes of plain columns, and the likelihood of what was observed under each value. Leaves:
beliefs. Must not know: whether it learns from the truth or from a release.

Multinomial logistic regression: the logarithm of a belief is a sum of one number per level of each
column. If a row's value is known only through a channel, the row counts for every value in
proportion to the belief in it: the gradient of log P(observed | columns) is posterior minus prior
belief. With the truth in place of the channel this is the ordinary gradient. Trained in small
batches (Adam).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.randomness import Stream

Codes = NDArray[np.int64]
Floats32 = NDArray[np.float32]

MOST_LEVELS = 48

_BATCH, _RATE = 2048, 0.05
_LEAST_STEPS, _MOST_STEPS, _EPOCHS = 60, 200, 16
# The precision of the normal prior of the weights, whose standard deviation is about 0.7: with a
# weaker prior, beliefs from few rows are overconfident.
_PULL = 2.0
_MOST_PARAMETERS = 600_000
_PREDICTED = 1 << 14


@dataclass(frozen=True)
class KnownColumn:
    """A column that the adversary knows: few levels, in the order of its values."""

    name: str
    codes: Codes
    n_levels: int

    @classmethod
    def of(cls, name: str, codes: Codes) -> KnownColumn:
        """Many values become classes of neighbours with about equally many rows."""
        n_values = int(codes.max(initial=0)) + 1
        if n_values <= MOST_LEVELS:
            return cls(name, codes, n_values)
        ends = np.cumsum(np.bincount(codes, minlength=n_values))
        level_of = (ends - 1) * MOST_LEVELS // codes.size
        used, levels = np.unique(level_of, return_inverse=True)
        return cls(name, levels[codes], used.size)


class Model:
    """Beliefs about one sensitive column."""

    def __init__(self, columns: Sequence[KnownColumn], shares: NDArray[np.float64]) -> None:
        most = _MOST_PARAMETERS // shares.size
        kept: list[KnownColumn] = []
        for column in sorted(columns, key=lambda c: c.n_levels):
            if sum(c.n_levels for c in kept) + column.n_levels <= most:
                kept.append(column)
        self._columns = kept
        levels = [column.n_levels for column in kept]
        self._starts = np.cumsum([0, *levels])
        self._weights = np.zeros((int(self._starts[-1]) + 1, shares.size), np.float32)
        self._weights[-1] = np.log(np.maximum(shares, 1e-9))

    def learn(
        self, rows: Codes, observed: Codes, channel: NDArray[np.float64], stream: Stream
    ) -> None:
        """Learn from these rows; `channel[u, v]` = P(observed v | true u)."""
        likelihood = np.ascontiguousarray(channel.T.astype(np.float32))
        first, second = np.zeros_like(self._weights), np.zeros_like(self._weights)
        pull = np.full((self._weights.shape[0], 1), _PULL / max(1, rows.size), np.float32)
        pull[-1] = 0
        order, at = stream.permutation(rows.size), 0
        steps = min(_MOST_STEPS, max(_LEAST_STEPS, _EPOCHS * rows.size // _BATCH))
        for step in range(1, steps + 1):
            if at + _BATCH > rows.size:
                order, at = stream.permutation(rows.size), 0
            batch = rows[order[at : at + _BATCH]]
            at += _BATCH
            inputs = self._inputs(batch)
            before = _softmax(inputs @ self._weights)
            after = before * likelihood[observed[batch]]
            after /= np.maximum(after.sum(axis=1, keepdims=True), 1e-30)
            gradient = inputs.T @ (before - after) / batch.size + pull * self._weights
            first += 0.1 * (gradient - first)
            second += 0.01 * (gradient**2 - second)
            rate = _RATE * (1 - step / (steps + 1))
            scale = np.sqrt(second / (1 - 0.99**step)) + 1e-6
            self._weights -= rate * first / (1 - 0.9**step) / scale

    def beliefs(self, rows: Codes) -> Floats32:
        """Prior belief in each value (columns) for these rows."""
        batches = [
            _softmax(self._inputs(rows[start : start + _PREDICTED]) @ self._weights)
            for start in range(0, rows.size, _PREDICTED)
        ]
        return np.concatenate([np.zeros((0, self._weights.shape[1]), np.float32), *batches])

    def _inputs(self, rows: Codes) -> Floats32:
        """One column per level of each plain column, and a constant one."""
        inputs = np.zeros((rows.size, self._weights.shape[0]), np.float32)
        inputs[:, -1] = 1
        for start, column in zip(self._starts.tolist(), self._columns, strict=False):
            inputs[np.arange(rows.size), start + column.codes[rows]] = 1
        return inputs


def cross_fitted(
    columns: Sequence[KnownColumn],
    shares: NDArray[np.float64],
    observed: Codes,
    channel: NDArray[np.float64],
    stream: Stream,
    *,
    asked: Codes,
) -> tuple[Floats32, list[Codes]]:
    """Beliefs about the `asked` rows from models that were not trained on the row in question.

    Two models: each is trained on one half of all rows and asked about the other. Also returns the
    folds: which of the asked rows (by their places) each model was asked about.
    """
    half = stream.below(2, observed.size)
    folds = []
    beliefs = np.zeros((asked.size, shares.size), np.float32)
    for side in (0, 1):
        model = Model(columns, shares)
        model.learn(np.flatnonzero(half != side), observed, channel, stream)
        fold = np.flatnonzero(half[asked] == side)
        beliefs[fold] = model.beliefs(asked[fold])
        folds.append(fold)
    return beliefs, folds


def _softmax(scores: Floats32) -> Floats32:
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores
