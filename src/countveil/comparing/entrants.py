"""Which methods are compared, with which parameters, and why these.

Enters: the histogram of a sensitive column, ell, the budget of differential privacy. Leaves: one
`Entrant` per method. Must not know: rows, predicates, results.

All but Laplace publish rows. Their parameters are matched so that the value of a linked row is as
exposed as with decoy groups of ell, as far as the method allows. Groups of different values do not
exist for every column; the methods that need them are then left out, with the reason.
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
from countveil.maths.channel.common import eligible_with, frequent_values
from countveil.maths.groups import obstacle

Counts = NDArray[np.int64]
_WITHOUT_DIFFERENT_VALUES = ("countveil, common", "countveil, random")


@dataclass(frozen=True, slots=True)
class Entrant:
    """A method with its name in the tables; None where `about` says why it cannot be matched."""

    name: str
    method: PublishingMethod | None
    about: str


def lineup(counts: Counts, ell: int, epsilon: float, queries: int) -> list[Entrant]:
    """All methods, ours first."""
    groups = [
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
        _common(counts, ell),
        Entrant(
            "countveil, random",
            DecoyGroups(ell, "random"),
            f"random groups of {ell} rows, whatever their values, with the default estimates.",
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
    ]
    why_not = no_groups(counts, ell)
    if why_not is not None:
        groups = [
            entrant if entrant.name in _WITHOUT_DIFFERENT_VALUES
            else Entrant(entrant.name, None, f"not compared. {why_not}")
            for entrant in groups
        ]  # fmt: skip
    return [
        *groups,
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


def no_groups(counts: Counts, ell: int) -> str | None:
    """Why there are no groups of ell different values; None if there are."""
    limit = obstacle(counts, ell)
    if limit is None:
        return None
    if not limit.too_frequent:
        return f"There are only {np.count_nonzero(counts):,} values, so no groups of {ell} of them."
    share = int(counts.max()) / int(counts.sum())
    return (
        f"The most frequent value has {share:.1%} of the rows, and in groups of {ell} different "
        f"values it may have 1/{ell}."
    )


def _common(counts: Counts, ell: int) -> Entrant:
    name, common = "countveil, common", frequent_values(counts, ell)
    if not common.size:
        return Entrant(
            name, None, f"not compared. No value has more than 1/{2 * ell} of the rows, so none "
            f"would be a common one."
        )  # fmt: skip
    if not eligible_with(counts, ell, common):
        return Entrant(name, None, f"not compared. There are too few rows for groups of {ell}.")
    few = "the value" if common.size == 1 else f"the {common.size} values"
    return Entrant(
        name,
        DecoyGroups(ell, common=True),
        f"mixed groups of {ell} in which {few} with more than 1/{2 * ell} of the rows may repeat.",
    )


def _response(counts: Counts, ell: int, by: str, text: str) -> Entrant:
    name = f"k-RR, same {by}"
    try:
        method = RandomisedResponse.matched(counts, ell, by)
    except IneligibleError as error:
        return Entrant(name, None, f"not compared. {error}")
    return Entrant(name, method, f"randomised response, epsilon {method.epsilon:.3g}; {text}")


def _pram(counts: Counts, ell: int) -> Entrant:
    try:
        method = InvariantPram.matched(counts, ell)
        matched = "as with ours"
    except IneligibleError:
        # Where mixed groups exist there is a match. Elsewhere this is the channel of random groups.
        method, matched = InvariantPram(1 / ell), "as with random groups"
    return Entrant(
        "invariant PRAM",
        method,
        f"a row keeps its value with probability {method.alpha:.3g}, else draws one from the "
        f"histogram; a published value is true as often {matched}.",
    )
