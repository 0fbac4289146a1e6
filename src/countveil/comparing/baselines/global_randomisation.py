"""Global randomisation, the paper's mechanism A: decoys drawn uniformly from the whole domain.

Enters: codes, p. Leaves: published codes with a channel that everybody knows. Must not know: other
columns.

A row keeps its value with probability p, and otherwise publishes one of the other values, all
equally likely. The paper compares at p = 1/ell. How likely a published value is true then depends
on its frequency: a rare value is published mostly by others.
"""

from __future__ import annotations

from dataclasses import dataclass

from countveil.comparing.baselines.known_channel import (
    RandomisedTable,
    check_estimate,
    randomise,
    uniform_channel,
)
from countveil.comparing.baselines.method import Codes, Floats, checked
from countveil.errors import SettingsError
from countveil.randomness import Randomness


@dataclass(frozen=True)
class GlobalRandomisation:
    """Keep a value with probability `keep`; `estimate` is one of `known_channel.ESTIMATES`."""

    keep: float
    estimate: str = "bayes"

    def __post_init__(self) -> None:
        if not 0 <= self.keep <= 1:
            raise SettingsError(
                f"The probability of keeping a value must lie between 0 and 1, got {self.keep!r}."
            )
        check_estimate(self.estimate)

    @classmethod
    def at(cls, ell: int, estimate: str = "bayes") -> GlobalRandomisation:
        """As the paper compares it: p = 1/ell."""
        if ell < 1:
            raise SettingsError(f"ell must be at least 1, got {ell}.")
        return cls(1 / ell, estimate)

    @property
    def name(self) -> str:
        """What the paper calls it."""
        return "mechanism A"

    @property
    def most_queries(self) -> None:
        """Any number."""

    def chances(self, counts: Codes) -> Floats:
        """The same for all values."""
        return uniform_channel(counts.size, self.keep)

    def publish(self, codes: Codes, size: int, randomness: Randomness) -> RandomisedTable:
        """Randomise every row."""
        checked(codes, size)
        if self.estimate == "unbiased" and abs(self.keep - 1 / size) < 1e-9:
            raise SettingsError(
                f"With {size} values, keeping one with probability 1/{size} publishes pure noise: "
                f"there is no unbiased estimate. Take another probability."
            )
        channel = uniform_channel(size, self.keep)
        published = randomise(codes, channel, randomness.stream("randomise"))
        return RandomisedTable(published, channel, self.estimate)
