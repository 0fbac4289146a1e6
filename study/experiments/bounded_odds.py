"""A bound K on the odds of a linked row: noise over the declared values, then groups of 5.

Beyond the paper. Occupation, whose 50 values are declared. Ours with the bound beside ours without
it, plain randomised response at the same K, randomised response and invariant PRAM with the same
mean belief in the true value, Anatomy, and Laplace noise whose answers together keep the same K.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from countveil.comparing.baselines import PublishingMethod
from countveil.comparing.odds_entrants import odds_lineup
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
from study.measures import BANDS, SMALL, errors
from study.pool import draw_pool

Codes = NDArray[np.int64]

ODDS = (5, 10, 20, 50, 200)
EPSILON, QUERIES, REPETITIONS = 0.05, 100, 5
_NAMES = {
    "ours, bounded": "noised",
    "ours, unbiased": "noised-unbiased",
    "ours, random": "noised-random",
    "ours, no noise": "ours",
    "k-RR, same K": "response-odds",
    "k-RR, same belief": "response",
    "PRAM, same belief": "pram",
    "Anatomy": "anatomy",
    "Laplace, same K": "laplace-odds",
}


def cells(scale: Scale) -> list[Parameters]:
    """Every bound, so many pools; at most as many predicates as the noise is paid for."""
    return [
        {
            "rows": scale.rows,
            "odds": odds,
            "predicates": min(QUERIES, scale.predicates),
            "repetition": repetition,
        }
        for repetition in range(min(REPETITIONS, scale.two_repetitions))
        for odds in ODDS
    ]


def measure(table: StudyTable, rows: int, odds: int, predicates: int, repetition: int) -> list[Row]:
    """Every method on one pool: errors by selectivity, and what a linked row gives away."""
    table = table.first(rows)
    label = "bounded_odds", rows, repetition
    pool = draw_pool(table, PLAIN, predicates, randomness_of(*label).stream("pool"))
    codes, size = table.occupation, table.size("Occupation")
    counts, true = np.bincount(codes, minlength=size), pool.tallies(codes, size)
    found: list[Row] = []
    for name, method in methods(counts, odds).items():
        # Estimates of one mechanism are made from one publication.
        source = randomness_of(*label, odds, name.removesuffix("-unbiased"))
        published = method.publish(codes, size, source)
        more = {"rows": rows, "ell": DEFAULT_ELL, "odds": odds, "repetition": repetition}
        estimates = published.counts_of(pool.predicates)
        found += labelled(errors(true, estimates, rows, (*BANDS, SMALL)), **more, method=name)
        place = placed(method, counts) if repetition == 0 else {}
        told = protection(published.belief(), codes)
        found.append({**more, "method": name, **told, **place})
    return found


def methods(counts: Codes, odds: float) -> Mapping[str, PublishingMethod]:
    """As `countveil compare --odds` matches them, by their short names."""
    return {
        _NAMES[entrant.name]: entrant.method
        for entrant in odds_lineup(counts, DEFAULT_ELL, odds, EPSILON, QUERIES)
        if entrant.method is not None and entrant.name in _NAMES
    }
