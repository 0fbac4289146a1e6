"""The rows of Parquet files, row group by row group.

Enters: paths. Leaves: blocks like those of any source. Must not know: what the columns are for.

Text comes with the dictionary of its file. One thread reads a span: Arrow's own threads would
outlive an interrupt. Nothing of a file is kept between two reads but its metadata.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from countveil.errors import InputError
from countveil.tables.encoded.encoding import Form
from countveil.tables.encoded.plain_arrays import plain_schema
from countveil.tables.readers.blocks import NO_LABELS, Batch, Span, encode_batch, spans_of

_BATCH = 1 << 18


class ParquetBlocks:
    """One or several Parquet files of one layout."""

    in_memory = False
    labels = NO_LABELS

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
        self._text = {
            field.name
            for field in schemas[0]
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        }
        self.rows = sum(metadata.num_rows for metadata in self._metadata)
        self.spans = spans_of(
            [
                [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
                for metadata in self._metadata
            ]
        )

    def read(
        self, span: Span, columns: Mapping[str, Form], few: int | None = None
    ) -> Iterator[Batch]:
        """The row groups of a span."""
        size = _BATCH if few is None else max(1, min(_BATCH, few))
        coded = [
            name for name, form in columns.items() if name in self._text and form is not Form.RAW
        ]
        for number in sorted({number for number, _ in span.groups}):
            path, metadata = self._paths[number], self._metadata[number]
            groups = [group for owner, group in span.groups if owner == number]
            with _readable(path), pa.OSFile(str(path), "r") as raw:
                file = pq.ParquetFile(raw, metadata=metadata, read_dictionary=coded)
                for group in groups:
                    for batch in file.iter_batches(
                        size, row_groups=[group], columns=list(columns), use_threads=False
                    ):
                        yield encode_batch(batch, columns, self._missing)


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what Arrow says of a damaged file into one sentence."""
    try:
        yield
    except PermissionError as error:
        raise InputError(f"No permission to read {path}.") from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} is not a readable Parquet file: damaged or cut off.") from error
