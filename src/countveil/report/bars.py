"""Bars with intervals, in panels, as one SVG picture for a notebook or a file.

Enters: bars by panel, their text from data that may be hostile. Leaves: a `Picture`, complete in
itself: nothing in it is loaded from anywhere, and nothing in it runs. Must not know: what is
counted, how it was estimated.
"""

from __future__ import annotations

import html
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from countveil.display import readable, visible
from countveil.report.chart import CHART_STYLE, Axis, around, tick_text
from countveil.report.look.colours import DARK, LIGHT

_ROW, _HEAD, _FOOT, _TITLE = 18, 24, 30, 30
_LETTER = 6.4
_SHADES = {"reliable": "hue0", "indicative": "soft", "hidden": "none"}
BARS_STYLE = (
    f".chart .soft{{color:{LIGHT.pale}}}.chart .range{{stroke:currentColor;stroke-width:1.5}}"
    f".chart .unsure{{stroke-dasharray:2 3}}.chart .ink{{color:{LIGHT.ink}}}"
    f"@media screen and (prefers-color-scheme:dark){{.chart .soft{{color:{DARK.pale}}}"
    f".chart .ink{{color:{DARK.ink}}}}}"
)
DOTS_STYLE = (
    f".chart .ring{{fill:{LIGHT.paper};stroke:currentColor;stroke-width:1.5}}"
    f"@media screen and (prefers-color-scheme:dark){{.chart .ring{{fill:{DARK.paper}}}}}"
)


@dataclass(frozen=True, slots=True)
class _Layout:
    """How wide the drawing, its labels and its gaps are, and how many panels stand abreast."""

    width: int
    label: int
    gap: int
    most_across: int

    @property
    def left(self) -> int:
        """Where panels begin."""
        return self.label + self.gap


_WIDE, _NARROW = _Layout(760, 140, 30, 3), _Layout(352, 108, 14, 1)


@dataclass(frozen=True, slots=True)
class Bar:
    """An estimate with its interval; a number is None where it is not known."""

    label: str
    estimate: float | None
    low: float | None
    high: float | None
    verdict: str | None


@dataclass(frozen=True, slots=True)
class BarChart:
    """Bars by panel; `panels_of` is what the panels are the values of, if they are values.

    All panels have the same scale, unless they show different things (`one_scale` is false). With
    `dots` an estimate is a dot on its interval in place of a bar: filled if it is reliable, half
    filled if it is indicative.
    """

    title: str
    panels_of: str
    panels: Mapping[str, Sequence[Bar]]
    one_scale: bool = True
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawn chart: a notebook shows it.

    Attributes:
        svg: Its text.

    Example:
        >>> picture = release.sql("SELECT gender, count(*) FROM release GROUP BY gender").plot()
        >>> picture.save("genders.svg")
    """

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Picture({len(self.svg):,} characters of SVG; keep it with .save('figure.svg'))"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to an .svg file; a file that is there already stays as it is.

        Args:
            path: The file.

        Raises:
            TargetError: The file exists already, or cannot be written.
        """
        from countveil.report.whole_file import check_file, write_file

        check_file(Path(path), "the picture", force=False, again=False)
        write_file(Path(path), self.svg + "\n", "the picture")


def bar_picture(chart: BarChart) -> Picture:
    """A picture that is complete in itself."""
    return Picture(_drawn(chart, _WIDE, alone=True))


def bar_element(chart: BarChart, *, narrow: bool = False) -> str:
    """The same as an element of a page with `CHART_STYLE`, `BARS_STYLE` and `DOTS_STYLE`.

    A `narrow` one has letters of the same size on a phone.
    """
    return _drawn(chart, _NARROW if narrow else _WIDE, alone=False)


def _drawn(chart: BarChart, layout: _Layout, *, alone: bool) -> str:
    """Panels side by side, as many as fit."""
    across = max(1, min(layout.most_across, len(chart.panels)))
    width = (layout.width - layout.label - layout.gap * (across + 1)) / across
    shared = [bar for bars in chart.panels.values() for bar in bars]
    parts, top = [], float(_TITLE)
    panels = list(chart.panels.items())
    for first in range(0, len(panels), across):
        line = panels[first : first + across]
        labels = list(dict.fromkeys(bar.label for _, bars in line for bar in bars))
        parts += _labels(labels, top, layout)
        for place, (name, bars) in enumerate(line):
            left = layout.left + place * (width + layout.gap)
            axis = _axis(shared if chart.one_scale else bars)
            panel = _Panel(left, top, width, labels, axis, dots=chart.dots)
            parts += panel.drawn(f"{chart.panels_of}: {name}" if chart.panels_of else name, bars)
        top += _HEAD + _ROW * len(labels) + _FOOT
    legend, below = _legend(top, layout, dots=chart.dots)
    height = math.ceil(below + _HEAD)
    shown = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" '
            f'viewBox="0 0 {layout.width} {height}" width="{layout.width}" height="{height}"'
            + (' style="max-width:100%;height:auto">' if alone else ">")
        ),
        f"<title>{_escaped(chart.title)}</title><desc>{_escaped(_described(chart))}</desc>",
        f"<style>{CHART_STYLE}{BARS_STYLE}{DOTS_STYLE if chart.dots else ''}</style>"
        if alone
        else "",
        f'<rect class="paper" width="{layout.width}" height="{height}"/>',
        f'<text class="head" x="8" y="20">{_escaped(chart.title, int(layout.width / 8.4))}</text>',
    ]
    return "".join([*shown, *parts, *legend, "</svg>"])


