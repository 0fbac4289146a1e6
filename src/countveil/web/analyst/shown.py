"""An answer as a page shows it: cells for people, how much is hidden, a chart.

Enters: an answer. Leaves: rows of text, and SVG. Must not know: routes. A hidden cell has its
interval and no number that could be taken for an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from countveil.asking.crosstab import Crosstab
from countveil.asking.pictures import answer_chart
from countveil.asking.result import Answer
from countveil.display import readable
from countveil.maths.estimate import Estimate
from countveil.report.bars import bar_element
from countveil.report.heatmap import MOST_COLUMNS as HEAT_COLUMNS
from countveil.report.heatmap import MOST_ROWS as HEAT_ROWS
from countveil.report.heatmap import heat_element

MOST_ROWS = 500
# From this share of hidden cells on, coarser questions are offered.
TOO_MUCH = 0.5


@dataclass(frozen=True, slots=True)
class Cell:
    """One estimate in words."""

    estimate: str
    std_error: str
    low: str
    high: str
    verdict: str

    @property
    def interval(self) -> str:
        """From where to where."""
        return f"{self.low} to {self.high}" if self.low != "-" else "-"


@dataclass(frozen=True, slots=True)
class Line:
    """The groups of a row, and a cell for each measure."""

    groups: Sequence[str]
    cells: Sequence[Cell]


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer on a page. `chart` is empty where there is nothing to draw.

    `narrow_chart` is the same for a phone.
    """

    group_columns: Sequence[str]
    measures: Sequence[str]
    lines: Sequence[Line]
    left_out: int
    cells: int
    hidden: int
    warnings: Sequence[str]
    chart: Markup
    narrow_chart: Markup

    @property
    def too_much_hidden(self) -> bool:
        """Whether half of the cells or more are hidden."""
        return self.cells > 0 and self.hidden >= TOO_MUCH * self.cells


def shown(answer: Answer, *, charted: bool = True, shares: bool = False) -> Shown:
    """The answer for people; of very many rows the first ones. `shares` are read in percent."""
    number = _percent if shares else readable
    blocks = [block.estimates[:MOST_ROWS] for block in answer.blocks]
    lines = [
        Line(list(map(group_text, group)), [_cell(cell, number) for cell in cells])
        for group, *cells in zip(answer.groups[:MOST_ROWS], *blocks, strict=True)
    ]
    verdicts = [verdict for block in answer.blocks for verdict in block.estimates.verdicts]
    chart = narrow = Markup("")
    if charted and verdicts:
        drawn = answer_chart(answer, dots=True)
        # Our own drawings, in which all text is escaped.
        chart = Markup(bar_element(drawn))  # noqa: S704
        narrow = Markup(bar_element(drawn, narrow=True))  # noqa: S704
    return Shown(
        list(answer.group_columns), [block.name for block in answer.blocks], lines,
        max(0, len(answer) - MOST_ROWS), len(verdicts), verdicts.count("hidden"),
        list(answer.warnings), chart, narrow,
    )  # fmt: skip


def group_text(value: Any) -> str:
    """The value of a group; years are no numbers to be read with commas."""
    if value is None:
        return "missing"
    return str(value) if isinstance(value, int) or not isinstance(value, float) else f"{value:.12g}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.2%}" if abs(share) < 0.1 else f"{share:.1%}"


def _cell(cell: Estimate, number: Callable[[Any], str] = readable) -> Cell:
    hidden = cell.verdict == "hidden"
    return Cell(
        "" if hidden else number(cell.estimate),
        "" if hidden else number(cell.std_error),
        number(cell.low),
        number(cell.high),
        cell.verdict or "no verdict",
    )


@dataclass(frozen=True, slots=True)
class Matrix:
    """A cross-tab on a page: a picture, and the same numbers as a table."""

    side: str
    top: str
    columns: Sequence[str]
    lines: Sequence[tuple[str, Sequence[Cell | None]]]
    picture: Markup
    left_out: bool


def matrix(answer: Answer) -> Matrix | None:
    """The answer as a matrix, if it is one; of very many rows and columns the first ones."""
    table = as_crosstab(answer)
    if table is None:
        return None
    rows, columns = table.row_values[:HEAT_ROWS], table.column_values[:HEAT_COLUMNS]
    lines = [
        (
            group_text(row),
            [None if (c := table.cell(row, col)) is None else _cell(c) for col in columns],
        )
        for row in rows
    ]
    side, top = answer.group_columns
    picture = Markup(heat_element(table.heat()))  # noqa: S704 - our own drawing
    left_out = len(rows) < len(table.row_values) or len(columns) < len(table.column_values)
    return Matrix(side, top, list(map(group_text, columns)), lines, picture, left_out)


def as_crosstab(answer: Answer) -> Crosstab | None:
    """The answer as a matrix, if it has two group columns and one measure."""
    if len(answer.group_columns) == 2 and len(answer.blocks) == 1:
        return Crosstab(answer)
    return None
