"""A table of answers: group columns, then an estimate with its error and a verdict.

Enters: group values and estimates. Leaves: rows, tables for people, a picture, Arrow, pandas,
Polars or CSV. Must not know: how they were estimated.

**What a hidden cell holds.** For programs (Arrow, pandas, Polars, CSV, JSON, `rows`) every number
is there whatever its verdict, with the verdict beside it, so that cells can be added up; a number
that nobody knows is missing (null, NaN in pandas, an empty field in CSV). For people (text, HTML,
pictures) a hidden estimate and its error are not shown, its interval is.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from countveil.display import (
    MOST_ROWS,
    Table,
    html_paragraph,
    html_table,
    readable,
    remainder,
    table_width,
    terminal_width,
    text_table,
)
from countveil.errors import MissingExtraError
from countveil.maths.estimate import Estimate, Estimates, verdicts

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from countveil.report.bars import Picture

ESTIMATE_FIELDS = ("estimate", "std_error", "low", "high", "verdict")
_MOST_IN_A_REPR, _WIDTH_OF_A_NOTEBOOK = 10, 120


def _group_array(column: Sequence[Any]) -> pa.Array[Any]:
    import pyarrow as pa

    try:
        array: pa.Array[Any] = pa.array(column)
    except OverflowError:
        array = pa.array(column, pa.uint64())
    return array


class Cells(Sequence[Estimate]):
    """Estimates of many cells as arrays; an `Estimate` is made when a cell is accessed.

    `sizes` are the rows that each count is taken from, infinite where it is not a count.
    """

    def __init__(self, grid: Estimates, sizes: NDArray[np.float64], within: float) -> None:
        self.grid, self.sizes, self.within = grid, sizes, within

    def __len__(self) -> int:
        return int(self.sizes.size)

    @overload
    def __getitem__(self, place: int) -> Estimate: ...
    @overload
    def __getitem__(self, place: slice) -> Cells: ...
    def __getitem__(self, place: int | slice) -> Estimate | Cells:
        if isinstance(place, slice):
            return self.at(np.arange(len(self))[place])
        cell = range(len(self))[place]
        return next(iter(self.at(np.array([cell]))))

    def __iter__(self) -> Iterator[Estimate]:
        return (Estimate(*cell) for cell in zip(*self.fields, strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def at(self, places: NDArray[Any]) -> Cells:
        """The cells at these places, in this order."""
        return Cells(self.grid.at(places), self.sizes[places], self.within)

    @cached_property
    def verdicts(self) -> list[str | None]:
        """One word per cell."""
        return verdicts(self.grid, self.sizes, self.within)

    @cached_property
    def fields(self) -> list[list[Any]]:
        """The columns, in the order of `ESTIMATE_FIELDS`; None where there is no number."""
        columns = (array.tolist() for array in self.grid.arrays())
        known = [[x if math.isfinite(x) else None for x in column] for column in columns]
        return [*known, self.verdicts]


@dataclass(frozen=True, slots=True)
class Block:
    """The estimates of one measure of an answer.

    Attributes:
        name: The name of the measure; empty when there is only one.
        estimates (Sequence[Estimate]): One for each row.
    """

    name: str
    estimates: Cells

    @property
    def columns(self) -> list[str]:
        """Names of its columns."""
        return [f"{self.name}_{field}" if self.name else field for field in ESTIMATE_FIELDS]


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """The answer to a query: one row per group, in a fixed order.

    For programs (Arrow, pandas, Polars, CSV, `rows`) every number is there whatever its verdict,
    with the verdict beside it, so that cells can be added up; a number that nobody knows is
    missing. For people (text, HTML, pictures) a hidden estimate is not shown, its interval is.

    Attributes:
        group_columns: The names of the columns that say which group a row is about.
        groups: The values of these columns, one tuple per row.
        blocks: The estimates of each measure.
        warnings: What has to be said about the answer.

    Example:
        >>> answer = release.sql("SELECT gender, count(*) FROM release GROUP BY gender")
        >>> answer.columns
        ['gender', 'estimate', 'std_error', 'low', 'high', 'verdict']
        >>> answer.to_dicts()[0]["estimate"]
        2446.0
        >>> answer.to_arrow().num_rows
        2
    """

    group_columns: Sequence[str]
    groups: Sequence[tuple[Any, ...]]
    blocks: Sequence[Block]
    warnings: Sequence[str] = ()

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return [*self.group_columns, *(name for block in self.blocks for name in block.columns)]

    @property
    def estimates(self) -> Sequence[Estimate]:
        """The estimates of the first measure."""
        return self.blocks[0].estimates

    def __len__(self) -> int:
        return len(self.groups)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Each row as a tuple in the order of `columns`."""
        fields = [field for block in self.blocks for field in block.estimates.fields]
        for group, *numbers in zip(self.groups, *fields, strict=True):
            yield (*group, *numbers)

    def readable(self, rows: int | None = None, width: int | None = None) -> Table:
        """A table for people, which shows no hidden number.

        Args:
            rows: Of the first rows only; of all if None.
            width: The width that several measures may take beside each other, else they are below
                their group; the terminal's if None.

        Returns:
            The names of the columns, and the rows.
        """
        groups = self.groups[:rows]
        cells = [[_readable(cell) for cell in block.estimates[:rows]] for block in self.blocks]
        beside = [
            (*group, *(field for cell in measures for field in cell))
            for group, *measures in zip(groups, *cells, strict=True)
        ]
        if len(self.blocks) < 2 or table_width(self.columns, beside) <= (width or terminal_width()):
            return self.columns, beside
        below: list[tuple[Any, ...]] = []
        for group, *measures in zip(groups, *cells, strict=True):
            if group:
                below.append((", ".join(map(readable, group)), *[""] * len(ESTIMATE_FIELDS)))
            indent = "  " if group else ""
            names = (f"{indent}{block.name}" for block in self.blocks)
            below += [(name, *cell) for name, cell in zip(names, measures, strict=True)]
        return [", ".join(self.group_columns) or "measure", *ESTIMATE_FIELDS], below

    def __str__(self) -> str:
        return text_table(*self.readable())

    def __repr__(self) -> str:
        text = text_table(*self.readable(_MOST_IN_A_REPR)).strip("\n")
        if len(self) > _MOST_IN_A_REPR:
            text += f"\n {remainder(len(self), _MOST_IN_A_REPR)}; print() shows all"
        return text

    def _repr_html_(self) -> str:
        columns, rows = self.readable(MOST_ROWS, _WIDTH_OF_A_NOTEBOOK)
        more = html_paragraph(remainder(len(self), MOST_ROWS)) if len(self) > MOST_ROWS else ""
        return html_table(columns, rows, most=len(rows)) + more

    def plot(self) -> Picture:
        """Bars with intervals as a picture, a panel per measure or per value of a second column.

        It is drawn here: nothing is loaded from anywhere. A hidden cell has its interval and no
        bar.

        Returns:
            A picture that a notebook shows; `.save("figure.svg")` keeps it.
        """
        from countveil.asking.pictures import answer_picture

        return answer_picture(self)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Each row as a dictionary."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows()]

    def to_arrow(self) -> pa.Table:
        """As an Arrow table."""
        import pyarrow as pa

        groups = list(zip(*self.groups, strict=True)) or [()] * len(self.group_columns)
        arrays = [_group_array(column) for column in groups]
        for block in self.blocks:
            numbers = block.estimates.grid.arrays()
            arrays += [pa.array(n, pa.float64(), mask=~np.isfinite(n)) for n in numbers]
            arrays.append(pa.array(block.estimates.verdicts, pa.string()))
        return pa.Table.from_arrays(arrays, names=self.columns)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """For pandas, Polars, DuckDB and others that take Arrow from each other."""
        stream: object = self.to_arrow().__arrow_c_stream__(requested_schema)  # type: ignore[no-untyped-call]
        return stream

    @overload
    def to_csv(self, path: None = None) -> str: ...
    @overload
    def to_csv(self, path: str | os.PathLike[str]) -> None: ...
    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """As CSV: the text, or a file.

        Args:
            path: The file; one that is there already stays as it is. Without it, the text comes
                back.

        Returns:
            The text, or nothing if a file was written.

        Raises:
            TargetError: The file exists already, or cannot be written.
        """
        import csv
        import io

        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows()])
        if path is None:
            return text.getvalue()
        from countveil.report.whole_file import check_file, write_file

        check_file(Path(path), "the answer", force=False, again=False)
        write_file(Path(path), text.getvalue(), "the answer")
        return None

    def to_pandas(self) -> pd.DataFrame:
        """As a pandas data frame (needs pandas)."""
        return as_pandas(self.to_arrow())

    def to_polars(self) -> pl.DataFrame:
        """As a Polars data frame (needs Polars)."""
        return as_polars(self.to_arrow())


def as_pandas(table: pa.Table) -> pd.DataFrame:
    """A result as a pandas data frame, or what to install."""
    try:
        frame: pd.DataFrame = table.to_pandas()
    except ImportError as error:
        raise MissingExtraError("pandas", "pandas") from error
    return frame


def as_polars(table: pa.Table) -> pl.DataFrame:
    """A result as a Polars data frame, or what to install."""
    try:
        import polars as pl
    except ImportError as error:
        raise MissingExtraError("Polars", "polars") from error

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table never becomes a series
    return frame


def _readable(cell: Estimate) -> tuple[Any, ...]:
    """The fields of a cell for people: a hidden one shows no number to be taken for an answer."""
    if cell.verdict == "hidden":
        return ("hidden", None, cell.low, cell.high, cell.verdict)
    return tuple(getattr(cell, field) for field in ESTIMATE_FIELDS)
