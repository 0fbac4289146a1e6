"""Which methods are compared, with which parameters, and why these.

Enters: the histogram of a sensitive column, ell, the budget of differential privacy. Leaves: one
`Entrant` per method. Must not know: rows, predicates, results.

All but Laplace publish rows. Their parameters are matched so that the value of a linked row is as
exposed as with decoy groups of ell, as far as the method allows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.comparing.baselines import (
    Anatomy,
    DecoyGroups,
    GlobalRandomisation,
    InvariantPram,
    Laplace,
    PublishingMethod,
    RandomisedResponse,
)
from countveil.errors import IneligibleError

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Entrant:
    """A method with its name in the tables; None where `about` says why it cannot be matched."""

    name: str
    method: PublishingMethod | None
    about: str


def lineup(counts: Counts, ell: int, epsilon: float, queries: int) -> list[Entrant]:
    """All methods, ours first."""
    return [
        Entrant(
            "countveil",
            DecoyGroups(ell),
            f"decoy groups of {ell} values, mixed, with the default estimates.",
        ),
        Entrant(
            "countveil, unbiased",
            DecoyGroups(ell, method="unbiased"),
            "the same release without what the default estimates add.",
        ),
        Entrant(
            "the paper's choices",
            DecoyGroups.as_in_the_paper(ell),
            "greedy groups, the printed matrix, the iteration stopped at 1%.",
        ),
        Entrant(
            "Anatomy",
            Anatomy(ell),
            f"groups of {ell} values, in the open: the values of a row's group are values of its "
            f"members.",
        ),
        Entrant(
            f"Laplace, eps {epsilon:g}",
            Laplace(epsilon, queries),
            f"no rows; answers to {queries:,} predicates for this budget in all. The beliefs are "
            f"the most that it allows.",
        ),
        Entrant(
            "mechanism A",
            GlobalRandomisation.at(ell),
            f"a row keeps its value one time in {ell}, else publishes any other.",
        ),
        Entrant(
            "mechanism A, printed",
            GlobalRandomisation.at(ell, "printed"),
            "the same rows, estimated as if they were decoy groups.",
        ),
        _response(counts, ell, "average", "a published value is true as often as with ours: "
                  "mechanism A by another name."),
        _response(counts, ell, "largest", f"no published value is believed by more than 1/{ell}."),
        _pram(counts, ell),
    ]  # fmt: skip


def _response(counts: Counts, ell: int, by: str, text: str) -> Entrant:
    name = f"k-RR, same {by}"
    try:
        method = RandomisedResponse.matched(counts, ell, by)
    except IneligibleError as error:
        return Entrant(name, None, f"not compared. {error}")
    return Entrant(name, method, f"randomised response, epsilon {method.epsilon:.3g}; {text}")


def _pram(counts: Counts, ell: int) -> Entrant:
    # Where groups of ell exist, so does a matched PRAM.
    method = InvariantPram.matched(counts, ell)
    return Entrant(
        "invariant PRAM",
        method,
        f"a row keeps its value with probability {method.alpha:.3g}, else draws one from the "
        f"histogram; a published value is true as often as with ours.",
    )
