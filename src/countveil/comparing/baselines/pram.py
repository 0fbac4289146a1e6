"""An invariant PRAM (post-randomisation): rows change value so that counts stay as expected.

Enters: codes, how often a published value is true. Leaves: published codes, estimates. Must not
know: other columns.

**Construction.** Of the matrices P with f P = f there is one family that needs no second step: keep
the value with probability alpha, else draw one from the histogram of the table,

    P = alpha I + (1 - alpha) 1 s,        s = f / N

since s P = alpha s + (1 - alpha) s. (The two-step construction turns any matrix into an invariant
one; this one is chosen because its parameter can be matched exactly.)

**Matched to decoy groups of ell.** A published v is true with probability P[v, v] = alpha +
(1 - alpha) s[v], on average alpha + (1 - alpha) h with h = sum of s^2. Set to 1/ell:

    alpha = (1/ell - h) / (1 - h)

An eligible table has h <= 1/ell.

**What is public.** alpha. P itself would reveal f exactly; an analyst uses the published histogram
instead, as with decoy groups. The published counts estimate the true ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from countveil.comparing.baselines.known_channel import RandomisedTable, check_estimate, randomise
from countveil.comparing.baselines.method import Codes, Floats, checked
from countveil.errors import IneligibleError, SettingsError
from countveil.randomness import Randomness


@dataclass(frozen=True)
class InvariantPram:
    """Keep with probability `alpha`, else draw from the histogram of the table."""

    alpha: float
    estimate: str = "bayes"

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise SettingsError(f"alpha must lie between 0 and 1, got {self.alpha!r}.")
        check_estimate(self.estimate)
        if self.estimate == "unbiased" and self.alpha == 0:
            raise SettingsError(
                "With alpha = 0 every published value is drawn from the histogram: there is no "
                "unbiased estimate. Take a larger alpha."
            )

    @classmethod
    def matched(cls, counts: Codes, ell: int, estimate: str = "bayes") -> InvariantPram:
        """A published value is true as often as with decoy groups of `ell`: 1/ell on average."""
        return cls(matched_alpha(counts, ell), estimate)

    @property
    def name(self) -> str:
        """What it is."""
        return "invariant PRAM"

    @property
    def most_queries(self) -> None:
        """Any number."""

    def chances(self, counts: Codes) -> Floats:
        """By the shares of the table."""
        return invariant_matrix(counts / counts.sum(), self.alpha)

    def publish(self, codes: Codes, size: int, randomness: Randomness) -> RandomisedTable:
        """Randomise every row."""
        counts = checked(codes, size)
        true = invariant_matrix(counts / codes.size, self.alpha)
        published = randomise(codes, true, randomness.stream("randomise"))
        shares = np.bincount(published, minlength=size) / codes.size
        return RandomisedTable(published, invariant_matrix(shares, self.alpha), self.estimate)


def invariant_matrix(shares: Floats, alpha: float) -> Floats:
    """P[u, v]: the chance that u publishes v."""
    matrix: Floats = alpha * np.eye(shares.size) + (1 - alpha) * shares
    return matrix


def matched_alpha(counts: Codes, ell: int) -> float:
    """The alpha at which 1/ell of all rows publish their true value, on average."""
    if ell < 1:
        raise SettingsError(f"ell must be at least 1, got {ell}.")
    agreement = float(((counts / counts.sum()) ** 2).sum())
    if agreement >= 1:
        raise IneligibleError("All rows have the same value: there is nothing to hide among.")
    if agreement > 1 / ell + 1e-12:
        raise IneligibleError(
            f"PRAM cannot be matched to ell = {ell}: even values drawn from the histogram alone "
            f"are right {agreement:.1%} of the time. The largest ell that works is "
            f"{int(1 / agreement + 1e-9)}."
        )
    return max(0.0, (1 / ell - agreement) / (1 - agreement))
