"""What only a table in this process can do.

Enters: nothing. Leaves: a protocol for those who look at every row: advice, comparison, the private
report, the record of publications. Must not know: any engine library. An engine whose rows are
elsewhere does without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from countveil.engines.contract import Result, Rows, SourceTable

if TYPE_CHECKING:
    from countveil.tables.encoded.encoding import EncodedColumn
    from countveil.tables.encoded.survey import CodedColumn, ColumnProfile, ValueRange


@runtime_checkable
class LocalTable(SourceTable, Protocol):
    """What only a table in this process can do: every row can be looked at."""

    def codes(self, column: str) -> Rows:
        """The position of every row's value among the values of the column's histogram."""

    def sample(self, most: int, columns: Sequence[str]) -> Mapping[str, CodedColumn]:
        """At most `most` rows, evenly spread, of those of the columns that hold plain values."""

    def profiles(self, columns: Sequence[str]) -> Mapping[str, ColumnProfile]:
        """The counts of those of the columns that hold plain values."""

    def value_ranges(self, columns: Sequence[str]) -> Mapping[str, ValueRange]:
        """What these columns hold, where that is known without reading any row again."""

    def unique_rows(self, columns: Sequence[str]) -> int:
        """How many rows have a combination of values of these columns that no other row has."""

    def each_span(
        self,
        columns: Sequence[str],
        look: Callable[[Mapping[str, Sequence[EncodedColumn]]], Result],
        *,
        needed_again: Sequence[str] = (),
    ) -> Iterator[Result]:
        """Call `look`, in threads, on some rows after the others, as they were read.

        Columns that are `needed_again` are read as publishing does, once for both if memory allows.
        """
