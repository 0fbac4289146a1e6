"""Two sensitive attributes: occupation, and age in ten classes of equal frequency.

The paper's figure "Relative error for 2 sensitive attributes".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.comparing.baselines import DecoyGroups
from countveil.maths.channel import ChannelView
from countveil.maths.estimate import shrunk_counts
from countveil.maths.estimate.products import product_likelihood
from countveil.maths.paper import bayes_counts
from countveil.maths.paper.iteration import PAPER_TOLERANCE
from study.data import PLAIN, StudyTable
from study.experiments.common import Parameters, Row, Scale, eligible, labelled, randomness_of
from study.measures import SMALL, Band, errors
from study.pool import Pool, draw_pool

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

ASKED = tuple(name for name in PLAIN if name != "Age")
# The range that the paper reports, whole and in parts.
WHOLE = Band("passing", 0.001, 0.007)
PARTS = tuple(Band("band", low, low + 0.002) for low in (0.001, 0.003, 0.005))
METHODS = ("paper", "ours", "mixed-unbiased")


def cells(scale: Scale) -> list[Parameters]:
    """Every ell, both columns alike."""
    return [
        {
            "rows": scale.rows,
            "ell": ell,
            "predicates": scale.two_predicates,
            "repetition": repetition,
        }
        for repetition in range(scale.two_repetitions)
        for ell in scale.two_ells
    ]


def measure(table: StudyTable, rows: int, ell: int, predicates: int, repetition: int) -> list[Row]:
    """Every pair of values under every predicate."""
    table = table.first(rows)
    columns = table.occupation, table.age_class
    if not all(eligible(codes, ell) for codes in columns):
        return []
    label = "two_columns", rows, repetition
    pool = draw_pool(table, ASKED, predicates, randomness_of(*label).stream("pool"))
    shape = table.size("Occupation"), table.size("AgeClass")
    true = joint(pool, columns, shape)
    found: list[Row] = []
    for method in METHODS:
        estimates = _estimates(method, ell, columns, shape, pool, (*label, ell))
        found += labelled(
            errors(true, estimates, rows, (WHOLE, *PARTS, SMALL)),
            rows=rows,
            ell=ell,
            repetition=repetition,
            method=method,
        )
    return found


def _estimates(
    method: str,
    ell: int,
    columns: tuple[Codes, Codes],
    shape: tuple[int, int],
    pool: Pool,
    label: tuple[object, ...],
) -> Floats:
    groups = "anatomy" if method == "paper" else "mixed"
    published, views = published_pair(DecoyGroups(ell, groups), columns, shape, (*label, groups))
    y = joint(pool, published, shape)
    if method == "ours":
        return shrunk_counts(y, views)
    if method == "mixed-unbiased":
        estimate = product_likelihood(y, views, [y.sum(axis=2), y.sum(axis=1)]).estimate
        return np.nan_to_num(estimate, nan=0.0)
    everybody = np.bincount(np.ravel_multi_index(published, shape), minlength=shape[0] * shape[1])
    return bayes_counts(
        y,
        everybody.reshape(shape).astype(np.float64),
        [view.keep for view in views],
        channel="printed",
        tolerance=PAPER_TOLERANCE,
    ).estimate


def published_pair(
    choices: DecoyGroups,
    columns: tuple[Codes, Codes],
    shape: tuple[int, int],
    label: tuple[object, ...],
) -> tuple[tuple[Codes, Codes], list[ChannelView]]:
    """Each column published with groups and draws of its own."""
    first, second = (
        choices.publish(codes, size, randomness_of(*label, place))
        for place, (codes, size) in enumerate(zip(columns, shape, strict=True))
    )
    return (first.published, second.published), [first.view, second.view]


def joint(pool: Pool, columns: tuple[Codes, Codes], shape: tuple[int, int]) -> Floats:
    """Rows of every predicate by the values of both columns."""
    flat = np.ravel_multi_index(columns, shape)
    return pool.tallies(flat, shape[0] * shape[1]).reshape(-1, *shape)
