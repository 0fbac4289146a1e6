"""k-ary randomised response: local differential privacy for one value of a domain.

Enters: codes, epsilon. Leaves: published codes with a channel that everybody knows. Must not know:
other columns.

A row keeps its value with probability exp(epsilon) / (exp(epsilon) + V - 1), and otherwise
publishes any other one, all equally likely. That is mechanism A with another parameter for p.

**Matched to decoy groups of ell.** There, a published value is true with probability 1/ell,
whichever value it is. Here this depends on the value:

- `average`: over all rows the published value is true with probability p, so p = 1/ell:
  epsilon = log((V - 1) / (ell - 1)). It is then mechanism A as the paper compares it.
- `largest`: no published value is believed by more than 1/ell. The most frequent one, with the
  share t, is believed most: epsilon = log((1 - t) / (t (ell - 1))).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from countveil.comparing.baselines.known_channel import (
    RandomisedTable,
    check_estimate,
    randomise,
    uniform_channel,
)
from countveil.comparing.baselines.method import Codes, Floats, checked
from countveil.errors import IneligibleError, SettingsError
from countveil.randomness import Randomness

MATCHES = ("average", "largest")


@dataclass(frozen=True)
class RandomisedResponse:
    """Randomised response over the whole domain; 0 < epsilon."""

    epsilon: float
    estimate: str = "bayes"
    label: str = "randomised response"

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and math.isfinite(self.epsilon)):
            raise SettingsError(
                f"epsilon must be a number above 0, such as 1.5; got {self.epsilon!r}."
            )
        check_estimate(self.estimate)

    @classmethod
    def matched(
        cls, counts: Codes, ell: int, by: str = "average", estimate: str = "bayes"
    ) -> RandomisedResponse:
        """As exposed as decoy groups of `ell`, on average or for the most exposed value."""
        label = f"randomised response, {by}"
        return cls(matched_epsilon(counts, ell, by), estimate, label)

    @property
    def name(self) -> str:
        """How it was matched, if it was."""
        return self.label

    @property
    def most_queries(self) -> None:
        """Any number."""

    def keep(self, size: int) -> float:
        """The probability of keeping a value."""
        return 1 / (1 + (size - 1) * math.exp(-self.epsilon))

    def chances(self, counts: Codes) -> Floats:
        """The same for all values."""
        return uniform_channel(counts.size, self.keep(counts.size))

    def publish(self, codes: Codes, size: int, randomness: Randomness) -> RandomisedTable:
        """Randomise every row."""
        checked(codes, size)
        channel = uniform_channel(size, self.keep(size))
        published = randomise(codes, channel, randomness.stream("randomise"))
        return RandomisedTable(published, channel, self.estimate)


def matched_epsilon(counts: Codes, ell: int, by: str = "average") -> float:
    """The epsilon at which a published value is believed as in decoy groups of `ell`."""
    if by not in MATCHES:
        raise SettingsError(f"by must be one of {', '.join(MATCHES)}, got {by!r}.")
    if ell < 2:
        raise SettingsError(f"ell must be at least 2, got {ell}.")
    if by == "average":
        odds = (counts.size - 1) / (ell - 1)
    else:
        top = float(np.max(counts) / np.sum(counts))
        odds = (1 - top) / (top * (ell - 1)) if top < 1 else 0.0
    if odds <= 1 + 1e-12:
        raise IneligibleError(
            f"Randomised response cannot be matched to ell = {ell}: "
            + (
                f"with {counts.size} values, a random value is right one time in "
                f"{counts.size}. ell must be smaller than that."
                if by == "average"
                else "the most frequent value fills as much of the table as may be believed. "
                "ell must be smaller."
            )
        )
    return math.log(odds)
