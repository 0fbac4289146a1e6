"""What every method must do: publish, answer counts, and say what a linked row reveals.

Enters: the true value of every row as a code, a source of randomness. Leaves: what the method
publishes, which answers counts over any predicate of the other columns, and a `Belief`. Must not
know: columns, values, files.

A method is a small frozen value with its parameters. What it publishes may be asked any number of
times unless `most_queries` limits it: noise that is added to answers costs budget with every
answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from countveil.errors import InputError
from countveil.randomness import Randomness

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
# The rows of a predicate: a mask over all rows, or their numbers.
Rows = NDArray[np.bool_] | Codes


@dataclass(frozen=True)
class Belief:
    """What somebody who links a row to a person believes of the person's true value.

    The row shows an outcome (a published value, a group): `outcome[i]` is that of row i, and
    `posterior[o]` the beliefs in all values after outcome o, by Bayes, with the shares of the
    values in the table as prior.
    """

    posterior: Floats
    outcome: Codes

    def in_truth(self, codes: Codes) -> Floats:
        """Of each row, the belief in its true value."""
        beliefs: Floats = self.posterior[self.outcome, codes]
        return beliefs

    def candidates(self) -> Floats:
        """Of each row, among how many values the true one hides: the perplexity of the belief."""
        known = np.where(self.posterior > 0, self.posterior, 1.0)
        left: Floats = np.exp(-(known * np.log(known)).sum(axis=1))
        return left[self.outcome]


class PublishedAnswers(Protocol):
    """What has been published, and how counts are estimated from it."""

    def counts(self, rows: Rows) -> Floats:
        """The estimated count of every value among the rows of a predicate."""

    def counts_of(self, predicates: Sequence[Rows]) -> Floats:
        """The same for many predicates at once: one line each."""

    def totals(self) -> Floats:
        """The estimated count of every value in the whole table: the attribute alone."""

    def belief(self) -> Belief:
        """What a linked row reveals."""


class PublishingMethod(Protocol):
    """A way to publish."""

    @property
    def name(self) -> str:
        """What to call it in a table."""

    @property
    def most_queries(self) -> int | None:
        """How many predicates may be asked of one publication; None if any number."""

    def chances(self, counts: Codes) -> Floats | None:
        """P(outcome of a row | true value) in a table with these counts; None without rows."""

    def publish(self, codes: Codes, size: int, randomness: Randomness) -> PublishedAnswers:
        """Publish rows with these true values, each one of 0 .. size - 1."""


def checked(codes: Codes, size: int) -> Codes:
    """The histogram of the codes; refuses what no method could publish."""
    if size < 2:
        raise InputError(
            f"The sensitive column has {size} different value{'s' * (size != 1)}: there is nothing "
            f"to hide among. At least 2 are needed."
        )
    if codes.size == 0:
        raise InputError("The table has no rows, so there is nothing to publish.")
    if codes.min() < 0 or codes.max() >= size:
        raise ValueError(f"codes must lie in 0 .. {size - 1}")
    return np.bincount(codes, minlength=size)


def tallies(codes: Codes, size: int, predicates: Sequence[Rows]) -> Floats:
    """How many rows of each predicate (lines) have each code (columns)."""
    lines = [np.bincount(codes[rows], minlength=size) for rows in predicates]
    return np.array(lines, np.float64).reshape(len(lines), size)


def posterior(channel: Floats, shares: Floats) -> Floats:
    """Belief in each true value (columns) after each published one (lines), by Bayes.

    `channel[u, v]` = P(published v | true u). A value that no row could publish changes nothing.
    """
    joint = (channel * shares[:, None]).T
    total = joint.sum(axis=1, keepdims=True)
    beliefs: Floats = np.where(total > 0, joint / np.maximum(total, 1e-300), shares)
    return beliefs
