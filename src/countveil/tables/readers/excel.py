"""A sheet of a workbook as a table.

Enters: paths and perhaps the name of a sheet. Leaves: blocks like those of any source. Must not
know: what the columns are for.

The first row names the columns. A workbook has a type for every cell: a column of one type has that
type, dates beside times are times, numbers beside text become text as they are written. Formulas
are read as the values that were stored for them.
"""

from __future__ import annotations

import datetime as dt
import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from countveil.errors import InputError, MissingExtraError, nearest
from countveil.release.steps import code_text
from countveil.system.process import available_memory
from countveil.system.separate_process import WorkAbortedError, in_separate_process
from countveil.tables.encoded.plain_arrays import plain_table
from countveil.tables.readers.blocks import TableBlocks

_WHOLE_BELOW = 1 << 53
# What the process answers begins with one of these.
_READ, _FAILED = b"+", b"-"
_LEAST_MEMORY = 512 << 20
# Bytes that workbooks unpack to: so many in any case, or so often their size.
_UNPACKED, _TIMES_PACKED = 256 << 20, 100
_KINDS: dict[frozenset[type], pa.DataType] = {
    frozenset({bool}): pa.bool_(),
    frozenset({dt.date}): pa.date32(),
    frozenset({dt.datetime}): pa.timestamp("us"),
    frozenset({dt.time}): pa.time64("us"),
    frozenset({dt.timedelta}): pa.duration("us"),
}


def open_workbooks(paths: Sequence[Path], sheet: str | None, missing: Sequence[str]) -> TableBlocks:
    """One sheet of each workbook, one below the other; texts in `missing` mean a missing value.

    The library that reads workbooks ends its process when a sheet is too large for it, so it works
    in one of its own.
    """
    try:
        import python_calamine  # noqa: F401 - whether it is there
    except ImportError:
        raise MissingExtraError("python-calamine", "excel") from None
    for path in paths:
        _check_unpacked(path)
    given = json.dumps([[str(path.absolute()) for path in paths], list(map(str, paths)), sheet])
    room = max(_LEAST_MEMORY, available_memory() // 2)
    try:
        content = in_separate_process(f"{__name__}:workbooks_as_bytes", given.encode(), room)
    except WorkAbortedError:
        listed = ", ".join(map(str, paths[:3]))
        raise InputError(
            f"{listed} cannot be read: the sheet is too large for {room >> 20:,} MB of memory, or "
            f"damaged. A single cell far below or to the right makes a sheet large: delete empty "
            f"rows and columns, or save the sheet as CSV."
        ) from None
    kind, content = content[:1], content[1:]
    if kind == _FAILED:
        raise InputError(content.decode())
    with pa.ipc.open_stream(content) as reader:
        return TableBlocks(plain_table(reader.read_all(), missing))


def workbooks_as_bytes(given: bytes) -> bytes:
    """What the process does: a table as an Arrow stream, or what is wrong."""
    places, names, sheet = json.loads(given)
    try:
        table = _table([Path(place) for place in places], names, sheet)
    except InputError as error:
        return _FAILED + str(error).encode()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return _READ + sink.getvalue().to_pybytes()


def _table(places: Sequence[Path], names: Sequence[str], sheet: str | None) -> pa.Table:
    """The rows of all workbooks; `names` are what messages call them."""
    from python_calamine import CalamineError, CalamineWorkbook

    rows: list[list[Any]] = []
    header: list[str] | None = None
    for place, name in zip(places, names, strict=True):
        try:
            book = CalamineWorkbook.from_path(str(place))
            cells = _sheet(book, name, sheet)
        except (CalamineError, OSError):
            raise InputError(f"{name} is not a readable workbook: damaged, or encrypted.") from None
        labels = [str(cell).strip() for cell in cells[0]]
        if header is not None and labels != header:
            raise InputError(f"{name} has other columns than {names[0]}.")
        header = labels
        rows += [row for row in cells[1:] if any(cell != "" for cell in row)]
    _check_header(names[0], header or [])
    columns = [_column([row[place] for row in rows]) for place in range(len(header or []))]
    return pa.table(columns, names=header)


def _check_unpacked(path: Path) -> None:
    """Refuse a packed workbook that would unpack to far more than workbooks do."""
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        # Older workbooks are not packed; what is damaged is explained where it is read.
        return
    if unpacked > max(_UNPACKED, path.stat().st_size * _TIMES_PACKED):
        raise InputError(
            f"{path} would unpack to {unpacked >> 20:,} MB, {_TIMES_PACKED} times its size or "
            f"more: workbooks do not. Save the sheet as CSV if it is sound."
        )


def _sheet(book: Any, path: str, sheet: str | None) -> list[list[Any]]:
    names = list(book.sheet_names)
    if sheet is not None:
        if sheet not in names:
            raise InputError(f"There is no sheet {sheet!r} in {path}. {nearest(sheet, names)}")
        names = [sheet]
    filled = []
    for name in names:
        rows = list(book.get_sheet_by_name(name).iter_rows())
        if rows:
            filled.append((name, rows))
    if len(filled) > 1:
        listed = nearest("", [name for name, _ in filled])
        raise InputError(f"{path} has {len(filled)} sheets. Name one: '{path}#Sheet'. {listed}")
    if not filled:
        raise InputError(f"{path} has no cells: the first row has to name the columns.")
    return filled[0][1]


def _check_header(path: str, names: Sequence[str]) -> None:
    if "" in names:
        raise InputError(
            f"{path}: column {names.index('') + 1} has no name in the first row of its cells. The "
            f"first row has to name the columns; leave titles and notes out."
        )


def _column(cells: Sequence[Any]) -> pa.Array[Any]:
    """A column of the one type that its cells have, or else of text."""
    values = [None if cell == "" else cell for cell in cells]
    known = [value for value in values if value is not None]
    kinds = frozenset(map(type, known))
    if kinds and kinds <= {float, int}:
        whole = all(float(v).is_integer() and abs(v) < _WHOLE_BELOW for v in known)
        return _converted(values, int if whole else float, None)
    if kinds == {dt.date, dt.datetime}:
        return _converted(values, _as_time, pa.timestamp("us"))
    if kinds in _KINDS:
        return pa.array(values, _KINDS[kinds])
    return _converted(values, code_text, pa.string())


def _converted(
    values: Sequence[Any], convert: Callable[[Any], Any], kind: pa.DataType | None
) -> pa.Array[Any]:
    return pa.array([None if value is None else convert(value) for value in values], kind)


def _as_time(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value
    return dt.datetime(value.year, value.month, value.day)  # noqa: DTZ001 - a workbook has no zones
