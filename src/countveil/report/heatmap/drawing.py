"""How a heat map is drawn.

Enters: rows and columns of estimates, their text from data that may be hostile. Leaves: an SVG
element for a page that has `CHART_STYLE` and `HEAT_STYLE`, or a `Picture` that is complete in
itself. Must not know: what is counted. A reliable cell is filled, an indicative one hatched, a
hidden one blank: its interval alone is said, where a pointer rests on it.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

from countveil.display import readable, visible
from countveil.report.bars import Picture
from countveil.report.chart import CHART_STYLE
from countveil.report.look.colours import DARK, LIGHT

_ROW, _LEAST, _MOST = 24, 46, 84
_LETTER, _TITLE, _EDGE, _LEGEND = 6.4, 30, 8, 44
_LONGEST = 24
_DARKEST, _PALEST = 0.5, 0.1
MOST_ROWS, MOST_COLUMNS = 80, 40
HEAT_STYLE = (
    f".chart .cell{{fill:currentColor}}.chart .blank{{fill:none;stroke:{LIGHT.rule}}}"
    f".chart .hatch{{fill:none;stroke:{LIGHT.paper};stroke-width:2.5}}"
    f".chart .strong{{font-weight:600}}"
    f"@media screen and (prefers-color-scheme:dark){{.chart .blank{{stroke:{DARK.rule}}}"
    f".chart .hatch{{stroke:{DARK.paper}}}}}"
)


@dataclass(frozen=True, slots=True)
class HeatCell:
    """An estimate with its interval; a number is None where it is not known."""

    estimate: float | None
    low: float | None
    high: float | None
    verdict: str | None


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Cells by row and column; None where no row of the table is in that group."""

    title: str
    side: str
    top: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[HeatCell | None]]


def heat_picture(chart: HeatMap) -> Picture:
    """A picture that is complete in itself."""
    return Picture(_drawn(chart, alone=True))


def heat_element(chart: HeatMap) -> str:
    """The same as an element of a page that has `CHART_STYLE` and `HEAT_STYLE`."""
    return _drawn(chart, alone=False)


def _drawn(chart: HeatMap, *, alone: bool) -> str:
    rows, columns = chart.rows[:MOST_ROWS], chart.columns[:MOST_COLUMNS]
    cells = [line[:MOST_COLUMNS] for line in chart.cells[:MOST_ROWS]]
    frame = _Frame(chart, rows, columns)
    filled = [cell for line in cells for cell in line if cell is not None and _is_filled(cell)]
    most = max((abs(cell.estimate or 0.0) for cell in filled), default=0.0)
    parts = frame.labels()
    for place, line in enumerate(cells):
        for across, cell in enumerate(line):
            said = f"{rows[place]}, {columns[across]}: {_said(cell)}"
            parts.append(f"<g><title>{_escaped(said)}</title>")
            parts += _cell(cell, *frame.corner(place, across), frame.width, most)
            parts.append("</g>")
    size = f'viewBox="0 0 {frame.across} {frame.height}" width="{frame.across}"'
    shown = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" {size} '
        f'height="{frame.height}"' + (' style="max-width:100%;height:auto">' if alone else ">"),
        f"<title>{_escaped(chart.title)}</title><desc>{_escaped(_described(chart))}</desc>",
        f"<style>{CHART_STYLE}{HEAT_STYLE}</style>" if alone else "",
        f'<rect class="paper" width="{frame.across}" height="{frame.height}"/>',
        f'<text class="head" x="8" y="20">{_escaped(_headed(chart), 120)}</text>',
    ]
    return "".join([*shown, *parts, *_legend(frame.bottom + 16), "</svg>"])


