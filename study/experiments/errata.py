"""Which of the paper's choices costs how much: groups, printed matrix, early stop, one by one."""

from __future__ import annotations

from study.data import PLAIN, StudyTable
from study.experiments.common import (
    Parameters,
    Row,
    Scale,
    decoy_choices,
    eligible,
    estimate_all,
    labelled,
    randomness_of,
)
from study.measures import BANDS, PASSING, SMALL, errors
from study.pool import draw_pool

ELLS = (2, 5, 10)


def cells(scale: Scale) -> list[Parameters]:
    """Half of the repetitions: the differences are large."""
    return [
        {"rows": scale.rows, "ell": ell, "predicates": scale.predicates, "repetition": repetition}
        for repetition in range(max(1, scale.repetitions // 2))
        for ell in ELLS
        if ell in scale.ells
    ]


def measure(table: StudyTable, rows: int, ell: int, predicates: int, repetition: int) -> list[Row]:
    """All steps between the paper's choices and ours on one pool."""
    table = table.first(rows)
    if not eligible(table.occupation, ell):
        return []
    label = "errata", rows, repetition
    pool = draw_pool(table, PLAIN, predicates, randomness_of(*label).stream("pool"))
    true = pool.tallies(table.occupation, table.size("Occupation"))
    found = estimate_all(tuple(decoy_choices(ell)), ell, table, pool, *label)
    return [
        row
        for method, estimates in found.items()
        for row in labelled(
            errors(true, estimates, rows, (*BANDS, PASSING[0], SMALL)),
            rows=rows,
            ell=ell,
            repetition=repetition,
            method=method,
        )
    ]
