"""A cross-tab: the estimates of an answer with two group columns, laid out as a matrix.

Enters: an answer. Leaves: tables and a picture. Must not know: how it was estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from countveil.asking.result import Answer
from countveil.display import html_table, text_table
from countveil.maths.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from countveil.report.bars import Picture

_WIDEST = 6


@dataclass(frozen=True)
class Crosstab:
    """Counts by two columns."""

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
        """One estimate; None where no row of the release is in that group."""
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

    def _repr_html_(self) -> str:
        return html_table(*self._matrix())

    def plot(self) -> Picture:
        """Bars with intervals, one panel per value of the second column, as a picture.

        A notebook shows it, `.save("figure.svg")` keeps it. It is drawn here: nothing is loaded
        from anywhere. A hidden cell has its interval and no bar.
        """
        from countveil.report.bars import Bar, BarChart, bar_picture

        side, top = self.answer.group_columns
        panels: dict[str, list[Bar]] = {}
        for (row, column), cell in zip(self.answer.groups, self.answer.estimates, strict=True):
            name = "missing" if column is None else str(column)
            label = "missing" if row is None else str(row)
            panels.setdefault(name, []).append(
                Bar(label, cell.estimate, cell.low, cell.high, cell.verdict)
            )
        return bar_picture(BarChart(f"Estimated counts by {side} and {top}", top, panels))
