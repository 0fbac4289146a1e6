"""Differential privacy by Laplace noise: no rows are published, only answers.

Enters: codes, a budget epsilon, how many queries share it. Leaves: an object that keeps the truth
and answers that many predicates, then none. Must not know: how the noise is drawn: OpenDP does
that, with its own randomness, so no seed repeats it.

Neighbouring tables differ by one person more or less. One query is one predicate: the counts of all
values among its rows. A person is in one of these at most, so the counts together have sensitivity
1, and noise of scale m / epsilon on each of them makes one query cost epsilon / m. (The paper asks
for one count at a time and adds the same noise; answering all values of a predicate at the cost of
one query favours this method.) Answers are whole numbers and may be negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countveil.comparing.baselines.method import Belief, Codes, Floats, Rows, checked, tallies
from countveil.errors import MissingExtraError, QueryError, SettingsError
from countveil.randomness import Randomness

Noise = Callable[[list[int]], Any]


@dataclass(frozen=True)
class Laplace:
    """A total budget of `epsilon` for `queries` predicates."""

    epsilon: float
    queries: int = 100

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and math.isfinite(self.epsilon)):
            raise SettingsError(
                f"epsilon must be a number above 0, such as 0.05; got {self.epsilon!r}."
            )
        if isinstance(self.queries, bool) or not isinstance(self.queries, int) or self.queries < 1:
            raise SettingsError(
                f"The number of queries must be a whole number of at least 1, got {self.queries!r}."
            )

    @property
    def name(self) -> str:
        """With what it depends on."""
        return f"Laplace, eps {self.epsilon:g}"

    @property
    def most_queries(self) -> int:
        """What the budget pays for."""
        return self.queries

    @property
    def scale(self) -> float:
        """The scale of the noise of every count."""
        return self.queries / self.epsilon

    def chances(self, counts: Codes) -> None:
        """No rows are published."""

    def publish(self, codes: Codes, size: int, randomness: Randomness) -> LaplaceAnswers:
        """Keep the truth, ready to answer."""
        del randomness
        counts = checked(codes, size)
        return LaplaceAnswers(codes, counts, self, laplace_noise(self.scale))


def laplace_noise(scale: float) -> Noise:
    """OpenDP's measurement that adds Laplace noise to whole numbers."""
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise MissingExtraError("OpenDP", "study") from error
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    noise: Noise = dp.m.make_laplace(*space, scale=scale)
    return noise


class LaplaceAnswers:
    """Answers to as many predicates as the budget pays for."""

    def __init__(self, codes: Codes, counts: Codes, method: Laplace, noise: Noise) -> None:
        self._codes, self._counts, self._method, self._noise = codes, counts, method, noise
        self._left = method.queries

    @property
    def queries_left(self) -> int:
        """How many predicates may still be asked."""
        return self._left

    def counts(self, rows: Rows) -> Floats:
        """Noisy counts of every value among these rows: one query."""
        counts: Floats = self.counts_of([rows])[0]
        return counts

    def counts_of(self, predicates: Sequence[Rows]) -> Floats:
        """The same for many predicates: one query each."""
        return self._noisy(tallies(self._codes, self._counts.size, predicates))

    def totals(self) -> Floats:
        """Noisy counts of the whole table: one query."""
        counts: Floats = self._noisy(self._counts[None].astype(np.float64))[0]
        return counts

    def belief(self) -> Belief:
        """The most that all answers together may lead to.

        No row is published. The odds between two values of one person change by at most
        exp(2 epsilon): the person leaves with one value and comes back with the other. The bound
        takes all of it, for the true value of every row, against the shares in the table.
        """
        shares = self._counts / self._counts.sum()
        beliefs = np.tile(shares, (shares.size, 1))
        np.fill_diagonal(beliefs, shares * math.exp(min(2 * self._method.epsilon, 700.0)))
        return Belief(beliefs / beliefs.sum(axis=1, keepdims=True), self._codes)

    def _noisy(self, counts: Floats) -> Floats:
        asked = counts.shape[0]
        if asked > self._left:
            raise QueryError(
                f"{asked} {'query was' if asked == 1 else 'queries were'} asked, and of "
                f"{self._method.queries} that the budget allows {self._left} are left. "
                f"The budget is spent: plan for more queries before publishing."
            )
        self._left -= asked
        noisy = self._noise(counts.astype(np.int64).ravel().tolist())
        return np.array(noisy, np.float64).reshape(counts.shape)
