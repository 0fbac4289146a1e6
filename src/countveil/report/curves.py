"""Line charts as SVG text.

Enters: series of points, names of the axes. Leaves: one SVG element that stands alone in a file or
inside a page: readable on light and dark screens and on paper, with a title and a description for
those who do not see it. Must not know: what the curves mean. All text is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 760, 460
_LEFT, _RIGHT, _TOP = 78, 24, 52
_AXIS_ROOM, _LEGEND_LINE = 58, 20
_LETTER = 7.0
# Told apart by people with any colour vision, on white and on black.
_LIGHT = ("#0072b2", "#c04c00", "#007a5a", "#9c4f7c", "#6b5b00", "#333333")
_DARK = ("#56b4e9", "#ff9d5c", "#3fd6ab", "#e9a6cd", "#f0e442", "#dddddd")
_DASHES = {"solid": "", "dashed": "7 5", "dotted": "2 4"}


@dataclass(frozen=True, slots=True)
class Curve:
    """Points to be joined; curves of one `hue` have one colour, `dash` tells them apart."""

    label: str
    points: Sequence[tuple[float, float]]
    hue: int = 0
    dash: str = "solid"


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low` to `high`, on a logarithmic scale if wished."""

    label: str
    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """Where a value lies, from 0 to 1 along the axis; far outside for what has no place."""
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        if value <= 0:
            return -10.0
        return math.log(value / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[float]:
        """Round values along the axis."""
        if not self.log:
            rough = (self.high - self.low) / 6
            unit = 10.0 ** math.floor(math.log10(rough))
            step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
            first = math.ceil(self.low / step - 1e-9)
            last = math.floor(self.high / step + 1e-9)
            return [round(number * step, 12) for number in range(first, last + 1)]
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        within = (1, 2, 5) if last - first <= 3 else (1,)
        every = max(1, (last - first) // 8)
        found = [
            factor * 10.0**power for power in range(first, last + 1, every) for factor in within
        ]
        return [value for value in found if self.low <= value * 1.000001 and value <= self.high]


def line_chart(
    title: str, description: str, across: Axis, up: Axis, curves: Sequence[Curve]
) -> str:
    """The chart."""
    rows = _legend_rows(curves)
    height = _HEIGHT + _LEGEND_LINE * len(rows)
    inner_width, inner_height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _AXIS_ROOM
    bottom = _TOP + inner_height
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="cv-curves" role="img" '
            f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}">'
        ),
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(description)}</desc>",
        f"<style>{_style()}</style>",
        f'<rect class="paper" width="{_WIDTH}" height="{height}"/>',
        f'<text class="ink head" x="{_LEFT}" y="28">{escape(title)}</text>',
    ]
    for value in across.ticks():
        x = _LEFT + across.place(value) * inner_width
        parts.append(f'<path class="rule" d="M{x:.1f} {_TOP}V{bottom}"/>')
        parts.append(_text(x, bottom + 18, tick_text(value), "middle"))
    for value in up.ticks():
        y = bottom - up.place(value) * inner_height
        parts.append(f'<path class="rule" d="M{_LEFT} {y:.1f}H{_LEFT + inner_width}"/>')
        parts.append(_text(_LEFT - 8, y + 4, tick_text(value), "end"))
    parts.append(f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{_LEFT + inner_width}"/>')
    parts.append(_text(_LEFT + inner_width / 2, bottom + 42, across.label, "middle"))
    middle = _TOP + inner_height / 2
    turned = f' transform="rotate(-90 18 {middle:.1f})"'
    parts.append(_text(18, middle, up.label, "middle", turned))
    # A picture within the picture: what lies outside of the axes is cut off.
    parts.append(
        f'<svg x="{_LEFT}" y="{_TOP}" width="{inner_width}" height="{inner_height}" '
        f'viewBox="0 0 {inner_width} {inner_height}" overflow="hidden">'
    )
    parts += [_path(curve, across, up, inner_width, inner_height) for curve in curves]
    parts.append("</svg>")
    parts += _legend(rows)
    return "\n".join([*parts, "</svg>"]) + "\n"


def tick_text(value: float) -> str:
    """A number on an axis."""
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:g}"


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return (
        f'<text class="ink" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>'
        f"{escape(text)}</text>"
    )


def _path(curve: Curve, across: Axis, up: Axis, width: float, height: float) -> str:
    places = [
        # Far outside is as good as further outside, and renderers like small numbers.
        (across.place(x) * width, height - max(-2.0, min(3.0, up.place(y))) * height)
        for x, y in curve.points
    ]
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    return f'<path {_stroke(curve)} d="M{line}"/>' if places else ""


def _stroke(curve: Curve) -> str:
    dash = _DASHES[curve.dash]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'class="curve hue{curve.hue % len(_LIGHT)}"{dashed}'


def _legend_rows(curves: Sequence[Curve]) -> list[list[tuple[float, Curve]]]:
    """Which entries stand in which line below the chart, and where: columns of equal width."""
    needed = 58 + _LETTER * max(len(curve.label) for curve in curves)
    fit = max(1, int((_WIDTH - _LEFT - _RIGHT) / needed))
    lines = -(-len(curves) // fit)
    columns = -(-len(curves) // lines)
    return [
        [
            (_LEFT + needed * place, curve)
            for place, curve in enumerate(curves[first : first + columns])
        ]
        for first in range(0, len(curves), columns)
    ]


def _legend(rows: Sequence[Sequence[tuple[float, Curve]]]) -> list[str]:
    parts = []
    for number, row in enumerate(rows):
        y = _HEIGHT + _LEGEND_LINE * number + 4
        for x, curve in row:
            parts.append(f'<path {_stroke(curve)} d="M{x:.1f} {y}H{x + 32:.1f}"/>')
            parts.append(_text(x + 39, y + 4, curve.label, "start"))
    return parts


def _style() -> str:
    light = _colours("#ffffff", "#222222", "#d9d9d9", _LIGHT)
    dark = _colours("#16181c", "#e8e8e8", "#3a3d44", _DARK)
    return (
        ".cv-curves text{font:13px system-ui,sans-serif}"
        ".cv-curves .head{font-weight:600;font-size:16px}"
        ".cv-curves .curve{fill:none;stroke-width:2;stroke-linejoin:round}"
        ".cv-curves .rule{stroke-width:1}.cv-curves .axis{fill:none;stroke-width:1.5}"
        f"{light}@media screen and (prefers-color-scheme:dark){{{dark}}}"
    )


def _colours(paper: str, ink: str, rule: str, hues: Sequence[str]) -> str:
    curves = "".join(
        f".cv-curves .hue{number}{{stroke:{colour}}}" for number, colour in enumerate(hues)
    )
    return (
        f".cv-curves .paper{{fill:{paper}}}.cv-curves .ink{{fill:{ink}}}"
        f".cv-curves .rule{{stroke:{rule}}}.cv-curves .axis{{stroke:{ink}}}{curves}"
    )
