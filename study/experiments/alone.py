"""The sensitive attribute alone, against ell and against selectivity.

The paper's figures "Relative error versus ell for SA querying" and "versus selectivity". The
estimate of a value's count is its published count, whatever the groups. Large counts are those of
the usual sample; to have counts of 10 and less, a sample of 2,000 rows is published too.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from countveil.maths.groups import ColumnSettings, form_groups
from countveil.maths.mechanism import draw_published
from study.data import StudyTable
from study.experiments.common import Parameters, Row, Scale, eligible, labelled, randomness_of
from study.measures import SMALL, Band, errors

GROUPS = {"paper": "anatomy", "ours": "mixed"}
SMALL_SAMPLE = 2_000
EDGES = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1)
SHARES = tuple(Band("band", low, high) for low, high in pairwise(EDGES))
_DRAWS = 20


def cells(scale: Scale) -> list[Parameters]:
    """Every ell, both samples."""
    return [
        {"rows": rows, "ell": ell, "repetition": repetition}
        for repetition in range(scale.repetitions)
        for rows in (scale.rows, SMALL_SAMPLE)
        for ell in scale.ells
    ]


def measure(table: StudyTable, rows: int, ell: int, repetition: int) -> list[Row]:
    """The mean over some draws with the same groups."""
    codes = table.first(rows).occupation
    if not eligible(codes, ell):
        return []
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    true = np.tile(counts.astype(np.float64), (_DRAWS, 1))
    bands = (Band("passing", 0.005, 1.0), *SHARES) if rows > SMALL_SAMPLE else (SMALL,)
    found: list[Row] = []
    for method, groups in GROUPS.items():
        source = randomness_of("alone", rows, ell, repetition, groups)
        formed = form_groups(counts, ColumnSettings(ell, groups), source.stream("groups"))
        stream = source.stream("draw")
        drawn = [draw_published(formed, stream).published() for _ in range(_DRAWS)]
        found += labelled(
            errors(true, np.array(drawn, np.float64), rows, bands),
            rows=rows,
            ell=ell,
            repetition=repetition,
            method=method,
        )
    return found
