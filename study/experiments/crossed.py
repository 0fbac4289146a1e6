"""Two and three sensitive columns, crossed: published together, apart, and by other methods.

Beyond the paper, which publishes each column by itself. Occupation with age in ten classes; with
marital status as the third. Ours together and apart at the same ell, and together at the ell whose
mean belief in the true combination is that of the columns apart; Anatomy, invariant PRAM and
randomised response on the grid of all combinations, the last two with the mean belief of ours
together; Laplace noise.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from countveil.comparing.baselines import Anatomy, DecoyGroups, PublishingMethod
from countveil.comparing.together_entrants import together_lineup
from study.data import PLAIN, StudyTable
from study.experiments.common import (
    Parameters,
    Row,
    Scale,
    labelled,
    placed,
    protection,
    randomness_of,
)
from study.measures import SMALL, Band, errors
from study.pool import draw_pool

Codes = NDArray[np.int64]

COLUMNS: Mapping[int, tuple[str, ...]] = {
    2: ("Occupation", "AgeClass"),
    3: ("Occupation", "AgeClass", "Marital"),
}
ELLS = (2, 4, 8)
EPSILON, QUERIES, REPETITIONS = 0.05, 100, 5
# The range that the paper reports for two columns, and those beside it.
BANDS = (
    Band("band", 0.0005, 0.001), Band("passing", 0.001, 0.007), Band("band", 0.007, 0.02), SMALL,
)  # fmt: skip
_NAMES = {
    "countveil, together": "together",
    "together, unbiased": "together-unbiased",
    "countveil, apart": "apart",
    "apart, unbiased": "apart-unbiased",
    "together, larger ell": "together-matched",
    "Anatomy": "anatomy",
    f"Laplace, eps {EPSILON:g}": f"laplace-{EPSILON:g}",
    "k-RR, same belief": "response",
    "PRAM, same belief": "pram",
}


def cells(scale: Scale) -> list[Parameters]:
    """Two and three columns at every ell."""
    return [
        {
            "rows": scale.rows,
            "columns": columns,
            "ell": ell,
            "predicates": min(QUERIES, scale.two_predicates),
            "repetition": repetition,
        }
        for repetition in range(min(REPETITIONS, scale.two_repetitions))
        for columns in COLUMNS
        for ell in ELLS
        if ell in scale.two_ells
    ]


def measure(
    table: StudyTable, rows: int, columns: int, ell: int, predicates: int, repetition: int
) -> list[Row]:
    """Every method on one pool: errors of combinations, and what a linked row gives away."""
    table = table.first(rows)
    names = COLUMNS[columns]
    shape = tuple(table.size(name) for name in names)
    flat = np.ravel_multi_index([table.columns[name] for name in names], shape)
    codes, size = flat.astype(np.int64), int(np.prod(shape))
    counts = np.bincount(codes, minlength=size)
    label = "crossed", rows, columns, repetition
    # Age classes tell the age, so nobody asks for it.
    asked = [name for name in PLAIN if name not in ("Age", *names)]
    pool = draw_pool(table, asked, predicates, randomness_of(*label).stream("pool"))
    true = pool.tallies(codes, size)
    found: list[Row] = []
    for name, method in methods(counts, shape, ell).items():
        # Estimates of one mechanism are made from one publication.
        source = randomness_of(*label, ell, name.removesuffix("-unbiased"))
        published = method.publish(codes, size, source)
        more = {"rows": rows, "columns": columns, "ell": ell, "repetition": repetition}
        estimates = published.counts_of(pool.predicates)
        found += labelled(errors(true, estimates, rows, BANDS), **more, method=name)
        used = method.ell if isinstance(method, DecoyGroups | Anatomy) else ell
        told = protection(published.belief(), codes)
        # Where a method stands follows from the table, which is the same in every repetition.
        place = placed(method, counts) if repetition == 0 else {}
        found.append({**more, "method": name, **told, "used_ell": used, **place})
    return found


def methods(counts: Codes, shape: tuple[int, ...], ell: int) -> Mapping[str, PublishingMethod]:
    """As `countveil compare --together` matches them, by their short names."""
    return {
        _NAMES[entrant.name]: entrant.method
        for entrant in together_lineup(counts, shape, ell, EPSILON, QUERIES)
        if entrant.method is not None
    }
