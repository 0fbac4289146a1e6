"""A sheet of a workbook as a table.

Enters: paths and perhaps the name of a sheet. Leaves: blocks like those of any source. Must not
know: what the columns are for.

The first row names the columns. A workbook has a type for every cell: a column of one type has that
type, dates beside times are times, numbers beside text become text as they are written. Formulas
are read as the values that were stored for them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from countveil.errors import InputError, MissingExtraError, nearest
from countveil.release.steps import code_text
from countveil.tables.encoded.plain_arrays import plain_table
from countveil.tables.readers.blocks import TableBlocks

_WHOLE_BELOW = 1 << 53
_KINDS: dict[frozenset[type], pa.DataType] = {
    frozenset({bool}): pa.bool_(),
    frozenset({dt.date}): pa.date32(),
    frozenset({dt.datetime}): pa.timestamp("us"),
    frozenset({dt.time}): pa.time64("us"),
    frozenset({dt.timedelta}): pa.duration("us"),
}


def open_workbooks(paths: Sequence[Path], sheet: str | None, missing: Sequence[str]) -> TableBlocks:
    """One sheet of each workbook, one below the other; texts in `missing` mean a missing value."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise MissingExtraError("python-calamine", "excel") from None
    rows: list[list[Any]] = []
    header: list[str] | None = None
    for path in paths:
        try:
            book = CalamineWorkbook.from_path(str(path))
            cells = _sheet(book, path, sheet)
        except (CalamineError, OSError):
            raise InputError(f"{path} is not a readable workbook: damaged, or encrypted.") from None
        names = [str(cell).strip() for cell in cells[0]]
        if header is not None and names != header:
            raise InputError(f"{path} has other columns than {paths[0]}.")
        header = names
        rows += [row for row in cells[1:] if any(cell != "" for cell in row)]
    _check_header(paths[0], header or [])
    columns = [_column([row[place] for row in rows]) for place in range(len(header or []))]
    return TableBlocks(plain_table(pa.table(columns, names=header), missing))


def _sheet(book: Any, path: Path, sheet: str | None) -> list[list[Any]]:
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


def _check_header(path: Path, names: Sequence[str]) -> None:
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
