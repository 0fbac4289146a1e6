"""Laplace noise against the number of queries that its budget has to pay for.

The paper's figure "Multiple queries in differential privacy", with ours beside it, of which any
number of queries may be asked.
"""

from __future__ import annotations

import numpy as np

from countveil.comparing.baselines import Laplace
from study.data import PLAIN, StudyTable
from study.experiments.by_method import EPSILONS
from study.experiments.common import (
    DEFAULT_ELL,
    Parameters,
    Row,
    Scale,
    estimate_all,
    labelled,
    randomness_of,
)
from study.measures import PASSING, errors
from study.pool import draw_pool

# The queries of the figure before: 1% to 5%.
BAND = PASSING[1]
METHODS = ("paper", "ours")


def cells(scale: Scale) -> list[Parameters]:
    """Every number of queries is asked of the same pool."""
    numbers = ",".join(map(str, scale.most_queries))
    return [
        {
            "rows": scale.rows,
            "queries": numbers,
            "predicates": scale.predicates,
            "repetition": repetition,
        }
        for repetition in range(scale.repetitions)
    ]


def measure(
    table: StudyTable, rows: int, queries: str, predicates: int, repetition: int
) -> list[Row]:
    """With a budget for m queries, m predicates are asked, then a new budget is needed."""
    table = table.first(rows)
    label = "by_queries", rows, repetition
    source = randomness_of(*label)
    pool = draw_pool(table, PLAIN, predicates, source.stream("pool"))
    size = table.size("Occupation")
    true = pool.tallies(table.occupation, size)
    ours = estimate_all(METHODS, DEFAULT_ELL, table, pool, *label)
    found: list[Row] = []
    for m in map(int, queries.split(",")):
        answers = dict(ours)
        for epsilon in EPSILONS:
            pieces = [
                Laplace(epsilon, m)
                .publish(table.occupation, size, source)
                .counts_of(pool.predicates[first : first + m])
                for first in range(0, len(pool.predicates), m)
            ]
            answers[f"laplace-{epsilon:g}"] = np.concatenate(pieces)
        for method, estimates in answers.items():
            found += labelled(
                errors(true, estimates, rows, [BAND]),
                rows=rows,
                queries=m,
                repetition=repetition,
                method=method,
            )
    return found
