"""All methods at ell = 5, against selectivity.

The paper's figure "Comparison of our method with differential privacy and global randomization by
mechanism A".

Beyond the paper: both estimates of mechanism A with its own channel, and two that are wrong for it
(stopped early; the matrix printed for decoy groups); randomised response that never exceeds our
belief of 1/ell; an invariant PRAM. Laplace noise is drawn by OpenDP, which takes no seed: its rows
are other ones in every run.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from countveil.comparing.baselines import (
    Anatomy,
    DecoyGroups,
    GlobalRandomisation,
    InvariantPram,
    Laplace,
    PublishingMethod,
    RandomisedResponse,
)
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

EPSILONS = (0.01, 0.05)
QUERIES = 100


def methods(table: StudyTable) -> Mapping[str, PublishingMethod]:
    """Every method by its short name, as exposed as decoy groups of ell where that can be set."""
    ell, counts = DEFAULT_ELL, np.bincount(table.occupation, minlength=table.size("Occupation"))
    return {
        "paper": DecoyGroups.as_in_the_paper(ell),
        "ours": DecoyGroups(ell),
        "anatomy": Anatomy(ell),
        **{f"laplace-{epsilon:g}": Laplace(epsilon, QUERIES) for epsilon in EPSILONS},
        "global-bayes": GlobalRandomisation.at(ell, "bayes"),
        "global-unbiased": GlobalRandomisation.at(ell, "unbiased"),
        "global-stopped": GlobalRandomisation.at(ell, "stopped"),
        "global-printed": GlobalRandomisation.at(ell, "printed"),
        "response": RandomisedResponse.matched(counts, ell, "largest"),
        "pram": InvariantPram.matched(counts, ell),
    }


def cells(scale: Scale) -> list[Parameters]:
    """So many pools; at most as many predicates as the noise is paid for."""
    return [
        {
            "rows": scale.rows,
            "predicates": min(QUERIES, scale.predicates),
            "repetition": repetition,
        }
        for repetition in range(scale.repetitions)
    ]


def measure(table: StudyTable, rows: int, predicates: int, repetition: int) -> list[Row]:
    """Every method on one pool: errors by selectivity, and what a linked row gives away."""
    table = table.first(rows)
    label = "by_method", rows, repetition
    pool = draw_pool(table, PLAIN, predicates, randomness_of(*label).stream("pool"))
    size = table.size("Occupation")
    true = pool.tallies(table.occupation, size)
    found: list[Row] = []
    for name, method in methods(table).items():
        # Estimates of one mechanism are made from one publication.
        source = randomness_of(*label, name.split("-")[0])
        published = method.publish(table.occupation, size, source)
        more = {"rows": rows, "ell": DEFAULT_ELL, "repetition": repetition, "method": name}
        found += labelled(errors(true, published.counts_of(pool.predicates), rows), **more)
        belief = published.belief()
        sure = np.sort(belief.in_truth(table.occupation))
        left = belief.candidates()
        found.append(
            {
                **more,
                "kind": "protection",
                "belief": float(sure.mean()),
                "belief_top": float(sure[-max(1, rows // 100) :].mean()),
                "candidates": float(np.median(left)),
            }
        )
    return found