class _Panel:
    """One panel: where numbers and labels lie in it."""

    def __init__(
        self,
        left: float,
        top: float,
        width: float,
        labels: Sequence[str],
        axis: Axis,
        *,
        dots: bool,
    ) -> None:
        self._dots = dots
        self._left, self._top, self._width, self._axis = left, top + _HEAD, width, axis
        self._bottom = self._top + _ROW * len(labels)
        self._y = {label: self._top + _ROW * place for place, label in enumerate(labels)}

    def drawn(self, name: str, bars: Sequence[Bar]) -> list[str]:
        most = int(self._width / _LETTER)
        parts = [_text(self._left, self._top - 8, name, "start", most)]
        ticks = self._axis.ticks()
        for value in ticks[:: max(1, math.ceil(len(ticks) * 46 / self._width))]:
            x = self._x(value)
            parts.append(f'<path class="rule" d="M{x:.1f} {self._top}V{self._bottom + 4}"/>')
            parts.append(_text(x, self._bottom + 18, tick_text(value), "middle", 12))
        for bar in bars:
            parts += self._bar(bar)
        zero = self._x(0.0)
        return [*parts, f'<path class="axis" d="M{zero:.1f} {self._top}V{self._bottom}"/>']

    def _x(self, value: float) -> float:
        return self._left + max(0.0, min(1.0, self._axis.place(value))) * self._width

    def _bar(self, bar: Bar) -> list[str]:
        y, parts = self._y[bar.label], [f"<g><title>{_escaped(_said(bar))}</title>"]
        shade = _SHADES.get(bar.verdict or "", "soft")
        drawn = shade != "none" and bar.estimate is not None
        if drawn and not self._dots:
            first, last = sorted([self._x(0.0), self._x(bar.estimate or 0.0)])
            parts.append(
                f'<rect class="dot {shade}" x="{first:.1f}" y="{y + 3}" '
                f'width="{last - first:.1f}" height="{_ROW - 6}"/>'
            )
        if bar.low is not None and bar.high is not None:
            unsure = " unsure" if shade == "none" else ""
            parts.append(
                f'<path class="range ink{unsure}" '
                f'd="M{self._x(bar.low):.1f} {y + _ROW / 2}H{self._x(bar.high):.1f}"/>'
            )
        if drawn and self._dots:
            parts.append(_dot(self._x(bar.estimate or 0.0), y + _ROW / 2, bar.verdict))
        return [*parts, "</g>"]


def _dot(x: float, y: float, verdict: str | None) -> str:
    """A dot: its shape says how sure it is."""
    filled = f"M{x:.1f} {y:.1f}m-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z"
    if verdict == "reliable":
        return f'<path class="dot hue0" d="{filled}"/>'
    half = f"M{x:.1f} {y - 5:.1f}a5 5 0 0 0 0 10z"
    return f'<g class="hue0"><path class="ring" d="{filled}"/><path class="dot" d="{half}"/></g>'


def _labels(labels: Sequence[str], top: float, layout: _Layout) -> list[str]:
    most = int(layout.label / _LETTER)
    return [
        _text(layout.left - 8, top + _HEAD + _ROW * (place + 0.72), label, "end", most)
        for place, label in enumerate(labels)
    ]


def _legend(top: float, layout: _Layout, *, dots: bool) -> tuple[list[str], float]:
    """What the shapes mean, and where it ends; in a narrow drawing on lines of their own."""
    narrow = layout is _NARROW
    parts, x = [], 8.0 if narrow else float(layout.left)
    for word in ("reliable", "indicative"):
        parts.append(
            _dot(x + 11, top + 4, word)
            if dots
            else f'<rect class="dot {_SHADES[word]}" x="{x}" y="{top - 2}" width="22" height="12"/>'
        )
        parts.append(_text(x + 28, top + 8, word, "start", 20))
        x += 110
    if narrow:
        x, top = 8.0, top + _ROW
    parts.append(f'<path class="range ink unsure" d="M{x} {top + 4}H{x + 22}"/>')
    parts.append(
        _text(x + 28, top + 8, "hidden: its interval alone; lines are intervals", "start", 60)
    )
    return parts, top


def _axis(bars: Sequence[Bar]) -> Axis:
    """From 0 to the last interval's end; below 0 too where something is."""
    numbers = [0.0, *(number for bar in bars for number in _numbers(bar))]
    return around(numbers if min(numbers) < max(numbers) else [0.0, 1.0])


def _numbers(bar: Bar) -> list[float]:
    numbers = (bar.low, bar.high, None if bar.verdict == "hidden" else bar.estimate)
    return [number for number in numbers if number is not None and math.isfinite(number)]


def _said(bar: Bar) -> str:
    if bar.verdict == "hidden" or bar.estimate is None:
        return f"{bar.label}: hidden, {readable(bar.low)} to {readable(bar.high)}"
    ends = f" ({readable(bar.low)} to {readable(bar.high)})" if bar.low is not None else ""
    return f"{bar.label}: {readable(bar.estimate)}{ends}, {bar.verdict or 'no verdict'}"


def _described(chart: BarChart) -> str:
    """The bars in words, for those who cannot see them; the first of very many."""
    parts = [f"{name}: {'; '.join(map(_said, bars[:20]))}" for name, bars in chart.panels.items()]
    return f"{chart.title}. {'. '.join(parts[:20])}."


def _text(x: float, y: float, text: str, anchor: str, most: int) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_escaped(text, most)}</text>'


def _escaped(text: str, most: int | None = None) -> str:
    return html.escape(visible(text, most), quote=True)
