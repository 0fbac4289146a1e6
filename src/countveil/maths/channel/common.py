"""Common values: those that may fill several places of a decoy group.

Enters: counts per value, ell, which values are common. Leaves: the same rows with every common
value split into copies, and W of the values from W of the copies. Must not know: actual groups,
and whether the counts are true ones (the publisher) or published ones (an analyst). Theory:
docs/theory/channel.md, "Common values".

A value with more than N/ell rows has no decoy groups of different values. Its rows are divided
evenly among copies that groups treat as different values, so that it may fill several places, and
a random number of them. The maximum-entropy design of the copies then is that of the values: with
many copies, the places of a common value are a Poisson number, given that the group is full. If
every group had the same number of them, groups would not tell the value from the others.

**Belief**, of somebody who knows which row is a person's and expected no more than the shares of
the population, with p the share of a value:

    random groups    in the published value                           1/ell + (1 - 1/ell) p
                     by somebody who knows that the person does not
                     have another value, of share s, with l = ell - 1 (1 + l p) / (1 + l (1 - s))
    common values    in one that is not common                        1/ell
                     in a common one of share s                       s + (1 - s)/ell
                     in one that is not common, by somebody who knows
                     that the person has no common value              1 / (1 + m)

with m the mean number of other places in a group with the value that are not filled by common ones:
about (ell - 1)(1 - S) if these have the share S and the value is rare, less if it is frequent
itself, since it does not repeat.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.design import design_channel

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

# A value with this share of N/ell is common: values just below N/ell could not be told apart from
# the others either.
COMMON_FROM = 0.5
# Copies of a common value, times ell: no copy has more than N / (2 ell) rows, whatever its share.
COPIES = 2
# Copies of all common values; the design has a matrix of this many lines.
MOST_COPIES = 4_000


@dataclass(frozen=True, slots=True)
class Copies:
    """Rows per copy, and the value that each copy belongs to."""

    counts: Counts
    owner: Counts
    n_values: int

    @classmethod
    def of(cls, counts: Counts, ell: int, common: Counts) -> Copies:
        """Every value of `common` in copies; the others are their own only copy."""
        parts = np.ones(counts.size, np.int64)
        parts[common] = COPIES * ell
        owner = np.repeat(np.arange(counts.size), parts)
        number = np.arange(owner.size) - np.repeat(np.cumsum(parts) - parts, parts)
        share, more = np.divmod(counts, parts)
        return cls(share[owner] + (number < more[owner]), owner, counts.size)

    def channel(self, ell: int) -> Floats:
        """W of the values: a row is in one of the copies, and publishes any of them."""
        return self.by_value(design_channel(self.counts, ell))

    def by_value(self, by_copy: Floats) -> Floats:
        """P(published | true) of the values, from that of the copies."""
        published = np.zeros((self.owner.size, self.n_values))
        np.add.at(published.T, self.owner, by_copy.T)
        whole = np.zeros((self.n_values, self.n_values))
        np.add.at(whole, self.owner, published * self.counts[:, None])
        rows = np.bincount(self.owner, self.counts, self.n_values)
        result: Floats = whole / np.maximum(rows, 1)[:, None]
        return result


def frequent_values(counts: Counts, ell: int) -> Counts:
    """The values that should be common."""
    return np.flatnonzero(counts > COMMON_FROM * counts.sum() / ell)


def most_ell(n_common: int) -> int:
    """The largest ell with so many common values: their copies must fit into a matrix."""
    return MOST_COPIES // (COPIES * max(1, n_common))


def eligible_with(counts: Counts, ell: int, common: Counts) -> bool:
    """Whether groups exist in which only `common` values fill several places."""
    others, total = np.delete(counts, common), int(counts.sum())
    if not ell <= total or ell > most_ell(common.size):
        return False
    return bool(others.max(initial=0) <= total // ell)


def random_belief(share: float, ell: int) -> float:
    """In a published value of this share, with random groups."""
    return 1 / ell + (1 - 1 / ell) * share


def random_belief_without(share: float, other: float, ell: int) -> float:
    """The same of somebody who knows that the person does not have another value of share `other`.

    Prior p / (1 - s); a row that has neither value publishes this one with b = (1 - 1/ell) p.
    """
    return (1 + (ell - 1) * share) / (1 + (ell - 1) * (1 - other))


def random_odds(share: float, ell: int) -> float:
    """The factor by which seeing a value of this share multiplies its odds, with random groups."""
    return 1 + 1 / ((ell - 1) * share)


def common_belief(share: float, ell: int) -> float:
    """In a published value that is common."""
    return share + (1 - share) / ell


def beliefs_with_common(
    counts: Counts, ell: int, common: Counts
) -> tuple[tuple[float, ...], float, float]:
    """In each of the common values, if it is published; and the two of `beliefs_without_common`."""
    counts, common = coarser(counts, common)
    whole = Copies.of(counts, ell, common).channel(ell)
    kept = tuple(np.diag(whole)[common].tolist())
    return kept, *_without(counts, common, whole)


def beliefs_without_common(counts: Counts, ell: int, common: Counts) -> tuple[float, float]:
    """In a published value by someone who knows that the true one is not common.

    On average over the rows that publish such a value, and for the value where it is highest.
    """
    return beliefs_with_common(counts, ell, common)[1:]


def _without(counts: Counts, common: Counts, whole: Floats) -> tuple[float, float]:
    other = np.delete(np.arange(counts.size), common)
    other = other[counts[other] > 0]
    if not other.size:
        return 1.0, 1.0
    published = counts[other] @ whole[np.ix_(other, other)]
    belief = counts[other] * np.diag(whole)[other] / published
    return float(np.average(belief, weights=published)), float(belief.max())


def coarser(counts: Counts, common: Counts, most: int = 1_000) -> tuple[Counts, Counts]:
    """The same rows with at most about this many values, the common ones first, and their numbers.

    The rarest values are put together: what others meet hardly depends on how many these are.
    """
    if counts.size <= most:
        return counts, common
    others = np.delete(np.arange(counts.size), common)
    others = others[np.argsort(-counts[others], kind="stable")]
    frequent, rare = others[: most // 2], others[most // 2 :]
    merged = np.zeros(most // 2, np.int64)
    np.add.at(merged, np.arange(rare.size) % merged.size, counts[rare])
    together = np.concatenate([counts[common], counts[frequent], merged])
    return together, np.arange(common.size)
