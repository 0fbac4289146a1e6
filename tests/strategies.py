"""Histograms and tables for property tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray


@st.composite
def eligible(
    draw: st.DrawFn, most_values: int = 12, most: int = 60
) -> tuple[NDArray[np.int64], int]:
    """Counts (some may be zero) and an ell for which they are eligible."""
    counts = draw(
        st.lists(st.integers(0, most), min_size=2, max_size=most_values).filter(
            lambda c: sum(c) >= 2 and sum(c) // max(c) >= 2
        )
    )
    ell = draw(st.integers(2, sum(counts) // max(counts)))
    return np.array(counts, np.int64), ell
