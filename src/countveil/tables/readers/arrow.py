"""The rows of Arrow files, batch by batch.

Enters: paths. Leaves: blocks like those of any source. Must not know: what the columns are for.

A file of the usual format (Feather too) has a list of its batches at its end and is read when its
rows are wanted, like Parquet; nothing of it is kept. A stream, or a file of the oldest format, has
no such list and is read as a whole.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from countveil.errors import InputError
from countveil.tables.encoded.encoding import Form
from countveil.tables.encoded.plain_arrays import plain_schema, plain_table
from countveil.tables.readers.blocks import (
    NO_LABELS,
    Batch,
    Blocks,
    Span,
    TableBlocks,
    encode_batch,
    spans_of,
)

_LISTED = b"ARROW1"


def open_arrow_files(paths: Sequence[Path], missing: Sequence[str]) -> Blocks:
    """The rows of files of one layout; texts in `missing` mean a missing value."""
    if all(map(_has_list_of_batches, paths)):
        return ArrowBlocks(paths, missing)
    tables = [_whole_table(path) for path in paths]
    _check_same_layout(paths, [table.schema for table in tables])
    return TableBlocks(plain_table(pa.concat_tables(tables), missing))


def _has_list_of_batches(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_LISTED)) == _LISTED


def _whole_table(path: Path) -> pa.Table:
    from pyarrow import feather

    try:
        with path.open("rb") as file:
            table: pa.Table = feather.read_table(file)
            return table.replace_schema_metadata(None)
    except PermissionError:
        raise
    except (pa.ArrowException, OSError) as first:
        try:
            with path.open("rb") as file, pa.ipc.open_stream(file) as reader:
                table = reader.read_all()
                return table.replace_schema_metadata(None)
        except (pa.ArrowException, OSError):
            raise InputError(f"{path} is not a readable Arrow file: damaged or cut off.") from first


def _check_same_layout(paths: Sequence[Path], schemas: Sequence[pa.Schema]) -> None:
    for path, schema in zip(paths, schemas, strict=True):
        if not schema.equals(schemas[0]):
            raise InputError(f"{path} has other columns or types than {paths[0]}.")


class ArrowBlocks:
    """One or several files of one layout."""

    in_memory = False
    labels = NO_LABELS

    def __init__(self, paths: Sequence[Path], missing: Sequence[str] = ()) -> None:
        self._paths, self._missing = paths, missing
        files = []
        schemas: list[pa.Schema] = []
        for path in paths:
            with _opened(path) as reader:
                schemas.append(reader.schema.remove_metadata())
            # One column is enough to count rows.
            with _opened(path, columns=[0] if len(schemas[-1]) else []) as reader:
                numbers = range(reader.num_record_batches)
                files.append([reader.get_batch(number).num_rows for number in numbers])
        _check_same_layout(paths, schemas)
        self._names = schemas[0].names
        self.schema = plain_schema(schemas[0])
        self.spans: list[Span] = spans_of(files)
        self.rows = sum(map(sum, files))

    def read(
        self, span: Span, columns: Mapping[str, Form], few: int | None = None
    ) -> Iterator[Batch]:
        """The batches of a span."""
        del few
        places = sorted(self._names.index(name) for name in columns)
        for number in sorted({number for number, _ in span.groups}):
            with _opened(self._paths[number], columns=places) as reader:
                for owner, group in span.groups:
                    if owner == number:
                        yield encode_batch(reader.get_batch(group), columns, self._missing)


@contextlib.contextmanager
def _opened(path: Path, columns: Sequence[int] | None = None) -> Iterator[Any]:
    # We have one thread for each span; Arrow's own threads would outlive an interrupt.
    options = pa.ipc.IpcReadOptions(
        use_threads=False, included_fields=None if columns is None else list(columns)
    )
    try:
        with pa.OSFile(str(path), "r") as raw, pa.ipc.open_file(raw, options=options) as reader:
            yield reader
    except PermissionError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} is not a readable Arrow file: damaged or cut off.") from error
