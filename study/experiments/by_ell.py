"""Relative error and protection against ell.

The paper's figures "Relative error" and "Relative error for small counts".
"""

from __future__ import annotations

from study.data import PLAIN, StudyTable
from study.experiments.common import (
    DEFAULT_ELL,
    Parameters,
    Row,
    Scale,
    eligible,
    estimate_all,
    labelled,
    randomness_of,
)
from study.measures import errors
from study.pool import draw_pool

METHODS = ("paper", "ours")
_MORE = 3


def cells(scale: Scale) -> list[Parameters]:
    """Every ell, so many releases and pools; of the usual ell more, since others look at it."""
    return [
        {"rows": scale.rows, "ell": ell, "predicates": scale.predicates, "repetition": repetition}
        for repetition in range(_MORE * scale.repetitions)
        for ell in scale.ells
        if repetition < scale.repetitions or ell == DEFAULT_ELL
    ]


def measure(table: StudyTable, rows: int, ell: int, predicates: int, repetition: int) -> list[Row]:
    """Both methods on one pool."""
    table = table.first(rows)
    if not eligible(table.occupation, ell):
        return []
    # The same pool for every ell: what changes is ell.
    pool = draw_pool(
        table, PLAIN, predicates, randomness_of("by_ell", rows, repetition).stream("pool")
    )
    true = pool.tallies(table.occupation, table.size("Occupation"))
    found = estimate_all(METHODS, ell, table, pool, "by_ell", rows, repetition)
    return [
        row
        for method, estimates in found.items()
        for row in labelled(
            errors(true, estimates, rows),
            rows=rows,
            ell=ell,
            repetition=repetition,
            method=method,
        )
    ]
