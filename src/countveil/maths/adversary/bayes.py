"""Bayes' rule for rows whose published values are known, in one release or in several.

Enters: beliefs before, P(published | true) as `published_chances` gives it, what rows publish.
Leaves: beliefs after. Must not know: whose rows they are, where the beliefs before come from.

Releases that were drawn independently are independent evidence: their likelihoods multiply.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

# A chance of nothing is not believed: the channel is fitted to a release, and has errors.
_LEAST_CHANCE = 1e-9


def log_evidence(chances: Floats, published: Codes) -> Floats:
    """Logarithm of P(published | true) for every row (rows) and true value (columns)."""
    evidence: Floats = np.log(np.maximum(chances, _LEAST_CHANCE))[:, published].T
    return evidence


def beliefs_after(prior: Floats, evidence: Iterable[tuple[Floats, Codes]]) -> Floats:
    """Beliefs by row and value, for rows that were published in each of these releases.

    `prior` has a belief per value, for all rows or for each. A release is its P(published | true)
    and what every row publishes in it.
    """
    with np.errstate(divide="ignore"):
        beliefs = np.log(np.atleast_2d(prior))
    for chances, published in evidence:
        beliefs = beliefs + log_evidence(chances, published)
    beliefs = np.exp(beliefs - beliefs.max(axis=1, keepdims=True))
    normal: Floats = beliefs / beliefs.sum(axis=1, keepdims=True)
    return normal


def guess_after(
    guess: Floats, value: int, shares: Floats, chances: Floats
) -> tuple[Floats, Floats]:
    """What becomes of guesses at a value, by somebody who knows of the others their shares alone.

    The first is the belief after the row published the value, the second after it published
    another one.
    """
    others = np.where(np.arange(shares.size) == value, 0.0, shares)
    kept, met = float(chances[value, value]), float(others @ chances[:, value] / others.sum())
    return _updated(guess, kept, met), _updated(guess, 1 - kept, 1 - met)


def _updated(guess: Floats, if_true: float, if_not: float) -> Floats:
    joint = guess * if_true
    after: Floats = joint / (joint + (1 - guess) * if_not)
    return after
