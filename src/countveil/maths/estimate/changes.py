"""By how much a total changed: what came, less what left.

Enters: estimates of the rows that only the later release has, and of those that only the earlier
one has. Leaves: `Estimates` of the difference. Must not know: SQL, which rows came and left.
Theory: docs/theory/cases.md, "Changes".

Rows that both releases have publish the same in both, so their errors cancel and they do not
count. What came and what left has an interval [l, u] around its unbiased estimate e each. The ends
of the difference are those of the method of variance estimates recovery (MOVER): as far below
e1 - e2 as both l1 is below e1 and u2 above e2, added like independent errors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.maths.estimate.estimates import Estimates

Floats = NDArray[np.float64]


def difference(came: Estimates, left: Estimates, points: tuple[Floats, Floats]) -> Estimates:
    """The difference of two independent totals.

    `came` and `left` are unbiased, with intervals; `points` are the estimates that are told, such
    as shrunk ones. Their difference is moved into the interval.
    """
    with np.errstate(invalid="ignore"):
        one, other = (np.clip(each.estimate, each.low, each.high) for each in (came, left))
        middle = one - other
        low = middle - np.hypot(one - came.low, left.high - other)
        high = middle + np.hypot(came.high - one, other - left.low)
        error = np.hypot(came.std_error, left.std_error)
        estimate = np.clip(points[0] - points[1], low, high)
    known = np.isfinite(error) & np.isfinite(estimate)
    return Estimates(
        np.where(np.isfinite(estimate), estimate, np.nan),
        np.where(known, error, np.nan),
        np.where(np.isfinite(low), low, -np.inf),
        np.where(np.isfinite(high), high, np.inf),
    )
