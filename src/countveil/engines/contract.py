"""What every engine can do.

Enters: nothing. Leaves: the protocols, and the plain values that cross them. Must not know: any
engine library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    # Types only: an analyst who imports this contract loads nothing of the publisher's side.
    from countveil.mechanism import Dealer
    from countveil.query import Tally
    from countveil.randomness import Stream
    from countveil.source import Column

# stage, rows done, rows in all
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of a column's values.

    The order of values is the values' own (missing first): it tells nothing about the rows' order.
    """

    values: Sequence[Any]
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A data file that an engine wrote."""

    path: Path
    rows: int


@dataclass(frozen=True, slots=True)
class TallyResult:
    """What was counted.

    `keys[i]` are the group-by values of group i, `rows[i]` its rows, `published[i, v]` how many of
    them publish the v-th value of the domain (no columns without a sensitive column).
    """

    keys: Sequence[tuple[Any, ...]]
    rows: NDArray[np.int64]
    published: NDArray[np.int64]


class SourceTable(Protocol):
    """The publisher's table, opened."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    @property
    def columns(self) -> Sequence[Column]:
        """Names and types, in the table's order."""

    def histogram(self, column: str, without: NDArray[np.int64]) -> Histogram:
        """Count the values of a column, leaving out the rows with these numbers."""

    def publish(
        self,
        columns: Sequence[Column],
        dealers: Mapping[str, Dealer],
        without: NDArray[np.int64],
        shuffle: Stream,
        folder: Path,
        progress: Progress,
    ) -> list[WrittenFile]:
        """Write these columns in random row order, the ones with a dealer as it deals them."""


class ReleaseTable(Protocol):
    """A release's data, opened."""

    def tally(self, tally: Tally, domain: Sequence[Any]) -> TallyResult:
        """Count published values. `domain` gives the order of the sensitive column's values."""
