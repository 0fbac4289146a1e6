"""Histograms and tables for property tests, and how many examples these try."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

# `make test-slow` runs the property tests again, with all of their examples.
THOROUGH = bool(os.environ.get("COUNTVEIL_THOROUGH"))


def examples(most: int, **more: Any) -> settings:
    """So many examples in the slow suite; in the fast one a tenth of them, but five at least."""
    some = most if THOROUGH else min(most, max(5, most // 10))
    return settings(max_examples=some, deadline=None, **more)


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
