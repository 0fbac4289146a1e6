"""What an engine must do, to publish a table and to answer questions about a release.

Enters: nothing. Leaves: the protocols that `publishing` and `asking` go through. Must not know: any
engine library.

    to publish      an `Engine` opens a `SourceTable`, which is counted, recoded, looked at and
                    published, and a `ReleaseDraft` (`release/draft.py`), into which it is written
    to query        a function `open_release(place)` gives an `OpenedRelease`: the manifest, and a
                    `ReleaseTable`, which is tallied

`engines/choice.py` chooses; a new engine is registered there. tests/engines/conformance runs the
same tests against every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

    # Types only: an analyst who imports this contract loads nothing of the publisher's side.
    from countveil.engines.drawn import Drawn
    from countveil.randomness import Randomness
    from countveil.release import Manifest
    from countveil.release.draft import ReleaseDraft, WrittenFile
    from countveil.release.places import Places
    from countveil.sql.query import Tally, TallyResult
    from countveil.sql.query.axes import Axis
    from countveil.sql.query.expressions import Expression
    from countveil.tables import Column, Reading, Shaping, TableFacts
    from countveil.tables.encoded.survey import CodedColumn, Histogram, Repeats
    from countveil.tables.encoded.vectors import Vectors

Result = TypeVar("Result")
Rows = NDArray[np.int64]
Domains = Sequence[Sequence[Any]]


class Engine(Protocol):
    """Where a table is read and a release is written."""

    @property
    def name(self) -> str:
        """What `engines/choice.py` calls it."""

    @property
    def local(self) -> bool:
        """Whether tables are `LocalTable`s (`engines/local_table.py`) and drafts folders here."""

    @property
    def places(self) -> Places:
        """Where releases can be, to look at."""

    def open_source(
        self, table: object, reading: Reading, shaping: Shaping, sensitive: Sequence[str]
    ) -> SourceTable:
        """Open a table, or the rows and columns of it that were chosen."""

    def open_draft(
        self, to: str, *, force: bool, again: bool, dry_run: bool
    ) -> AbstractContextManager[ReleaseDraft | None]:
        """A draft, removed if it is not committed; a dry run only checks where it would go.

        TargetError if it cannot go there; it replaces a release only with `force` and `again`.
        """


class SourceTable(Protocol):
    """The publisher's table, opened, wherever its rows are."""

    @property
    def facts(self) -> TableFacts:
        """The number of rows, the columns, and what the source itself says of them."""

    def histogram(self, column: str, without: Rows | None = None) -> Histogram:
        """Count the values of a column, except in the rows with the numbers `without`."""

    def vectors(self, columns: Sequence[str], without: Rows | None = None) -> Vectors:
        """Count the combinations of values of some columns, by places in their histograms."""

    def rows_of(self, columns: Sequence[str], vectors: Vectors, chosen: NDArray[np.bool_]) -> Rows:
        """The numbers of the rows whose combination is a chosen one of `vectors`, in order.

        The first of the columns identifies persons.
        """

    def repeats(self, column: str) -> Repeats:
        """How often values occur more than once, however many different ones there are."""

    def recode(self, column: str, values: Sequence[str | None]) -> None:
        """Replace the i-th value of the column's histogram by `values[i]`; it becomes text."""

    def declare(self, column: str, values: Sequence[Any]) -> None:
        """Give the column's histogram these values too, with no row so far."""

    def on_sample(
        self, most: int, columns: Sequence[str], look: Callable[[Mapping[str, CodedColumn]], Result]
    ) -> Result:
        """Call `look`, where the rows are, on at most `most` rows, evenly spread."""

    def publish(
        self, columns: Sequence[Column], drawn: Drawn, randomness: Randomness, folder: str | Path
    ) -> Sequence[WrittenFile]:
        """Write these columns in random row order, with the sensitive values that were drawn."""


class ReleaseTable(Protocol):
    """The rows of a release, opened. `domains` give the order of each sensitive column's values."""

    def tally(self, tally: Tally, domains: Domains) -> TallyResult:
        """Count published values."""

    def tally_each(
        self,
        conditions: Sequence[Expression],
        sensitive: Sequence[str],
        domains: Domains,
        axes: Sequence[Axis] = (),
    ) -> NDArray[np.float64]:
        """Count published values under each of many conditions: `counts[condition, *published]`."""

    def rows(self, columns: Sequence[str]) -> pa.Table:
        """All rows, of these columns."""


@dataclass(frozen=True, slots=True)
class OpenedRelease:
    """A release at its place. The rows are opened by the first question about them."""

    manifest: Manifest
    open_table: Callable[[], ReleaseTable]
