"""Charts of lines and points as SVG.

Enters: lines over the same axes, some of their text from data that may be hostile. Leaves: an SVG
element for a page that has `CHART_STYLE`, or a complete SVG file: readable on light and dark
screens, on a phone and on paper, with a title and a description for screen readers. Must not know:
what the numbers mean.
"""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from countveil.display import visible
from countveil.report.look.colours import DARK, LIGHT, Theme

# Narrow, so that letters stay readable where a phone shows the whole width.
_WIDTH, _HEIGHT = 480, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 20, 12, 52
_LEGEND_LINE, _HEAD_LINE, _LETTER = 19, 20, 6.7
_FILE_WIDTH = 760
_DASHES = {"solid": "", "dashed": "7 5", "dotted": "2 4", "mixed": "8 3 2 3"}


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low` to `high`, on a logarithmic scale if `log`."""

    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """Where a value lies, from 0 to 1 along the axis; far outside if it has no place."""
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        if value <= 0:
            return -10.0
        return math.log(value / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[float]:
        """Round values along the axis."""
        if not self.log:
            step = _round_step(self.low, self.high)
            first = math.ceil(self.low / step - 1e-9)
            last = math.floor(self.high / step + 1e-9)
            return [round(number * step, 12) for number in range(first, last + 1)]
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        within = (1, 2, 5) if last - first <= 3 else (1,)
        every = max(1, (last - first) // 6)
        values = [
            factor * 10.0**power for power in range(first, last + 1, every) for factor in within
        ]
        return [value for value in values if self.low <= value * 1.000001 and value <= self.high]


@dataclass(frozen=True, slots=True)
class Line:
    """Points to be joined; `low` and `high` are their intervals, if they have some.

    Lines of one `hue` have one colour and differ in `dash`; both are chosen if not given. Points
    that are not joined differ by their shape in place of the dash.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    hue: int | None = None
    dash: str | None = None
    joined: bool = True


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over the same axes, which span them if they are not given."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    note: str = ""
    description: str = ""
    x_axis: Axis | None = None
    y_axis: Axis | None = None


def draw(chart: Chart) -> str:
    """The chart as an element of a page that has `CHART_STYLE`."""
    return _drawn(chart, [], alone=False)


def picture(chart: Chart) -> str:
    """The chart as an SVG file, with its title in it."""
    return _drawn(chart, textwrap.wrap(visible(chart.title), 60), alone=True) + "\n"


def _drawn(chart: Chart, head: Sequence[str], *, alone: bool) -> str:
    lines = [line for line in chart.lines if len(line.x)]
    if not lines:
        return ""
    xs = [x for line in lines for x in line.x]
    ys = [y for line in lines for y in (0.0, *line.y, *line.low, *line.high)]
    frame = _Frame(
        chart.x_axis or around(xs), chart.y_axis or around(ys), _TOP + _HEAD_LINE * len(head)
    )
    rows = _legend_rows([line.name for line in lines])
    height = frame.bottom + _BOTTOM + _LEGEND_LINE * len(rows)
    size = f' width="{_FILE_WIDTH}" height="{_FILE_WIDTH * height // _WIDTH}"' if alone else ""
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img"{size} '
            f'viewBox="0 0 {_WIDTH} {height}">'
        ),
        f"<title>{_escaped(chart.title)}</title>",
        f"<desc>{_escaped(chart.description or _described(chart, lines))}</desc>",
        f"<style>{CHART_STYLE}</style>" if alone else "",
        f'<rect class="paper" width="{_WIDTH}" height="{height}"/>',
    ]
    parts += [
        f'<text class="head" x="8" y="{_HEAD_LINE * (number + 1)}">{_escaped(text)}</text>'
        for number, text in enumerate(head)
    ]
    parts += [*frame.axes(chart.x_label, chart.y_label), frame.inside(lines)]
    for number, row in enumerate(rows):
        y = frame.bottom + _BOTTOM + _LEGEND_LINE * number
        for x, place in row:
            parts.append(_key(lines[place], place, x, y))
            parts.append(_text(x + 36, y + 4, lines[place].name, "start"))
    return "".join([*parts, "</svg>"])


class _Frame:
    """Where numbers lie in the picture."""

    def __init__(self, across: Axis, up: Axis, top: int) -> None:
        self._across, self._up, self._top = across, up, top
        self._width, self._height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        self.bottom = top + self._height

    def _x(self, value: float) -> float:
        return self._across.place(value) * self._width

    def _y(self, value: float) -> float:
        # Far outside is as good as further outside, and renderers need small numbers.
        return self._height * (1 - max(-2.0, min(3.0, self._up.place(value))))

    def axes(self, x_label: str, y_label: str) -> list[str]:
        right, bottom, top = _LEFT + self._width, self.bottom, self._top
        parts = []
        for value in self._up.ticks():
            y = top + self._y(value)
            parts.append(f'<path class="rule" d="M{_LEFT} {y:.1f}H{right}"/>')
            parts.append(_text(_LEFT - 7, y + 4, tick_text(value), "end"))
        for value in self._across.ticks():
            x = _LEFT + self._x(value)
            parts.append(f'<path class="rule" d="M{x:.1f} {top}V{bottom + 4}"/>')
            parts.append(_text(x, bottom + 18, tick_text(value), "middle"))
        parts.append(f'<path class="axis" d="M{_LEFT} {top}V{bottom}H{right}"/>')
        parts.append(_text(_LEFT + self._width / 2, bottom + 36, x_label, "middle"))
        middle = top + self._height / 2
        turned = f' transform="rotate(-90 14 {middle:.1f})"'
        return [*parts, _text(14, middle, y_label, "middle", turned)]

    def inside(self, lines: Sequence[Line]) -> str:
        """The lines, clipped to the area between the axes."""
        parts = [
            (
                f'<svg x="{_LEFT}" y="{self._top}" width="{self._width}" height="{self._height}" '
                f'viewBox="0 0 {self._width} {self._height}" overflow="hidden">'
            )
        ]
        for number, line in enumerate(lines):
            places = [(self._x(x), self._y(y)) for x, y in zip(line.x, line.y, strict=True)]
            if line.joined:
                path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
                parts.append(f'<path {_stroke(line, number)} d="M{path}"/>')
            bars = "".join(
                f"M{self._x(x):.1f} {self._y(low):.1f}V{self._y(high):.1f}"
                for x, low, high in zip(line.x, line.low, line.high, strict=False)
            )
            hue = _hue(line, number)
            parts += [f'<path class="curve bar {hue}" d="{bars}"/>'] if bars else []
            if bars or not line.joined:
                parts += [_mark(line, number, x, y) for x, y in places]
        return "".join([*parts, "</svg>"])


def _key(line: Line, number: int, x: float, y: float) -> str:
    if not line.joined:
        return _mark(line, number, x + 14, y)
    # A line of a single point is nothing but its mark.
    marked = _mark(line, number, x + 14.5, y) if len(line.low) else ""
    return f'<path {_stroke(line, number)} d="M{x:.1f} {y}H{x + 29:.1f}"/>{marked}'


def _mark(line: Line, number: int, x: float, y: float) -> str:
    """A point: a circle, or for points of another dash a square, a diamond, a triangle."""
    hue = _hue(line, number)
    if line.dash in (None, "solid"):
        return (
            f'<circle class="dot {hue}" cx="{x:.1f}" cy="{y:.1f}" r="{3 if line.joined else 4}"/>'
        )
    shape = {
        "dashed": "m-3.7-3.7h7.4v7.4h-7.4z", "dotted": "m0-5.2l5.2 5.2l-5.2 5.2l-5.2-5.2z",
    }.get(line.dash or "", "m0-4.6l4.6 8h-9.2z")  # fmt: skip
    return f'<path class="dot {hue}" d="M{x:.1f} {y:.1f}{shape}"/>'


def _hue(line: Line, number: int) -> str:
    return f"hue{(number if line.hue is None else line.hue) % len(LIGHT.hues)}"


def _stroke(line: Line, number: int) -> str:
    chosen = list(_DASHES)[number % len(_DASHES)] if line.hue is None else "solid"
    dash = _DASHES[line.dash or chosen]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'class="curve {_hue(line, number)}"{dashed}'


def _legend_rows(names: Sequence[str]) -> list[list[tuple[float, int]]]:
    """The lines of the legend: position and number of each entry, in columns of equal width."""
    needed = 48 + _LETTER * max(map(len, names))
    fit = max(1, int((_WIDTH - _RIGHT - 8) / needed))
    lines = -(-len(names) // fit)
    columns = -(-len(names) // lines)
    start = _LEFT if columns * needed <= _WIDTH - _LEFT - _RIGHT else 8
    return [
        [(start + needed * place, first + place) for place in range(min(columns, left))]
        for first in range(0, len(names), columns)
        if (left := len(names) - first)
    ]


def _described(chart: Chart, lines: Sequence[Line]) -> str:
    """A description of the lines in words."""
    ranges = [
        f"{line.name}: from {line.y[0]:.4g} at {line.x[0]:.4g} to {line.y[-1]:.4g} at "
        f"{line.x[-1]:.4g}, between {min(line.y):.4g} and {max(line.y):.4g}"
        for line in lines
    ]
    return f"{chart.y_label} (vertical) by {chart.x_label} (horizontal). {'; '.join(ranges)}."


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{_escaped(text, 64)}</text>'


def _escaped(text: str, most: int | None = None) -> str:
    return html.escape(visible(text, most), quote=True)


def around(values: Sequence[float]) -> Axis:
    """An axis that spans the values, from one round number to another."""
    low, high = min(values), max(values)
    step = _round_step(low, high)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Axis(first * step, max(last, first + 1) * step)


def tick_text(value: float) -> str:
    """A number on an axis."""
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:g}"


def _round_step(low: float, high: float) -> float:
    rough = max(high - low, 1e-12) / 6
    unit = 10.0 ** math.floor(math.log10(rough))
    return next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough * 0.999)


def _colours(theme: Theme) -> str:
    lines = "".join(f".chart .hue{number}{{color:{hue}}}" for number, hue in enumerate(theme.hues))
    return (
        f".chart .paper{{fill:{theme.paper}}}.chart text{{fill:{theme.ink}}}"
        f".chart .rule{{stroke:{theme.rule}}}.chart .axis{{stroke:{theme.ink}}}{lines}"
    )


CHART_STYLE = (
    ".chart text{font:12px system-ui,sans-serif}.chart .head{font-weight:600;font-size:14px}"
    ".chart .curve{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}"
    ".chart .bar{stroke-width:1.5}.chart .dot{fill:currentColor}.chart .rule{stroke-width:1}"
    ".chart .axis{fill:none;stroke-width:1.5}"
    + _colours(LIGHT)
    + "@media screen and (prefers-color-scheme:dark){"
    + _colours(DARK)
    + "}"
)
