"""Which methods are compared on several columns taken together, and why these.

Enters: the counts of all combinations of values, how many values each column has, ell, the budget
of differential privacy. Leaves: one `Entrant` per method. Must not know: rows, predicates, results.

Ours together, ours with each column apart, and the others on the grid of combinations. The others
that have a parameter give away as much as ours together: the same mean belief in the true
combination of a linked row.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from countveil.comparing.baselines import Anatomy, DecoyGroups, Laplace, PublishingMethod
from countveil.comparing.baselines.apart import ColumnsApart
from countveil.comparing.baselines.matching import pram_believed, response_believed
from countveil.comparing.entrants import Counts, Entrant, no_groups
from countveil.maths.guarantees.frontier import mean_belief


def together_lineup(
    counts: Counts, shape: tuple[int, ...], ell: int, epsilon: float, queries: int
) -> list[Entrant]:
    """All methods, ours first."""
    together = DecoyGroups(ell, "random", shape=shape)
    apart = columns_apart(counts, shape, ell)
    belief = believed(together, counts)
    return [
        Entrant(
            "countveil, together",
            together,
            f"a row publishes the whole combination of a row of its random group of {ell}.",
        ),
        Entrant(
            "together, unbiased",
            replace(together, method="unbiased"),
            "the same release without what the default estimates add.",
        ),
        Entrant("countveil, apart", apart, _about_apart(apart, ell)),
        Entrant(
            "apart, unbiased",
            replace(apart, method="unbiased"),
            "the same release without what the default estimates add.",
        ),
        _as_little_as(apart, together, counts),
        _anatomy(counts, ell),
        Entrant(
            f"Laplace, eps {epsilon:g}",
            Laplace(epsilon, queries),
            f"no rows; answers to {queries:,} predicates for this budget in all, each for all "
            f"combinations. The beliefs are the most that it allows.",
        ),
        *same_belief(counts, belief, "as with ours together"),
    ]


def columns_apart(counts: Counts, shape: tuple[int, ...], ell: int) -> ColumnsApart:
    """Each column with mixed groups; with random ones where there are no mixed ones."""
    grid = counts.reshape(shape)
    columns = []
    for axis in range(len(shape)):
        alone = grid.sum(axis=tuple(other for other in range(len(shape)) if other != axis))
        mixed = no_groups(alone, ell) is None
        columns.append(DecoyGroups(ell, "mixed" if mixed else "random"))
    return ColumnsApart(tuple(columns), shape)


def believed(method: PublishingMethod, counts: Counts) -> float:
    """The mean belief in the true value of a linked row."""
    chances = method.chances(counts)
    assert chances is not None  # noqa: S101 - methods that publish rows have them
    return mean_belief(chances, counts / counts.sum())


def same_belief(counts: Counts, belief: float, whose: str) -> list[Entrant]:
    """Randomised response and an invariant PRAM with this mean belief."""
    response, pram = response_believed(counts, belief), pram_believed(counts, belief)
    return [
        Entrant(
            "k-RR, same belief",
            response,
            f"randomised response over all {counts.size:,} of them, epsilon "
            f"{response.epsilon:.3g}; the mean belief is {whose}.",
        ),
        Entrant(
            "PRAM, same belief",
            pram,
            f"an invariant PRAM: a row keeps what it has with probability {pram.alpha:.3g}, else "
            f"draws from the histogram; the mean belief is {whose}.",
        ),
    ]


def _about_apart(apart: ColumnsApart, ell: int) -> str:
    how = " and ".join(column.groups for column in apart.columns)
    return (
        f"each column has groups of {ell} and a draw of its own ({how}): a published combination "
        f"need not be anybody's. Beliefs are those of somebody who knows the share of each "
        f"combination."
    )


def _as_little_as(apart: ColumnsApart, together: DecoyGroups, counts: Counts) -> Entrant:
    """Together with the least ell that gives away no more than the columns apart."""
    shares = counts / counts.sum()
    agreement, belief = float(shares @ shares), believed(apart, counts)
    least = math.sqrt((1 - agreement) / max(belief - agreement, 1e-300))
    ell = max(together.ell, math.ceil(least - 1e-9))
    name = "together, larger ell"
    if ell > int(counts.sum()):
        return Entrant(
            name, None, "not compared. No groups of this table give away as little as the "
            "columns apart."
        )  # fmt: skip
    return Entrant(
        name,
        replace(together, ell=ell),
        f"together with groups of {ell}: the least ell whose mean belief is no larger than that "
        f"of the columns apart.",
    )


def _anatomy(counts: Counts, ell: int) -> Entrant:
    why_not = no_groups(counts[np.flatnonzero(counts)], ell)
    if why_not is not None:
        return Entrant("Anatomy", None, f"not compared. {why_not}")
    return Entrant(
        "Anatomy",
        Anatomy(ell),
        f"groups of {ell} combinations, in the open: those of a row's group are its members'.",
    )
