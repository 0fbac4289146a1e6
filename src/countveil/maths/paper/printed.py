"""Formulas as the paper prints them.

Enters: numbers. Leaves: what the paper's formulas give. Must not know: estimators, releases. Each
contradicts the paper's own E[g] = f; docs/theory/channel.md shows where and states the correct one.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers = TypeVar("Numbers", float, NDArray[np.float64])


def b_printed(count: Numbers, rows: float) -> Numbers:
    """The paper's chance that a row without s publishes s: b = f / N.

    With it the published count would have the mean f (1/ell + 1 - f/N). `maths.channel.b_exact` is
    the correct one.
    """
    return count / rows
