"""One column released many times, for tests and benchmarks that compare estimates with the truth.

Enters: a column. Leaves: its codes, and the published codes of independent releases. ACS 2024 is
used where ../shared/data has it; it is not part of this project.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from countveil.maths.groups import ColumnSettings, form_groups
from countveil.maths.mechanism import Dealer, draw_published
from countveil.randomness import Randomness

SHARED = Path(__file__).parents[2] / "shared" / "data"

Codes = NDArray[np.int64]


def acs_2024(rows: int) -> pa.Table | None:
    """The first rows of ACS 2024, if it is at hand."""
    path = SHARED / "acs2024" / "acs2024_census_like_500k_A.csv.gz"
    return pa.csv.read_csv(path).slice(0, rows) if path.exists() else None


def coded(column: pa.ChunkedArray[Any]) -> Codes:
    """A column as numbers from 0."""
    values = column.to_numpy().astype(str)
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def releases(
    codes: Codes, settings: ColumnSettings, number: int, first: int = 0
) -> Iterator[Codes]:
    """The published codes of independent releases, each with groups of its own."""
    counts = np.bincount(codes)
    for seed in range(first, first + number):
        randomness = Randomness(seed)
        groups = form_groups(counts, settings, randomness.stream("groups"))
        drawn = draw_published(groups, randomness.stream("draw"))
        yield Dealer(drawn, randomness.stream("deal")).deal(codes)
