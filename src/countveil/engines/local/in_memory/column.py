"""A column of a release in memory, as codes.

Enters: nothing. Leaves: the values that the modules about held releases pass to each other. Must
not know: any engine library.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint8] | NDArray[np.uint16]


class NotHeldError(Exception):
    """This cannot be told from codes; the files can tell."""


@dataclass(frozen=True)
class HeldColumn:
    """`codes[row]` is the rank of a row's value; `values[rank]` the value; `table` has them too."""

    codes: Codes
    values: list[Any]
    table: str
    whole: bool

    @cached_property
    def rank_of(self) -> dict[Any, int]:
        """The rank of each value."""
        return {value: rank for rank, value in enumerate(self.values)}

    @cached_property
    def numbers(self) -> NDArray[np.int64] | None:
        """The known values, where they are whole numbers."""
        known = self.values[: self.known]
        return np.array(known, np.int64) if self.whole else None

    @property
    def known(self) -> int:
        """How many values are not missing: they come first."""
        return len(self.values) - (self.values[-1:] == [None])
