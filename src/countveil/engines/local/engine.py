"""The engine that reads, publishes and writes in this process.

Enters: a table of any kind, a folder's name; later what was drawn, and the randomness. Leaves: an
opened table, with its counts, samples and Parquet files; a draft of a release. Must not know:
groups, ell.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.engines.contract import Result
from countveil.engines.drawn import Drawn
from countveil.engines.local.publish_rows import publish_rows
from countveil.engines.local.surveyed_table import SurveyedTable
from countveil.errors import InputError
from countveil.randomness import Randomness
from countveil.release.draft import Draft, WrittenFile, check_target, open_draft
from countveil.release.values import python_values
from countveil.system.process import in_order
from countveil.tables import Column, Reading, Shaping, TableFacts, check_named, describe_source
from countveil.tables.encoded.encoding import EncodedColumn, as_codes, row_count, some_rows
from countveil.tables.encoded.survey import (
    CodedColumn,
    ColumnProfile,
    Histogram,
    Repeats,
    ValueRange,
    check_countable,
    coded_column,
    column_profile,
    is_countable,
    repeats,
    value_range,
)
from countveil.tables.sources import open_blocks
from countveil.tables.storage.memory import KeptColumns, MemoryShares, memory_shares

if TYPE_CHECKING:
    from countveil.release.places import LocalPlaces
    from countveil.tables.encoded.vectors import Vectors

_SAMPLED_SPANS = 8


class LocalEngine:
    """See `Engine`."""

    local = True
    name = "embedded"

    @property
    def places(self) -> LocalPlaces:
        """Folders of this machine."""
        # Loaded only where there is a ledger.
        from countveil.release.places import LocalPlaces

        return LocalPlaces()

    def open_source(
        self, table: object, reading: Reading, shaping: Shaping, sensitive: Sequence[str]
    ) -> LocalSource:
        """Open a table, or the rows and columns of it that were chosen."""
        source = describe_source(table, reading.query)
        columns = reading.including([*sensitive, *shaping.persons, *shaping.weights]).columns
        memory = memory_shares(reading.memory, with_duckdb=reading.where is not None)
        kept = KeptColumns(memory.columns, reading.spill or Path(tempfile.gettempdir()))
        blocks = open_blocks(source, reading, kept)
        filtered_by: Sequence[str] = ()
        warnings: Sequence[str] = ()
        if reading.where is not None or columns or shaping.one_per is not None:
            from countveil.tables.readers.row_filter import filter_blocks

            blocks = filter_blocks(blocks, reading.where, columns, shaping.one_per)
            filtered_by, warnings = blocks.filtered_by, blocks.warnings
        if shaping.cells:
            from countveil.tables.readers.changed_cells import ChangedBlocks

            names = [Column(field.name, str(field.type)) for field in blocks.schema]
            check_named(names, shaping.cells)
            blocks = ChangedBlocks(blocks, shaping.cells)
        surveyed = SurveyedTable(blocks, memory.columns, reading.progress)
        return LocalSource(
            surveyed, memory, reading.spill, warnings=warnings, filtered_by=filtered_by
        )

    @contextlib.contextmanager
    def open_draft(
        self, to: str, *, force: bool, again: bool, dry_run: bool
    ) -> Iterator[Draft | None]:
        """A draft in a folder beside the target; none in a dry run."""
        if dry_run:
            check_target(Path(to), force=force, again=again)
            yield None
            return
        with open_draft(to, force=force, again=again) as draft:
            yield draft


class LocalSource:
    """See `LocalTable`."""

    def __init__(
        self,
        table: SurveyedTable,
        memory: MemoryShares,
        spill: Path | None,
        *,
        warnings: Sequence[str] = (),
        filtered_by: Sequence[str] = (),
    ) -> None:
        """`spill` is the folder for what exceeds the memory; by default, that of the release."""
        self._table, self._memory, self._spill = table, memory, spill
        self._warnings, self._filtered_by = warnings, filtered_by
        self._facts: TableFacts | None = None

    @property
    def facts(self) -> TableFacts:
        """The number of rows, the columns, and what the source itself says of them."""
        if self._facts is None:
            table = self._table
            columns = [Column(field.name, str(field.type)) for field in table.published_schema]
            self._facts = TableFacts(
                table.rows,
                columns,
                table.labels.values,
                self._warnings,
                self._filtered_by,
                table.labels.columns,
            )
        return self._facts

    def histogram(self, column: str, without: NDArray[np.int64] | None = None) -> Histogram:
        """Count the values of a column, leaving out some rows."""
        check_countable(column, self._table.schema.field(column).type)
        survey = self._table.counted([column])[column]
        counts = survey.counts
        if without is not None:
            counts = counts - self._table.counts_in(column, without)
        return Histogram(_domain_values(column, survey.values), counts)

    def vectors(self, columns: Sequence[str], without: NDArray[np.int64] | None = None) -> Vectors:
        """Count the combinations of values of some columns."""
        self._table.counted(columns)
        return self._table.vectors(columns, np.zeros(0, np.int64) if without is None else without)

    def value_ranges(self, columns: Sequence[str]) -> Mapping[str, ValueRange]:
        """Those of the columns that were surveyed and hold plain values."""
        ranges = {}
        for name in columns:
            survey = self._table.surveys.get(name)
            known = None if survey is None else value_range(survey)
            if known is not None:
                ranges[name] = known
        return ranges

    def rows_of(
        self, columns: Sequence[str], vectors: Vectors, chosen: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """The numbers of the rows whose combination is a chosen one of `vectors`, in order."""
        numbers = vectors.numbers([self.codes(name) for name in columns])
        return np.flatnonzero((numbers >= 0) & chosen[numbers])

    def repeats(self, column: str) -> Repeats:
        """How often the values of a column occur more than once."""
        if not self._countable([column]):
            # Says why.
            self.histogram(column)
        profile = self.profiles([column])[column]
        return repeats(profile.missing, profile.counts)

    def codes(self, column: str) -> NDArray[np.int64]:
        """The position of every row's value among the values of the column's histogram."""
        self._table.counted([column])
        spans = [
            self._table.places(column, self._table.encoded(span, [column])[column], np.int64)
            for span in self._table.spans
        ]
        return np.concatenate([np.zeros(0, np.int64), *spans])

    def sample(self, most: int, columns: Sequence[str]) -> Mapping[str, CodedColumn]:
        """At most `most` rows, evenly spread, of those of the columns that can be counted."""
        names = self._countable(columns)
        spans = self._table.spans
        if len(spans) <= _SAMPLED_SPANS:
            # The columns will be needed again, and are kept.
            self._table.survey(names)
            sampled = [self._table.encoded(span, names) for span in spans]
        else:
            places = np.linspace(0, len(spans) - 1, _SAMPLED_SPANS).astype(int)
            least = -(-most // _SAMPLED_SPANS)
            sampled = [self._table.read(spans[place], names, least) for place in places]
        sizes = [sum(map(row_count, next(iter(span.values()), []))) for span in sampled]
        rows = _evenly_spread(sizes, most)
        return {
            name: coded_column(
                [
                    self._table.recoded(name, as_codes(batch))
                    for span, span_rows in zip(sampled, rows, strict=True)
                    for batch in some_rows(span[name], span_rows)
                ]
            )
            for name in names
        }

    def on_sample(
        self,
        most: int,
        columns: Sequence[str],
        look: Callable[[Mapping[str, CodedColumn]], Result],
    ) -> Result:
        """Call `look` on a sample."""
        return look(self.sample(most, columns))

    def profiles(self, columns: Sequence[str]) -> Mapping[str, ColumnProfile]:
        """The counts of those of the columns that can be counted."""
        surveys = self._table.counted(self._countable(columns))
        return {name: column_profile(s.values, s.counts) for name, s in surveys.items()}

    def each_span(
        self,
        columns: Sequence[str],
        look: Callable[[Mapping[str, Sequence[EncodedColumn]]], Result],
        *,
        needed_again: Sequence[str] = (),
    ) -> Iterator[Result]:
        """Call `look` on some rows after the others, as they were read."""
        names = self._countable(columns)
        self._table.survey([name for name in names if name in needed_again])
        return in_order(lambda span: look(self._table.as_read(span, names)), self._table.spans)

    def unique_rows(self, columns: Sequence[str]) -> int:
        """How many rows have a combination of values of these columns that no other row has."""
        together = np.zeros(self._table.rows, np.int64)
        for name, survey in self._table.counted(columns).items():
            joint = together * survey.counts.size + self.codes(name)
            together = np.unique(joint, return_inverse=True)[1].astype(np.int64)
        return int((np.bincount(together) == 1).sum())

    def recode(self, column: str, values: Sequence[str | None]) -> None:
        """Put a text in place of each value of the column's histogram."""
        self._table.counted([column])[column].recode(values)
        # The type of the column may be another one now.
        self._facts = None

    def declare(self, column: str, values: Sequence[Any]) -> None:
        """Give the column's histogram these values too."""
        self._table.counted([column])[column].declare(values)

    def publish(
        self, columns: Sequence[Column], drawn: Drawn, randomness: Randomness, folder: str | Path
    ) -> list[WrittenFile]:
        """Write these columns in random row order, with the sensitive values that were drawn."""
        names = [column.name for column in columns]
        folder = Path(folder)
        return publish_rows(
            self._table, names, drawn, randomness, folder, self._memory, self._spill or folder
        )

    def _countable(self, columns: Sequence[str]) -> list[str]:
        kinds = {field.name: field.type for field in self._table.schema}
        return [name for name in columns if is_countable(kinds[name])]


def _evenly_spread(sizes: Sequence[int], most: int) -> list[NDArray[np.int64]]:
    """The numbers of at most `most` rows, evenly from spans of these sizes."""
    total = sum(sizes)
    counts = [size if total <= most else size * most // total for size in sizes]
    return [
        np.arange(count) * size // max(count, 1) for size, count in zip(sizes, counts, strict=True)
    ]


def _domain_values(column: str, values: pa.Array[Any]) -> list[Any]:
    """The values of a sensitive column, no two of which may become one in Python."""
    try:
        return python_values(values)
    except (pa.ArrowInvalid, ValueError, OverflowError):
        raise InputError(
            f"Column {column!r} holds times finer than a microsecond, or outside the years 1 to "
            f"9999, and cannot be protected as it is. Round them first."
        ) from None
