"""What every engine can do.

Enters: nothing. Leaves: the protocols, and the plain values that cross them. Must not know: any
engine library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    # Types only: an analyst who imports this contract loads nothing of the publisher's side.
    from countveil.maths.mechanism import PublishedTable
    from countveil.randomness import Randomness
    from countveil.release import DataFile, Manifest, ReportFile, Signer
    from countveil.sql.query import Tally
    from countveil.sql.query.expressions import Expression
    from countveil.tables import Choices, Column
    from countveil.tables.counted import CodedColumn, ColumnProfile, Histogram, Repeats
    from countveil.tables.progress import Progress

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A data file that an engine wrote into a draft."""

    path: Path
    rows: int


@dataclass(frozen=True, slots=True)
class TallyResult:
    """What was counted.

    `keys[g]` are the group-by values of group g. `truths[p, c]` says whether condition c holds in
    pattern p. `moments[0, g, p, *published]` counts the rows of a group that show a pattern and
    publish these sensitive values; `moments[1 + 2i]` and `moments[2 + 2i]` sum argument i and its
    square over them. `lowest[i]` is the smallest value of argument i, or 0 if none is negative.
    """

    keys: Sequence[tuple[Any, ...]]
    truths: NDArray[np.bool_]
    moments: NDArray[np.float64]
    lowest: NDArray[np.float64]


class SourceTable(Protocol):
    """The publisher's table, opened, wherever its rows are."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    @property
    def columns(self) -> Sequence[Column]:
        """Names and types, in the table's order."""

    @property
    def warnings(self) -> Sequence[str]:
        """Sentences for the publisher about where the table is."""

    @property
    def labels(self) -> Mapping[str, Mapping[str, str]]:
        """What the source itself says that the codes of columns stand for."""

    def histogram(self, column: str, without: NDArray[np.int64]) -> Histogram:
        """Count the values of a column, leaving out the rows with these numbers."""

    def repeats(self, column: str) -> Repeats:
        """How often the values of a column come again, however many there are."""

    def on_sample(
        self,
        most: int,
        columns: Sequence[str],
        look: Callable[[Mapping[str, CodedColumn]], Found],
    ) -> Found:
        """What `look` finds in at most so many rows spread evenly, looking where the rows are.

        It sees those of the columns that hold plain values.
        """

    def recode(self, column: str, values: Sequence[str | None]) -> None:
        """Replace the i-th value of the column's histogram by `values[i]`; it becomes text."""

    def publish(
        self,
        columns: Sequence[Column],
        drawn: Mapping[str, PublishedTable],
        without: NDArray[np.int64],
        randomness: Randomness,
        folder: str | Path,
        progress: Progress,
    ) -> Sequence[WrittenFile]:
        """Write these columns in random row order, the protected ones dealt as was drawn."""


@runtime_checkable
class LocalTable(SourceTable, Protocol):
    """A table in this process, of which every row can be looked at here."""

    def codes(self, column: str) -> NDArray[np.int64]:
        """The position of every row's value among the values of the column's histogram."""

    def sample(self, most: int, columns: Sequence[str]) -> Mapping[str, CodedColumn]:
        """Those of the columns that hold plain values, of at most so many rows spread evenly."""

    def profiles(self, columns: Sequence[str]) -> Mapping[str, ColumnProfile]:
        """Those of the columns that hold plain values, at a glance."""

    def unique_rows(self, columns: Sequence[str]) -> int:
        """How many rows are alone with their combination of values of these columns."""


class ReleaseDraft(Protocol):
    """A release in the making, on whatever file system it will be."""

    @property
    def data(self) -> str | Path:
        """The folder for data files."""

    def listed(self, files: Iterable[tuple[str, int]]) -> tuple[DataFile, ...]:
        """Data files (name and rows) as the manifest lists them."""

    def add_report(self, page: str) -> ReportFile:
        """Put the page for people beside the data; the manifest has to name what comes back."""

    def commit(
        self,
        manifest: Manifest,
        before: Callable[[], None] | None = None,
        signer: Signer | None = None,
    ) -> None:
        """Write the manifest and put the release in its place."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read: how much may be held in memory at once, where the rest goes, who is told."""

    memory: str | int | None = None
    spill: Path | None = None
    progress: Progress | None = None


class Engine(Protocol):
    """Where a table is read and a release is written."""

    @property
    def local(self) -> bool:
        """Whether tables and drafts are in this process and on its own file system."""

    def at_work(self) -> AbstractContextManager[None]:
        """While a table is published."""

    def open_source(
        self, table: object, choices: Choices, sensitive: Sequence[str], reading: Reading
    ) -> SourceTable:
        """Open a table, or the part of it that was asked for."""

    def check_target(self, to: str, *, force: bool) -> None:
        """Refuse a place where no release can be put."""

    def open_draft(self, to: str, *, force: bool) -> AbstractContextManager[ReleaseDraft]:
        """A draft of a release; left without a commit, it is gone."""


class ReleaseTable(Protocol):
    """A release's data, opened."""

    def tally(self, tally: Tally, domains: Sequence[Sequence[Any]]) -> TallyResult:
        """Count published values. `domains` give the order of each sensitive column's values."""

    def tally_each(
        self,
        conditions: Sequence[Expression],
        sensitive: Sequence[str],
        domains: Sequence[Sequence[Any]],
    ) -> NDArray[np.float64]:
        """Count published values under each of many conditions: `counts[condition, *published]`."""
