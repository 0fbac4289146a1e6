"""Line charts as SVG.

Enters: lines with or without intervals. Leaves: an SVG element as text, everything escaped. Must
not know: what the numbers mean.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

from countveil.display import visible

_WIDTH, _HEIGHT = 620, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 18, 16, 52
_LINE_HEIGHT = 18
# Distinguishable for people who do not see all colours (Okabe and Ito).
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
_DASHES = ("", "6 4", "2 3", "8 3 2 3")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a chart; `low` and `high` are its intervals, if it has some."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over the same axes."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    note: str = ""


def ticks(low: float, high: float, about: int = 6) -> list[float]:
    """Round numbers that span the range."""
    span = max(high - low, 1e-12)
    raw = span / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * 0.999)
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def draw(chart: Chart) -> str:
    """The chart as an SVG element."""
    lines = [line for line in chart.lines if len(line.x)]
    if not lines:
        return ""
    xs = [x for line in lines for x in line.x]
    ys = [y for line in lines for y in (*line.y, *line.low, *line.high)]
    x_ticks, y_ticks = ticks(min(xs), max(xs), 8), ticks(min(0.0, *ys), max(ys))
    area = _Area(x_ticks[0], x_ticks[-1], y_ticks[0], y_ticks[-1], len(lines))
    parts = [area.axes(x_ticks, y_ticks, chart)]
    parts += [area.line(line, number) for number, line in enumerate(lines)]
    label = html.escape(visible(chart.title), quote=True)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {area.height}" role="img" aria-label="{label}" '
        f'xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" font-size="12">'
        + "".join(parts)
        + "</svg>"
    )


class _Area:
    """Where numbers lie on the page; the legend stands above the axes."""

    def __init__(self, x0: float, x1: float, y0: float, y1: float, n_lines: int) -> None:
        self._x, self._y = (x0, max(x1, x0 + 1e-12)), (y0, max(y1, y0 + 1e-12))
        self._top = _TOP + _LINE_HEIGHT * n_lines
        self.height = _HEIGHT + _LINE_HEIGHT * n_lines
        self._bottom = self.height - _BOTTOM

    def x(self, value: float) -> float:
        share = (value - self._x[0]) / (self._x[1] - self._x[0])
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 2)

    def y(self, value: float) -> float:
        share = (value - self._y[0]) / (self._y[1] - self._y[0])
        return round(self._bottom - share * (self._bottom - self._top), 2)

    def axes(self, x_ticks: Sequence[float], y_ticks: Sequence[float], chart: Chart) -> str:
        right = _WIDTH - _RIGHT
        parts = []
        for tick in y_ticks:
            at = self.y(tick)
            parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{at}" y2="{at}" stroke="#ddd"/>')
            parts.append(_text(_LEFT - 8, at + 4, _short(tick), "end"))
        for tick in x_ticks:
            at = self.x(tick)
            parts.append(
                f'<line x1="{at}" x2="{at}" y1="{self._bottom}" y2="{self._bottom + 5}" '
                f'stroke="#666"/>'
            )
            parts.append(_text(at, self._bottom + 19, _short(tick), "middle"))
        parts.append(
            f'<line x1="{_LEFT}" x2="{right}" y1="{self._bottom}" y2="{self._bottom}" '
            f'stroke="#666"/>'
        )
        middle, side = (_LEFT + right) / 2, (self._top + self._bottom) / 2
        parts.append(_text(middle, self._bottom + 40, chart.x_label, "middle"))
        parts.append(_text(15, side, chart.y_label, "middle", f"rotate(-90 15 {side})"))
        return "".join(parts)

    def line(self, line: Line, number: int) -> str:
        colour, dash = _COLOURS[number % len(_COLOURS)], _DASHES[number % len(_DASHES)]
        style = f'stroke="{colour}" stroke-width="2" fill="none" stroke-dasharray="{dash}"'
        points = " ".join(f"{self.x(x)},{self.y(y)}" for x, y in zip(line.x, line.y, strict=True))
        at = _TOP + _LINE_HEIGHT * number
        parts = [
            f'<polyline points="{points}" {style}/>',
            f'<line x1="{_LEFT}" x2="{_LEFT + 28}" y1="{at}" y2="{at}" {style}/>',
            _text(_LEFT + 36, at + 4, line.name, "start"),
        ]
        for x, low, high in zip(line.x, line.low, line.high, strict=False):
            parts.append(
                f'<line x1="{self.x(x)}" x2="{self.x(x)}" y1="{self.y(low)}" y2="{self.y(high)}" '
                f'stroke="{colour}" stroke-width="1.5"/>'
            )
        if line.low:
            parts += [
                f'<circle cx="{self.x(x)}" cy="{self.y(y)}" r="3" fill="{colour}"/>'
                for x, y in zip(line.x, line.y, strict=True)
            ]
        return "".join(parts)


def _text(x: float, y: float, text: str, anchor: str, transform: str = "") -> str:
    turned = f' transform="{transform}"' if transform else ""
    escaped = html.escape(visible(text, 80), quote=True)
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="#333"{turned}>{escaped}</text>'


def _short(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{round(value, 6):g}"
