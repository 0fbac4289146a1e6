"""What was drawn for the sensitive columns of a table, before any row has it.

Enters: tables of how many rows with a true value publish which value. Leaves: one value with all of
them, as `SourceTable.publish` takes it. Must not know: any engine library, how a draw is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from countveil.maths.mechanism import PublishedTable
    from countveil.tables.encoded.vectors import Vectors


@dataclass(frozen=True, slots=True)
class DrawnTogether:
    """Columns that publish another row's whole vector, and what was drawn for their vectors."""

    columns: tuple[str, ...]
    vectors: Vectors
    table: PublishedTable


@dataclass(frozen=True, slots=True)
class DrawnCases:
    """Columns that publish the same in all rows of a case, and what every case publishes.

    `vectors` are the cases: the values of the column `person` and of `columns` that occur together.
    `published` has, for each of the columns, the place of the value that every case publishes.
    `crowded` cases share a group with another case of their person. Where cases were drawn at
    different times, the new column `batch` says when: `batches` has its number for every case.
    """

    person: str
    columns: tuple[str, ...]
    vectors: Vectors
    published: Sequence[NDArray[np.int64]]
    crowded: int = 0
    batch: str | None = None
    batches: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def only(self, chosen: NDArray[np.bool_]) -> DrawnCases:
        """Some of the cases."""
        return replace(
            self,
            vectors=self.vectors.only(chosen),
            published=[places[chosen] for places in self.published],
            batches=self.batches[chosen] if self.batches.size else self.batches,
        )


@dataclass(frozen=True, slots=True)
class Drawn:
    """The draws of columns that are published apart, of sets that are published together, of cases.

    The rows with the numbers `without` are not published.
    """

    apart: Mapping[str, PublishedTable]
    together: Sequence[DrawnTogether] = ()
    cases: Sequence[DrawnCases] = ()
    without: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
