"""Does it matter how the queries are drawn? Our defaults and the paper's choices on three pools."""

from __future__ import annotations

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
from study.measures import BANDS, SMALL, errors
from study.pool import KINDS, draw_pool

METHODS = ("paper", "ours")


def cells(scale: Scale) -> list[Parameters]:
    """Every kind of pool."""
    return [
        {"rows": scale.rows, "pool": kind, "predicates": scale.predicates, "repetition": repetition}
        for repetition in range(max(1, scale.repetitions // 2))
        for kind in KINDS
    ]


def measure(table: StudyTable, rows: int, pool: str, predicates: int, repetition: int) -> list[Row]:
    """Both on one pool."""
    table = table.first(rows)
    label = "pools", pool, rows, repetition
    asked = draw_pool(table, PLAIN, predicates, randomness_of(*label).stream("pool"), pool)
    true = asked.tallies(table.occupation, table.size("Occupation"))
    found = estimate_all(METHODS, DEFAULT_ELL, table, asked, *label)
    return [
        row
        for method, estimates in found.items()
        for row in labelled(
            errors(true, estimates, rows, (*BANDS, SMALL)),
            rows=rows,
            ell=DEFAULT_ELL,
            pool=pool,
            repetition=repetition,
            method=method,
        )
    ]
