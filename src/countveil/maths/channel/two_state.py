"""The channel of one value s, seen as s / not s: two numbers.

    a = P(publish s | true value is s)          averaged over the tuples with s
    b = P(publish s | true value is not s)      averaged over the tuples without s

Published counts are unbiased, f = f a + (N - f) b, so b = f (1 - a) / (N - f). With all groups of
size ell, a = 1/ell and b = (ell - 1) f / (ell (N - f)).

The paper prints b = f / N. With it the published count would have the mean f (1/ell + 1 - f/N),
against the paper's own E[g] = f. `b_printed` keeps it, for reproduction only.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers = TypeVar("Numbers", float, NDArray[np.float64])

CHANNELS = ("exact", "printed")


def keep_probability(rows: int, ell: int) -> float:
    """a: the chance that a tuple publishes its own value.

    k = rows // ell groups have the sizes rows // k and, rows % k of them, one more. A value can be
    in any of them. The mean of 1/size over the groups is exact when all sizes are equal; otherwise
    only rows % k groups differ, and each value's own mean lies between the two sizes.
    """
    groups = rows // ell
    size, larger = divmod(rows, groups)
    return ((groups - larger) / size + larger / (size + 1)) / groups


def b_exact(count: Numbers, rows: float, keep: float) -> Numbers:
    """b: the chance that a tuple without s publishes s, for `count` tuples with s in the table."""
    return count * (1 - keep) / (rows - count)


def b_printed(count: Numbers, rows: float) -> Numbers:
    """The paper's b, which contradicts its own E[g] = f."""
    return count / rows
