"""A cross-tab: the estimates of an answer with two group columns, laid out as a matrix.

Enters: an answer. Leaves: tables and a chart. Must not know: how it was estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from countveil.asking.result import Answer
from countveil.display import html_table, text_table, visible
from countveil.errors import MissingExtraError
from countveil.maths.estimate import Estimate

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import polars as pl
    import pyarrow as pa

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

    def plot(self) -> alt.Chart | alt.LayerChart | alt.FacetChart:
        """Bars with error bars, one panel per value of the second column (needs Altair)."""
        try:
            import altair as alt
        except ImportError as error:
            raise MissingExtraError("Altair", "plot") from error
        side, top = self.answer.group_columns
        rows = [
            {
                "row": visible(str(group[0]), 60),
                "column": visible(str(group[1]), 60),
                "estimate": cell.estimate,
                "low": cell.low,
                "high": cell.high,
                "verdict": cell.verdict,
            }
            for group, cell in zip(self.answer.groups, self.answer.estimates, strict=True)
        ]
        base = alt.Chart().encode(y=alt.Y("row:N", title=visible(side, 60), sort=None))
        shades = alt.Scale(
            domain=["reliable", "indicative", "hidden"], range=["#1b5e8c", "#7fb2d6", "#dddddd"]
        )
        bars = base.mark_bar().encode(
            x=alt.X(
                "estimate:Q", title="estimated count", scale=alt.Scale(domainMin=0, clamp=True)
            ),
            color=alt.Color("verdict:N", scale=shades, title="verdict"),
            tooltip=["row:N", "column:N", "estimate:Q", "low:Q", "high:Q", "verdict:N"],
        )
        errors = base.mark_rule(color="#333333").encode(x=alt.X("low:Q"), x2="high:Q")
        facet = alt.Facet("column:N", title=visible(top, 60), sort=None)
        chart: alt.FacetChart = alt.layer(bars, errors, data=alt.InlineData(rows)).facet(
            facet, columns=3
        )
        return chart
