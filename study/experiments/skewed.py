"""A sensitive column in which one value is very frequent, at ell = 5.

Beyond the paper, whose groups hold different values. The column is occupation with one value,
"none", for half of the people or for 83%: made up, more often for the young and the old, since the
study's table has no such column of its own. Random groups and common values beside other methods:
invariant PRAM and randomised response with the same mean belief in the true value as random groups,
Laplace noise, and mixed groups and Anatomy after rows without an occupation were removed at random
until groups of different values exist; who removes rows says how many, and answers are scaled up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from countveil.comparing.baselines import (
    Anatomy,
    DecoyGroups,
    InvariantPram,
    Laplace,
    PublishingMethod,
    RandomisedResponse,
)
from countveil.maths.guarantees.frontier import standing
from countveil.randomness import Stream
from study.data import PLAIN, StudyTable
from study.experiments.common import (
    DEFAULT_ELL,
    Parameters,
    Row,
    Scale,
    labelled,
    randomness_of,
)
from study.measures import errors
from study.pool import draw_pool

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

SHARES = (0.5, 0.83)
EPSILON, QUERIES = 0.05, 100
# By how much more often the young and the old have none.
_LEANING = 0.35
_HALVINGS = 40


def cells(scale: Scale) -> list[Parameters]:
    """Both shares, so many pools; at most as many predicates as the noise is paid for."""
    return [
        {
            "rows": scale.rows,
            "share": share,
            "predicates": min(QUERIES, scale.predicates),
            "repetition": repetition,
        }
        for repetition in range(scale.two_repetitions)
        for share in SHARES
    ]


def measure(
    table: StudyTable, rows: int, share: float, predicates: int, repetition: int
) -> list[Row]:
    """Every method on one pool: errors by selectivity, and what a linked row gives away."""
    table = table.first(rows)
    label = "skewed", rows, share, repetition
    source = randomness_of(*label)
    size = table.size("Occupation") + 1
    codes = skewed(table, share, source.stream("none"))
    pool = draw_pool(table, PLAIN, predicates, source.stream("pool"))
    true = pool.tallies(codes, size)
    found: list[Row] = []
    for name, method in methods(np.bincount(codes, minlength=size)).items():
        kept = np.arange(rows)
        if name.endswith("-removed"):
            kept = eligible_rows(codes, DEFAULT_ELL, source.stream("removed"))
        published = method.publish(codes[kept], size, randomness_of(*label, name))
        place = np.full(rows, -1)
        place[kept] = np.arange(kept.size)
        asked = [place[met][place[met] >= 0] for met in pool.predicates]
        left = np.bincount(codes[kept], minlength=size)
        grown = np.bincount(codes, minlength=size) / np.maximum(left, 1)
        estimates = published.counts_of(asked) * grown
        more = {"rows": rows, "ell": DEFAULT_ELL, "share": share, "repetition": repetition}
        found += labelled(errors(true, estimates, rows), **more, method=name)
        sure = np.sort(published.belief().in_truth(codes[kept]))
        found.append(
            {
                **more,
                "method": name,
                "kind": "protection",
                "belief": float(sure.mean()),
                "belief_top": float(sure[-max(1, kept.size // 100) :].mean()),
                "kept": kept.size / rows,
            }
        )
    return found


def methods(counts: Codes) -> Mapping[str, PublishingMethod]:
    """Every method by its short name; those with a parameter have the belief of random groups."""
    ours = DecoyGroups(DEFAULT_ELL, "random")
    shares = counts / counts.sum()
    whole = ours.chances(counts)
    assert whole is not None
    belief = standing(whole, shares).belief
    return {
        "random": ours,
        "common": DecoyGroups(DEFAULT_ELL, common=True),
        "pram": InvariantPram(
            matched(lambda alpha: InvariantPram(alpha).chances(counts), shares, belief, (0, 1))
        ),
        "response": RandomisedResponse(
            matched(
                lambda epsilon: RandomisedResponse(epsilon).chances(counts),
                shares,
                belief,
                (1e-3, 30),
            )
        ),
        f"laplace-{EPSILON:g}": Laplace(EPSILON, QUERIES),
        "ours-removed": DecoyGroups(DEFAULT_ELL),
        "anatomy-removed": Anatomy(DEFAULT_ELL),
    }


def matched(
    chances: Callable[[float], Floats], shares: Floats, belief: float, ends: tuple[float, float]
) -> float:
    """The parameter at which the mean belief in the true value is this: it grows with it."""
    low, high = ends
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if standing(chances(middle), shares).belief < belief:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def skewed(table: StudyTable, share: float, stream: Stream) -> Codes:
    """Occupation, with one more value that about this share of the rows have."""
    years = table.columns["Age"].astype(np.float64)
    apart = np.abs(years - np.median(years))
    leaning = min(_LEANING, 0.9 * (1 - share))
    chance = share + np.where(apart > np.median(apart), leaning, -leaning)
    none = stream.below(1_000_000, years.size) < 1e6 * chance
    return np.where(none, table.size("Occupation"), table.occupation)


def eligible_rows(codes: Codes, ell: int, stream: Stream) -> Codes:
    """All rows, but of the most frequent value only as many as groups of different values hold."""
    counts = np.bincount(codes)
    value = int(counts.argmax())
    most = int((codes.size - counts[value]) // (ell - 1))
    mine = np.flatnonzero(codes == value)
    chosen = mine[stream.permutation(mine.size)[:most]]
    return np.sort(np.concatenate([np.flatnonzero(codes != value), chosen]))
