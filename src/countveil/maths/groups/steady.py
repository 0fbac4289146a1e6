"""Numbers that are the same on every machine, so that a seed gives the same groups everywhere.

Enters: floating-point numbers whose last bits depend on the processor. Leaves: the same numbers,
rounded to a coarser grid. Must not know: what they are used for.

Sums, products, quotients and roots of NumPy are the same everywhere. Matrix products, `exp`, `log`
and the trigonometric functions are not: libraries choose other code for other processors, and the
last bits differ. Swaps of groups depend on which of two nearly equal numbers is the smaller one, so
one bit ends in other groups. Rounded to 24 bits, two results differ only if they lie on both sides
of the middle between two steps: for 3,000 numbers with errors of 1e-14, about once in 2,000 tables.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_BITS = 24


def steady(values: Floats) -> Floats:
    """Rounded to 24 bits each."""
    step = np.ldexp(1.0, np.frexp(values)[1] - _BITS)
    rounded: Floats = np.rint(values / step) * step
    return rounded


def steady_meetings(pairs: Floats) -> Floats:
    """How often pairs meet, rounded to 24 bits, but no finer than where one meeting is.

    What is far below one is the difference of larger numbers, and all of its bits may be noise.
    """
    return steady(pairs + 1.0) - 1.0


def lowest(values: Floats, how_many: int) -> NDArray[np.int64]:
    """The places of the smallest values, in order; of equal ones the first.

    What a library's partial sort does with equal values depends on the processor.
    """
    if how_many >= values.size:
        return np.arange(values.size)
    last = np.partition(values, how_many - 1)[how_many - 1]
    chosen = values < last
    equal = np.flatnonzero(values == last)
    chosen[equal[: how_many - int(np.count_nonzero(chosen))]] = True
    return np.flatnonzero(chosen)