class _Frame:
    """Where cells and labels lie."""

    def __init__(self, chart: HeatMap, rows: Sequence[str], columns: Sequence[str]) -> None:
        self._chart, self._rows, self._columns = chart, rows, columns
        widest = max((len(visible(name, _LONGEST)) for name in (*rows, chart.side)), default=1)
        self._left = math.ceil(_EDGE + widest * _LETTER + 12)
        longest = max((len(visible(name, _LONGEST)) for name in columns), default=1)
        self.width = max(_LEAST, min(_MOST, 640 // max(1, len(columns))))
        self._turned = longest * _LETTER > self.width - 6
        room = math.ceil(longest * _LETTER * 0.72) + 14 if self._turned else 20
        self._top = _TITLE + 18 + room
        self.bottom = self._top + _ROW * len(rows)
        # Turned labels lean over the last column.
        lean = room if self._turned else 0
        self.across = max(376, math.ceil(self._left + self.width * len(columns) + _EDGE + lean))
        self.height = self.bottom + _LEGEND

    def corner(self, row: int, column: int) -> tuple[float, float]:
        return self._left + self.width * column, self._top + _ROW * row

    def labels(self) -> list[str]:
        parts = [_text(self._left, _TITLE + 14, self._chart.top, "start", "strong")]
        parts.append(_text(self._left - 8, self._top - 7, self._chart.side, "end", "strong"))
        for place, name in enumerate(self._rows):
            parts.append(_text(self._left - 8, self._top + _ROW * (place + 0.68), name, "end"))
        for place, name in enumerate(self._columns):
            x, y = self._left + self.width * (place + 0.5), self._top - 7
            if self._turned:
                turned = f' transform="rotate(-45 {x:.1f} {y})"'
                parts.append(_text(x - 4, y, name, "start", "", turned))
            else:
                parts.append(_text(x, y, name, "middle"))
        return parts


def _is_filled(cell: HeatCell | None) -> bool:
    return cell is not None and cell.verdict != "hidden" and cell.estimate is not None


def _cell(cell: HeatCell | None, x: float, y: float, width: float, most: float) -> list[str]:
    """A cell with its number, if it has one."""
    ground = _ground(cell, x, y, width, most)
    if cell is not None and not _is_filled(cell):
        return ground
    number = "0" if cell is None else readable(cell.estimate)
    return [*ground, _text(x + width / 2, y + _ROW * 0.68, number, "middle")]


def _ground(cell: HeatCell | None, x: float, y: float, width: float, most: float) -> list[str]:
    box = f'x="{x + 1:.1f}" y="{y + 1:.1f}" width="{width - 2:.1f}" height="{_ROW - 2}"'
    blank = f'<rect class="blank" {box}/>'
    if cell is None or not _is_filled(cell):
        return [blank]
    share = abs(cell.estimate or 0.0) / most if most else 0.0
    shade = _PALEST + (_DARKEST - _PALEST) * share
    parts = [f'<rect class="cell hue0" fill-opacity="{shade:.3f}" {box}/>']
    if cell.verdict == "indicative":
        parts.append(f'<path class="hatch" d="{_hatching(x + 1, y + 1, width - 2, _ROW - 2)}"/>')
        parts.append(blank)
    return parts


def _hatching(x: float, y: float, width: float, height: float) -> str:
    """Diagonal lines that end at the edges of the cell."""
    lines, start = [], -height + 4.0
    while start < width:
        # From the lower edge, up and to the right.
        first, last = max(0.0, start), min(width, start + height)
        lines.append(
            f"M{x + first:.1f} {y + height - (first - start):.1f}"
            f"L{x + last:.1f} {y + height - (last - start):.1f}"
        )
        start += 9.0
    return "".join(lines)


def _legend(top: float) -> list[str]:
    parts, x = [], float(_EDGE)
    words = (("reliable", "reliable"), ("indicative", "indicative"), ("hidden", "hidden: blank"))
    for verdict, word in words:
        parts += _ground(HeatCell(1.0, 1.0, 1.0, verdict), x, top - 4, 34, 1.0)
        parts.append(_text(x + 40, top + 12, word, "start"))
        x += 116
    return parts


def _said(cell: HeatCell | None) -> str:
    if cell is None:
        return "no row"
    ends = "" if cell.low is None else f"{readable(cell.low)} to {readable(cell.high)}"
    if not _is_filled(cell):
        return f"hidden, {ends or 'no interval'}"
    return f"{readable(cell.estimate)} ({ends}), {cell.verdict or 'no verdict'}"


def _headed(chart: HeatMap) -> str:
    more = len(chart.rows) > MOST_ROWS or len(chart.columns) > MOST_COLUMNS
    return chart.title + (" (the first rows and columns)" if more else "")


def _described(chart: HeatMap) -> str:
    """What a screen reader says; the numbers are in the table beside it."""
    cells = [cell for line in chart.cells for cell in line if cell is not None]
    hidden = sum(cell.verdict == "hidden" for cell in cells)
    unsure = sum(cell.verdict == "indicative" for cell in cells)
    return (
        f"{chart.title}. {len(chart.rows)} rows by {len(chart.columns)} columns. Of {len(cells)} "
        f"cells {hidden} are hidden and blank, {unsure} indicative and hatched."
    )


def _text(x: float, y: float, text: str, anchor: str, kind: str = "", more: str = "") -> str:
    marked = f' class="{kind}"' if kind else ""
    return (
        f'<text{marked} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>'
        f"{_escaped(text, _LONGEST)}</text>"
    )


def _escaped(text: str, most: int | None = None) -> str:
    return html.escape(visible(text, most), quote=True)
