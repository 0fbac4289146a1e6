"""An answer as a picture: bars with intervals.

Enters: an answer. Leaves: a `Picture`. Must not know: how it was estimated, how bars are drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from countveil.errors import QueryError
from countveil.report.bars import Bar, BarChart, Picture, bar_picture

if TYPE_CHECKING:
    from countveil.asking.result import Answer

# What does not fit on two screens is read as a table.
MOST_BARS, MOST_PANELS = 60, 12


def answer_picture(answer: Answer) -> Picture:
    """The chart as a picture, complete in itself."""
    return bar_picture(answer_chart(answer))


def answer_chart(answer: Answer, *, dots: bool = False) -> BarChart:
    """A panel per measure; of one measure by two columns, a panel per value of the second."""
    if not answer.blocks:
        raise QueryError("The answer has no estimates to draw. Ask for count(*), sum(x) or avg(x).")
    two = len(answer.group_columns) == 2 and len(answer.blocks) == 1
    panels = _by_second_column(answer) if two else _by_measure(answer)
    shown = {name: bars[:MOST_BARS] for name, bars in list(panels.items())[:MOST_PANELS]}
    title = _title(answer, sum(map(len, shown.values())), sum(map(len, panels.values())))
    panels_of = answer.group_columns[1] if two else ""
    return BarChart(title, panels_of, shown, one_scale=two, dots=dots)


def _by_second_column(answer: Answer) -> dict[str, list[Bar]]:
    panels: dict[str, list[Bar]] = {}
    for (row, column), cell in zip(answer.groups, answer.estimates, strict=True):
        bar = Bar(_name(row), cell.estimate, cell.low, cell.high, cell.verdict)
        panels.setdefault(_name(column), []).append(bar)
    return panels


def _by_measure(answer: Answer) -> dict[str, list[Bar]]:
    labels = [", ".join(map(_name, group)) for group in answer.groups]
    return {
        block.name: [
            Bar(label, cell.estimate, cell.low, cell.high, cell.verdict)
            for label, cell in zip(labels, block.estimates, strict=True)
        ]
        for block in answer.blocks
    }


def _title(answer: Answer, shown: int, total: int) -> str:
    by = " and ".join(answer.group_columns)
    some = f" (the first {shown:,} of {total:,})" if shown < total else ""
    return f"Estimates{f' by {by}' if by else ''}{some}"


def _name(value: Any) -> str:
    return "missing" if value is None else str(value)
