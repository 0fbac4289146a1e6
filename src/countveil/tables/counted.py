"""What is counted of a column: plain values that engines and the publisher pass to each other.

Enters: nothing. Leaves: frozen values. Must not know: any engine, any file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of a column's values.

    The order of values is the values' own (missing first): it tells nothing about the rows' order.
    """

    values: Sequence[Any]
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """Some rows of a column: each row's value as its rank among their values, missing first.

    `examples` are up to a thousand of the different known values.
    """

    codes: NDArray[np.int64]
    missing: int
    examples: Sequence[Any]

    @property
    def distinct(self) -> int:
        """Number of different known values."""
        return int(self.codes.max(initial=-1)) + 1 - int(self.missing > 0)


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """A column at a glance: rows without a value, and how often each known value occurs.

    `numbers` are these values where they are numbers or times, in the order of `counts`.
    """

    missing: int
    counts: NDArray[np.int64]
    numbers: NDArray[np.float64] | None


@dataclass(frozen=True, slots=True)
class Repeats:
    """Rows without a value, how many values have several rows, and the most rows of one."""

    missing: int
    several: int
    most: int
