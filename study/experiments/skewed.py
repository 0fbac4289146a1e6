"""A sensitive column in which one value is very frequent, at ell = 5.

Beyond the paper, whose groups hold different values. One column is occupation with one more value,
"none", for half of the people or for 83%: made up, more often for the young and the old. The other
is race as it is, with few values of which one has most of the people. Random groups and common
values beside other methods: invariant PRAM and randomised response with the same mean belief in the
true value as random groups, Laplace noise, and mixed groups and Anatomy after rows with the most
frequent value were removed at random until groups of different values exist; who removes rows says
how many, and answers are scaled up.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from countveil.comparing.baselines import Anatomy, DecoyGroups, Laplace, PublishingMethod
from countveil.comparing.baselines.matching import pram_believed, response_believed
from countveil.maths.groups import largest_ell
from countveil.maths.guarantees.frontier import mean_belief
from countveil.randomness import Stream
from study.data import PLAIN, StudyTable
from study.experiments.common import (
    DEFAULT_ELL,
    Parameters,
    Row,
    Scale,
    labelled,
    placed,
    protection,
    randomness_of,
)
from study.measures import errors
from study.pool import draw_pool

Codes = NDArray[np.int64]

SHARES = (0.5, 0.83)
REAL = "Race"
EPSILON, QUERIES = 0.05, 100
# By how much more often the young and the old have none.
_LEANING = 0.35


def cells(scale: Scale) -> list[Parameters]:
    """All columns, so many pools; at most as many predicates as the noise is paid for."""
    return [
        {
            "rows": scale.rows,
            "column": column,
            "share": share,
            "predicates": min(QUERIES, scale.predicates),
            "repetition": repetition,
        }
        for repetition in range(scale.two_repetitions)
        for column, share in (*(("Occupation", share) for share in SHARES), (REAL, 0.0))
    ]


def measure(
    table: StudyTable, rows: int, column: str, share: float, predicates: int, repetition: int
) -> list[Row]:
    """Every method on one pool: errors by selectivity, and what a linked row gives away."""
    table = table.first(rows)
    label = "skewed", rows, column, share, repetition
    source = randomness_of(*label)
    if column == REAL:
        codes, size = table.columns[column], table.size(column)
    else:
        codes, size = skewed(table, share, source.stream("none")), table.size("Occupation") + 1
    counts = np.bincount(codes, minlength=size)
    asked = [name for name in PLAIN if name != column]
    pool = draw_pool(table, asked, predicates, source.stream("pool"))
    true = pool.tallies(codes, size)
    found: list[Row] = []
    for name, method in methods(counts).items():
        kept = np.arange(rows)
        if name.endswith("-removed"):
            kept = eligible_rows(codes, DEFAULT_ELL, source.stream("removed"))
        left = np.bincount(codes[kept], minlength=size)
        if not is_eligible(left, DEFAULT_ELL) and name.endswith("-removed"):
            continue
        published = method.publish(codes[kept], size, randomness_of(*label, name))
        place = np.full(rows, -1)
        place[kept] = np.arange(kept.size)
        those = [place[met][place[met] >= 0] for met in pool.predicates]
        estimates = published.counts_of(those) * (counts / np.maximum(left, 1))
        more = {
            "rows": rows, "ell": DEFAULT_ELL, "column": column,
            "share": share or round(float(counts.max()) / rows, 2), "repetition": repetition,
        }  # fmt: skip
        found += labelled(errors(true, estimates, rows), **more, method=name)
        told = {**protection(published.belief(), codes[kept]), "kept": kept.size / rows}
        whole = placed(method, left) if repetition == 0 else {}
        found.append({**more, "method": name, **told, **whole})
    return found


def methods(counts: Codes) -> Mapping[str, PublishingMethod]:
    """Every method by its short name; those with a parameter have the belief of random groups."""
    ours = DecoyGroups(DEFAULT_ELL, "random")
    belief = mean_belief(ours.chances(counts), counts / counts.sum())
    return {
        "random": ours,
        "common": DecoyGroups(DEFAULT_ELL, common=True),
        "pram": pram_believed(counts, belief),
        "response": response_believed(counts, belief),
        f"laplace-{EPSILON:g}": Laplace(EPSILON, QUERIES),
        "ours-removed": DecoyGroups(DEFAULT_ELL),
        "anatomy-removed": Anatomy(DEFAULT_ELL),
    }


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


def is_eligible(counts: Codes, ell: int) -> bool:
    """Whether groups of ell different values exist."""
    return largest_ell(counts) >= ell
