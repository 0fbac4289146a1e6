"""Anatomy, the paper's choices and ours against the size of the table.

The paper's figures "Utility for Anatomy" and "Mechanism A'".
"""

from __future__ import annotations

from countveil.comparing.baselines import Anatomy
from study.data import PLAIN, StudyTable
from study.experiments.common import (
    DEFAULT_ELL,
    Parameters,
    Row,
    Scale,
    estimate_all,
    labelled,
    randomness_of,
)
from study.measures import errors
from study.pool import draw_pool

METHODS = ("paper", "ours")


def cells(scale: Scale) -> list[Parameters]:
    """Every size."""
    return [
        {"rows": rows, "predicates": scale.predicates, "repetition": repetition}
        for repetition in range(scale.repetitions)
        for rows in scale.sizes
    ]


def measure(table: StudyTable, rows: int, predicates: int, repetition: int) -> list[Row]:
    """The methods on one pool of one sample."""
    table = table.first(rows)
    label = "by_rows", rows, repetition
    pool = draw_pool(table, PLAIN, predicates, randomness_of(*label).stream("pool"))
    size = table.size("Occupation")
    true = pool.tallies(table.occupation, size)
    found = estimate_all(METHODS, DEFAULT_ELL, table, pool, *label)
    anatomy = Anatomy(DEFAULT_ELL).publish(table.occupation, size, randomness_of(*label, "anatomy"))
    found["anatomy"] = anatomy.counts_of(pool.predicates)
    return [
        row
        for method, estimates in found.items()
        for row in labelled(
            errors(true, estimates, rows),
            rows=rows,
            ell=DEFAULT_ELL,
            repetition=repetition,
            method=method,
        )
    ]
