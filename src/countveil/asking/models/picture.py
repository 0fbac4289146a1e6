"""Coefficients with their intervals as one SVG picture, beside those of others.

Enters: coefficients by name, their text from data that may be hostile. Leaves: a `Picture`,
complete in itself. Must not know: how they were fitted.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from countveil.display import visible
from countveil.report.bars import Picture
from countveil.report.chart import CHART_STYLE, Axis, around, tick_text

_WIDTH, _LABEL, _RIGHT = 760, 230, 24
_TITLE, _HEAD, _FOOT, _LETTER, _LINE = 34, 22, 34, 6.7, 20
_SHAPES = ("m-4-4h8v8h-8z", "m0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z", "m0-5l5 9h-10z")


@dataclass(frozen=True, slots=True)
class Shown:
    """One coefficient; None where it is hidden."""

    label: str
    estimate: float | None
    low: float | None
    high: float | None


def coefficient_picture(
    title: str, fitted: str, shown: Sequence[Shown], beside: Mapping[str, Mapping[str, float]]
) -> Picture:
    """A line per coefficient: its interval, its estimate and, in other marks, those of others."""
    numbers = [n for each in shown for n in (each.low, each.high) if _known(n)]
    numbers += [n for other in beside.values() for n in other.values() if math.isfinite(n)]
    axis = around([0.0, *(n for n in numbers if n is not None), 1e-6])
    step = _LINE + 6 * len(beside)
    top, bottom = _TITLE + _HEAD, _TITLE + _HEAD + step * len(shown)
    height = bottom + _FOOT
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" '
            f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
            f'style="max-width:100%;height:auto">'
        ),
        f"<title>{_escaped(title)}</title><desc>{_escaped(_described(shown, beside))}</desc>",
        f"<style>{CHART_STYLE}</style>",
        f'<rect class="paper" width="{_WIDTH}" height="{height}"/>',
        f'<text class="head" x="8" y="20">{_escaped(title, 90)}</text>',
        *_legend([fitted, *beside]),
        *_scale(axis, top, bottom),
    ]
    for place, each in enumerate(shown):
        middle = top + step * (place + 0.5)
        others = [other.get(each.label) for other in beside.values()]
        parts += _line(axis, middle, each, others)
    return Picture("".join([*parts, "</svg>"]))


def _known(number: float | None) -> bool:
    return number is not None and math.isfinite(number)


def _x(axis: Axis, value: float) -> float:
    return _LABEL + axis.place(value) * (_WIDTH - _LABEL - _RIGHT)


def _scale(axis: Axis, top: float, bottom: float) -> list[str]:
    parts = []
    for value in axis.ticks():
        x, kind = _x(axis, value), "axis" if value == 0 else "rule"
        parts.append(f'<path class="{kind}" d="M{x:.1f} {top}V{bottom + 4}"/>')
        parts.append(_text(x, bottom + 20, tick_text(value), "middle", 12))
    return parts


def _line(axis: Axis, middle: float, each: Shown, others: Sequence[float | None]) -> list[str]:
    parts = [_text(_LABEL - 10, middle + 4, each.label, "end", int(_LABEL / _LETTER))]
    first = middle - 3 * len(others)
    if each.estimate is None or each.low is None or each.high is None:
        parts.append(_text(_x(axis, 0.0) + 6, first + 4, "hidden", "start", 10))
    else:
        low, high = _x(axis, each.low), _x(axis, each.high)
        parts.append(f'<path class="curve hue0" d="M{low:.1f} {first:.1f}H{high:.1f}"/>')
        x = _x(axis, each.estimate)
        parts.append(f'<circle class="dot hue0" cx="{x:.1f}" cy="{first:.1f}" r="4.5"/>')
    for number, other in enumerate(others):
        if other is not None and math.isfinite(other):
            y = first + 10 * (number + 1)
            parts.append(_mark(number, _x(axis, other), y))
    return parts


def _mark(number: int, x: float, y: float) -> str:
    shape = _SHAPES[number % len(_SHAPES)]
    return f'<path class="dot hue{number + 1}" d="M{x:.1f} {y:.1f}{shape}"/>'


def _legend(names: Sequence[str]) -> list[str]:
    parts, x, y = [], float(_LABEL), _TITLE + 4
    for number, name in enumerate(names):
        mark = (
            f'<circle class="dot hue0" cx="{x:.1f}" cy="{y}" r="4.5"/>'
            if number == 0
            else _mark(number - 1, x, y)
        )
        parts += [mark, _text(x + 10, y + 4, name, "start", 40)]
        x += 34 + _LETTER * min(len(name), 40)
    return parts


def _described(shown: Sequence[Shown], beside: Mapping[str, Mapping[str, float]]) -> str:
    """The coefficients in words, for those who cannot see them; the first of very many."""
    texts = []
    for each in shown[:30]:
        text = f"{each.label}: hidden"
        if each.estimate is not None:
            text = f"{each.label}: {each.estimate:.4g} ({each.low:.4g} to {each.high:.4g})"
        others = (f"{name} {other[each.label]:.4g}" for name, other in beside.items()
                  if each.label in other)  # fmt: skip
        texts.append(", ".join([text, *others]))
    return ". ".join(texts)


def _text(x: float, y: float, text: str, anchor: str, most: int) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_escaped(text, most)}</text>'


def _escaped(text: str, most: int | None = None) -> str:
    return html.escape(visible(text, most), quote=True)
