"""Relative errors by selectivity.

Enters: true counts and estimates of all queries of a pool. Leaves: rows of a tidy table: which
queries, how many, their mean relative error, how many are off by more than 30%. Must not know:
which method gave them.

The paper groups queries by selectivity, or takes all that pass a threshold; `kind` tells which.
Small counts are those from 1 to 10; a count of 0 has no relative error and is left out everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Row = dict[str, Any]

OFF = 0.3
SMALL_COUNT = 10
TOP = 0.05


@dataclass(frozen=True)
class Band:
    """Queries whose true count is more than `low` and at most `high` of the rows."""

    kind: str
    low: float
    high: float

    def holds(self, true: Floats, rows: int) -> NDArray[np.bool_]:
        """Which queries belong to it."""
        if self.kind == "small":
            return (true >= 1) & (true <= self.high)
        share = true / rows
        return (share > self.low) & (share <= self.high) & (true > 0)


SMALL = Band("small", 0, SMALL_COUNT)
EDGES = (0.0001, 0.001, 0.005, 0.01, 0.02, 0.05)
BANDS = tuple(Band("band", low, high) for low, high in pairwise(EDGES))
FINE = tuple(Band("fine", low, low + 0.01) for low in (0.01, 0.02, 0.03, 0.04))
# As the paper reports: everything that passes the threshold, up to its 5%.
PASSING = tuple(Band("passing", low, TOP) for low in (0.005, 0.01, 0.02, 0.03, 0.04))
USUAL = (*BANDS, *FINE, *PASSING, SMALL)


def errors(
    true: Floats, estimates: Floats, rows: int, bands: Sequence[Band] = USUAL
) -> Iterator[Row]:
    """One row per band that has queries. Estimates below 0 are read as 0, as anybody would."""
    relative = np.abs(np.maximum(estimates, 0.0) - true) / np.maximum(true, 1.0)
    for band in bands:
        inside = band.holds(true, rows)
        if not inside.any():
            continue
        here = relative[inside]
        yield {
            "kind": band.kind,
            "low": band.low,
            "high": band.high,
            "cells": int(inside.sum()),
            "error": float(here.mean()),
            # A little room, so that 0.3 * 10 is not less than 3.
            "off": float((here > OFF * (1 + 1e-9)).mean()),
        }
