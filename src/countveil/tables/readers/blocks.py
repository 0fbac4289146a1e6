"""The rows of a source, block by block.

Enters: a table in memory, or paths of Parquet files. Leaves: for a span of rows, the wished columns
as Arrow arrays, a batch at a time; text from Parquet comes with its dictionary. Must not know: what
the columns are for.

Parquet files are read through paths, in one thread per span: Arrow's own threads would outlive an
interrupt. Nothing of a file is kept between two reads but its metadata.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from countveil.errors import InputError
from countveil.tables.encoded.arrow_arrays import plain_array, plain_schema

_BATCH = 1 << 18
_LEAST_SPAN, _MOST_SPAN = 1 << 17, 1 << 20
_SPANS = 16


@dataclass(frozen=True, slots=True)
class Span:
    """Neighbouring rows that one thread reads: their place, and for files their row groups."""

    number: int
    first: int
    rows: int
    groups: tuple[tuple[int, int], ...] = ()


class Blocks(Protocol):
    """A source that can be read span by span, again and again."""

    schema: Any
    rows: int
    spans: list[Span]

    @property
    def read_again_at_once(self) -> bool:
        """Whether nothing is gained by keeping what was read."""

    def read(
        self,
        span: Span,
        columns: Sequence[str],
        plain_text: Collection[str] = (),
        few: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """The columns of a span in batches; those in `plain_text` without dictionary.

        Who says `few` will stop after about so many rows.
        """


class TableBlocks:
    """A table in memory."""

    read_again_at_once = False

    def __init__(self, table: Any) -> None:
        self._table = table
        self.schema = table.schema
        self.rows = int(table.num_rows)
        self.spans = _cut(self.rows)

    def read(
        self,
        span: Span,
        columns: Sequence[str],
        plain_text: Collection[str] = (),
        few: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Slices of the table."""
        del plain_text, few
        part = self._table.slice(span.first, span.rows).select(list(columns))
        for batch in part.to_batches():
            yield dict(zip(columns, batch.columns, strict=True))


class ParquetBlocks:
    """One or several Parquet files of one layout."""

    read_again_at_once = False

    def __init__(self, paths: Sequence[Path], missing: Sequence[str] = ()) -> None:
        self._paths = paths
        self._missing = missing
        self._metadata = []
        schemas = []
        for path in paths:
            with _readable(path), path.open("rb") as raw, pq.ParquetFile(raw) as file:
                self._metadata.append(file.metadata)
                schemas.append(file.schema_arrow.remove_metadata())
        for path, schema in zip(paths, schemas, strict=True):
            if not schema.equals(schemas[0]):
                raise InputError(f"{path} has other columns or types than {paths[0]}.")
        self.schema = plain_schema(schemas[0])
        self._text = [field.name for field in schemas[0] if _is_text(field.type)]
        self.rows = sum(metadata.num_rows for metadata in self._metadata)
        self.spans = spans_of(
            [
                [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
                for metadata in self._metadata
            ]
        )

    def read(
        self,
        span: Span,
        columns: Sequence[str],
        plain_text: Collection[str] = (),
        few: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """The row groups of a span."""
        size = _BATCH if few is None else max(1, min(_BATCH, few))
        coded = [name for name in self._text if name in columns and name not in plain_text]
        for number in sorted({number for number, _ in span.groups}):
            path, metadata = self._paths[number], self._metadata[number]
            groups = [group for owner, group in span.groups if owner == number]
            with _readable(path), pa.OSFile(str(path)) as raw:
                file = pq.ParquetFile(raw, metadata=metadata, read_dictionary=coded)
                for group in groups:
                    for batch in file.iter_batches(
                        size, row_groups=[group], columns=list(columns), use_threads=False
                    ):
                        places = batch.schema.get_field_index
                        yield {
                            name: plain_array(batch.column(places(name)), self._missing)
                            for name in columns
                        }


def spans_of(files: Sequence[Sequence[int]]) -> list[Span]:
    """Spans of files whose groups of rows have these sizes."""
    size = _span_rows(sum(map(sum, files)))
    spans: list[Span] = []
    first, rows, groups = 0, 0, []
    for number, sizes in enumerate(files):
        for group, own in enumerate(sizes):
            rows += own
            groups.append((number, group))
            if rows >= size:
                spans.append(Span(len(spans), first, rows, tuple(groups)))
                first, rows, groups = first + rows, 0, []
    if rows:
        spans.append(Span(len(spans), first, rows, tuple(groups)))
    return spans


def _span_rows(rows: int) -> int:
    return min(max(rows // _SPANS, _LEAST_SPAN), _MOST_SPAN)


def _cut(rows: int) -> list[Span]:
    size = _span_rows(rows)
    return [
        Span(number, first, min(size, rows - first))
        for number, first in enumerate(range(0, rows, size))
    ]


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what Arrow says of a damaged file into one sentence."""
    try:
        yield
    except PermissionError as error:
        raise InputError(f"No permission to read {path}.") from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} is not a readable Parquet file: damaged or cut off.") from error
