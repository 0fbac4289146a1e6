"""Files of SPSS, Stata and SAS as blocks, with the labels of their columns and values.

Enters: a path. Leaves: blocks with what columns are and what their codes stand for. Must not know:
what the columns are for.

These formats store numbers as floating point and missing text as blanks: columns of whole numbers
become whole numbers, blanks become missing. What the file declares to be missing is missing. Rows
are read some thousands at a time.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from countveil.errors import InputError, MissingExtraError
from countveil.release.steps import code_text
from countveil.tables import Reading
from countveil.tables.readers.blocks import Labels
from countveil.tables.readers.statistical_times import SAS, SPSS, STATA, Counting, times_of
from countveil.tables.readers.streams import StreamBlocks
from countveil.tables.storage.memory import KeptColumns

BATCH_ROWS, _FIRST_ROWS = 1 << 16, 1_000
_READERS = {
    ".sav": ("read_sav", SPSS), ".zsav": ("read_sav", SPSS), ".por": ("read_por", SPSS),
    ".dta": ("read_dta", STATA), ".sas7bdat": ("read_sas7bdat", SAS), ".xpt": ("read_xport", SAS),
}  # fmt: skip
_KINDS: Sequence[tuple[type, pa.DataType]] = (
    (dt.datetime, pa.timestamp("us")),
    (dt.date, pa.date32()),
    (dt.time, pa.time64("us")),
    (str, pa.string()),
)


def open_stat_file(paths: Sequence[Path], reading: Reading, kept: KeptColumns) -> StreamBlocks:
    """The rows of a file."""
    path = paths[0]
    if len(paths) > 1:
        raise InputError("Files of SPSS, Stata and SAS are read one at a time; name one.")
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError("pyreadstat", "stat") from None
    reader, counting = _READERS[path.suffix.lower()]
    with _explained(path, pyreadstat):
        file = _StatFile(getattr(pyreadstat, reader), path, counting)
        schema = pa.schema([pa.field(name, file.kind(name)) for name in file.names])
        batches, labels = file.batches(schema), file.labels()
        return StreamBlocks(schema, batches, reading, kept, labels=labels, whole_numbers=True)


class _StatFile:
    """A file, some rows at a time."""

    def __init__(self, read: Any, path: Path, counting: Counting) -> None:
        self._read, self._path, self._counting = read, path, counting
        self._first, self._meta = self._rows(0)
        self.names: list[str] = list(self._meta.column_names)

    def _rows(
        self,
        start: int,
        columns: Sequence[str] | None = None,
        *,
        rows: int | None = None,
        dates: bool = False,
    ) -> tuple[dict[str, Any], Any]:
        """Some rows; with `dates`, dates and times come as such and not as numbers."""
        values, meta = self._read(
            str(self._path),
            output_format="dict",
            row_offset=start,
            row_limit=rows or BATCH_ROWS,
            usecols=None if columns is None else list(columns),
            disable_datetime_conversion=not dates,
        )
        return values, meta

    def kind(self, name: str) -> pa.DataType:
        """The type of a column: text as the file declares, a time as its first value shows."""
        if self._meta.readstat_variable_types[name] == "string":
            return pa.string()
        start, size = 0, _FIRST_ROWS
        while values := self._rows(start, [name], rows=size, dates=True)[0].get(name, []):
            known = next((value for value in values if value is not None), None)
            if known is not None:
                return next(
                    (kind for python, kind in _KINDS if isinstance(known, python)), pa.float64()
                )
            if len(values) < size:
                break
            start, size = start + size, BATCH_ROWS
        return pa.float64()

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """All rows."""
        values, start = self._first, 0
        while self.names and (size := len(values[self.names[0]])):
            arrays = [self._array(values[field.name], field) for field in schema]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
            start += size
            if size < BATCH_ROWS:
                break
            values = self._rows(start)[0]

    def _array(self, values: Sequence[Any], field: pa.Field[Any]) -> pa.Array[Any]:
        if pa.types.is_string(field.type):
            return pa.array([value or None for value in values], field.type)
        if pa.types.is_temporal(field.type):
            return times_of(values, field.name, field.type, self._counting)
        array: pa.Array[Any] = pa.array(values, field.type)
        return array

    def labels(self) -> Labels:
        """What the file says; where two codes share a label, each code is added to it."""
        columns = self._meta.column_names_to_labels
        labels = {}
        for name, column_labels in self._meta.variable_value_labels.items():
            texts = list(column_labels.values())
            labels[name] = {
                code_text(code): label
                if texts.count(label) == 1
                else f"{label} ({code_text(code)})"
                for code, label in column_labels.items()
            }
        return Labels({name: label for name, label in columns.items() if label}, labels)


@contextlib.contextmanager
def _explained(path: Path, library: Any) -> Iterator[None]:
    try:
        yield
    except (library.ReadstatError, library.PyreadstatError, UnicodeDecodeError, ValueError):
        # Not chained: the cause may quote a value.
        raise InputError(
            f"{path} is not a readable file of its kind: damaged, encrypted, cut off or renamed."
        ) from None
    except OverflowError:
        raise InputError(f"{path}: a column holds a date or time that no calendar has.") from None
    except (pa.ArrowException, TypeError):
        raise InputError(f"{path}: a column holds values of different types.") from None
