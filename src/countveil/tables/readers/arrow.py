"""The rows of Arrow files, batch by batch.

Enters: paths. Leaves: blocks as those of any source. Must not know: what the columns are for.

A file of the usual format (Feather too) has a list of its batches at its end and is read when its
rows are wanted, like Parquet; nothing of it is kept. A stream, or a file of the oldest format, has
no such list and is read as a whole.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from countveil.errors import InputError
from countveil.tables.encoded.arrow_arrays import plain_array, plain_schema
from countveil.tables.readers.blocks import Span, spans_of

_LISTED = b"ARROW1"


def has_list_of_batches(path: Path) -> bool:
    """Whether a file can be read batch by batch."""
    with path.open("rb") as file:
        return file.read(len(_LISTED)) == _LISTED


class ArrowBlocks:
    """One or several files of one layout."""

    read_again_at_once = False

    def __init__(self, paths: Sequence[Path], missing: Sequence[str] = ()) -> None:
        self._paths, self._missing = paths, missing
        files = []
        schemas = []
        for path in paths:
            with _opened(path) as reader:
                schemas.append(reader.schema.remove_metadata())
            # One column is enough to count rows.
            with _opened(path, columns=[0] if len(schemas[-1]) else []) as reader:
                numbers = range(reader.num_record_batches)
                files.append([reader.get_batch(number).num_rows for number in numbers])
        for path, schema in zip(paths, schemas, strict=True):
            if not schema.equals(schemas[0]):
                raise InputError(f"{path} has other columns or types than {paths[0]}.")
        self._names = schemas[0].names
        self.schema = plain_schema(schemas[0])
        self.spans: list[Span] = spans_of(files)
        self.rows = sum(map(sum, files))

    def read(
        self,
        span: Span,
        columns: Sequence[str],
        plain_text: Collection[str] = (),
        few: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """The batches of a span."""
        del plain_text, few
        places = sorted(self._names.index(name) for name in columns)
        for number in sorted({number for number, _ in span.groups}):
            with _opened(self._paths[number], columns=places) as reader:
                for owner, group in span.groups:
                    if owner == number:
                        batch = reader.get_batch(group)
                        at = batch.schema.get_field_index
                        yield {
                            name: plain_array(batch.column(at(name)), self._missing)
                            for name in columns
                        }


@contextlib.contextmanager
def _opened(path: Path, columns: Sequence[int] | None = None) -> Iterator[Any]:
    # One thread for each span is ours; Arrow's own would outlive an interrupt.
    options = pa.ipc.IpcReadOptions(
        use_threads=False, included_fields=None if columns is None else list(columns)
    )
    try:
        with pa.OSFile(str(path)) as raw, pa.ipc.open_file(raw, options=options) as reader:
            yield reader
    except PermissionError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} is not a readable Arrow file: damaged or cut off.") from error
