"""What experiments share: sizes, randomness, methods by their short names.

Enters: parameters. Leaves: streams that depend on nothing but the parameters, methods, estimates.
Must not know: files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.comparing.baselines import Belief, DecoyGroups, PublishingMethod
from countveil.comparing.baselines.measure import on_frontier
from countveil.comparing.baselines.ours import DecoyTable
from countveil.maths.groups import largest_ell
from countveil.maths.paper.iteration import PAPER_TOLERANCE
from countveil.randomness import Randomness
from study.data import StudyTable
from study.measures import Row
from study.pool import Pool

__all__ = ["DEFAULT_ELL", "Parameters", "Row", "Scale", "decoy_choices", "estimate_all"]

Floats = NDArray[np.float64]
Parameters = dict[str, int | float | str]

DEFAULT_ELL = 5


@dataclass(frozen=True)
class Scale:
    """How much is measured. The defaults are the study; `study.grid.QUICK` is smaller."""

    rows: int = 100_000
    sizes: Sequence[int] = (100_000, 200_000, 300_000, 400_000, 500_000)
    ells: Sequence[int] = tuple(range(2, 11))
    repetitions: int = 20
    predicates: int = 100
    two_ells: Sequence[int] = tuple(range(2, 9))
    two_repetitions: int = 10
    two_predicates: int = 100
    most_queries: Sequence[int] = tuple(range(10, 101, 10))
    draws: int = 2_000
    times: int = 5
    asked: int = 300


def randomness_of(*parts: object) -> Randomness:
    """A source that depends on these words and numbers alone."""
    text = "/".join(map(str, parts)).encode()
    return Randomness(int.from_bytes(hashlib.sha256(text).digest()[:8], "big"))


def decoy_choices(ell: int) -> Mapping[str, DecoyGroups]:
    """The paper's choices, ours, and the steps from one to the other, by their short names."""
    paper = DecoyGroups.as_in_the_paper(ell)
    ours = DecoyGroups(ell)
    return {
        "paper": paper,
        "ours": ours,
        "greedy-printed": replace(paper, tolerance=ours.tolerance),
        "greedy-exact-stopped": replace(paper, channel="exact"),
        "greedy-exact": replace(paper, channel="exact", tolerance=ours.tolerance),
        "mixed-printed-stopped": replace(paper, groups="mixed"),
        "mixed-printed": replace(paper, groups="mixed", tolerance=ours.tolerance),
        "mixed-exact-stopped": replace(ours, method="bayes", tolerance=PAPER_TOLERANCE),
        "mixed-exact": replace(ours, method="bayes"),
        "mixed-unbiased": replace(ours, method="unbiased"),
    }


def eligible(codes: NDArray[np.int64], ell: int) -> bool:
    """Can groups of ell different values be formed?"""
    return ell <= largest_ell(np.bincount(codes))


def estimate_all(
    names: Sequence[str], ell: int, table: StudyTable, pool: Pool, *label: object
) -> dict[str, Floats]:
    """Estimates of the whole pool by each of these choices; equal groups share a release."""
    choices = decoy_choices(ell)
    size = table.size("Occupation")
    releases: dict[str, tuple[DecoyTable, Floats]] = {}
    found = {}
    for name in names:
        chosen = choices[name]
        if chosen.groups not in releases:
            source = randomness_of(*label, ell, chosen.groups)
            published = chosen.publish(table.occupation, size, source)
            releases[chosen.groups] = published, pool.tallies(published.published, size)
        published, tallies = releases[chosen.groups]
        found[name] = replace(published, choices=chosen).estimated(tallies)
    return found


def labelled(found: Iterable[Row], /, **more: Any) -> list[Row]:
    """Rows with these columns in front."""
    return [{**more, **row} for row in found]


def protection(belief: Belief, codes: NDArray[np.int64]) -> Row:
    """Belief in the true value of a linked row, on average and over the most exposed 1%."""
    sure = np.sort(belief.in_truth(codes))
    return {
        "kind": "protection",
        "belief": float(sure.mean()),
        "belief_top": float(sure[-max(1, codes.size // 100) :].mean()),
    }


def placed(method: PublishingMethod, counts: NDArray[np.int64]) -> Row:
    """Mean belief, distance to the bound and largest odds, for those that publish rows."""
    place = on_frontier(method, counts)
    if place is None:
        return {}
    return {
        "mean_belief": place.mean_belief,
        "distance": place.distance,
        "largest_odds": place.odds,
    }
