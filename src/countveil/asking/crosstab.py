"""A cross-tab: the estimates of an answer with two group columns, laid out as a matrix.

Enters: an answer. Leaves: tables and a picture. Must not know: how it was estimated.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from countveil.asking.result import Answer
from countveil.display import html_table, text_table
from countveil.maths.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from countveil.report.bars import Picture
    from countveil.report.heatmap import HeatMap

_WIDEST, _MOST_ACROSS = 6, 15


@dataclass(frozen=True)
class Crosstab:
    """Counts by two columns, as a matrix.

    Attributes:
        answer: The same in long form, one row per cell.

    Example:
        >>> counts = release.crosstab("age // 40", "gender", "occupation = 'nurse'")
        >>> counts.column_values
        ['F', 'M']
        >>> counts.cell(0, "F").verdict
        'hidden'
    """

    answer: Answer

    @cached_property
    def row_values(self) -> Sequence[Any]:
        """The values down the side."""
        return list(dict.fromkeys(group[0] for group in self.answer.groups))

    @cached_property
    def column_values(self) -> Sequence[Any]:
        """The values along the top."""
        return list(dict.fromkeys(group[1] for group in self.answer.groups))

    @cached_property
    def _cells(self) -> dict[tuple[Any, ...], Estimate]:
        return dict(zip(map(tuple, self.answer.groups), self.answer.estimates, strict=True))

    def cell(self, row: Any, column: Any) -> Estimate | None:
        """One estimate.

        Args:
            row: The value down the side.
            column: The value along the top.

        Returns:
            The estimate; None where no row of the release is in that group.
        """
        return self._cells.get((row, column))

    def to_arrow(self) -> pa.Table:
        """In long form, one row per cell, as an Arrow table."""
        return self.answer.to_arrow()

    def to_pandas(self) -> pd.DataFrame:
        """In long form, one row per cell, as a pandas data frame (needs pandas)."""
        return self.answer.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """In long form, one row per cell, as a Polars data frame (needs Polars)."""
        return self.answer.to_polars()

    @overload
    def to_csv(self, path: None = None) -> str: ...
    @overload
    def to_csv(self, path: str | os.PathLike[str]) -> None: ...
    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """In long form, one row per cell, as CSV.

        Args:
            path: A new file; without it, the text comes back.

        Returns:
            The text, or nothing if a file was written.

        Raises:
            TargetError: The file exists already, or cannot be written.
        """
        return self.answer.to_csv(path)

    def _matrix(self) -> tuple[list[str], list[list[Any]]]:
        """Readable cells: the estimate, or that it is hidden."""
        side, top = self.answer.group_columns
        head = [
            f"{side} \\ {top}",
            *("missing" if v is None else str(v) for v in self.column_values),
        ]
        rows = []
        for row in self.row_values:
            line: list[Any] = ["missing" if row is None else row]
            for column in self.column_values:
                cell = self.cell(row, column)
                hidden = cell is not None and cell.verdict == "hidden"
                line.append("hidden" if hidden else cell.estimate if cell else 0)
            rows.append(line)
        return head, rows

    def __str__(self) -> str:
        # A matrix that does not fit a terminal is printed cell by cell.
        if len(self.column_values) > _WIDEST:
            return str(self.answer)
        return text_table(*self._matrix())

    def __repr__(self) -> str:
        side, top = self.answer.group_columns
        return (
            f"Crosstab({side} by {top}, {len(self.row_values):,} x {len(self.column_values):,} "
            f"cells; print() shows it)"
        )

    def _repr_html_(self) -> str:
        head, rows = self._matrix()
        if len(head) > _MOST_ACROSS:
            left = len(head) - _MOST_ACROSS
            head = [*head[:_MOST_ACROSS], f"… and {left:,} more"]
            rows = [[*row[:_MOST_ACROSS], "…"] for row in rows]
        return html_table(head, rows)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """In long form for pandas, Polars, DuckDB and others that take Arrow from each other."""
        return self.answer.__arrow_c_stream__(requested_schema)

    def plot(self) -> Picture:
        """Bars with intervals, one panel per value of the second column, as a picture.

        It is drawn here: nothing is loaded from anywhere. A hidden cell has its interval and no
        bar.

        Returns:
            A picture that a notebook shows; `.save("figure.svg")` keeps it.
        """
        return self.answer.plot()

    def heatmap(self) -> Picture:
        """A heat map as a picture: indicative cells are hatched, hidden ones blank.

        It is drawn here: nothing is loaded from anywhere.

        Returns:
            A picture that a notebook shows; `.save("figure.svg")` keeps it.

        Example:
            >>> release.crosstab("occupation", "gender").heatmap().save("heat.svg")
        """
        from countveil.report.heatmap import heat_picture

        return heat_picture(self.heat())

    def heat(self) -> HeatMap:
        """What the heat map shows."""
        from countveil.report.heatmap import HeatCell, HeatMap

        side, top = self.answer.group_columns
        cells = [
            [
                HeatCell(cell.estimate, cell.low, cell.high, cell.verdict) if cell else None
                for column in self.column_values
                for cell in (self.cell(row, column),)
            ]
            for row in self.row_values
        ]
        rows, columns = (
            ["missing" if value is None else str(value) for value in values]
            for values in (self.row_values, self.column_values)
        )
        return HeatMap(f"{side} by {top}", side, top, rows, columns, cells)
