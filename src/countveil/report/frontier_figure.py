"""The chart of accuracy by belief, with the best that any method could do as a line.

Enters: mean beliefs and errors of methods, and what bounds them. Leaves: a `Chart`. Must not know:
what the methods are. Theory: docs/theory/frontier.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from countveil.report.chart import Axis, Chart, Line

_STEPS = 120
# Space around the points: a share of the beliefs that they span, a factor on errors.
_AROUND, _FACTOR = 0.12, 1.3
# Errors that are larger than this many times the least one are not drawn.
_MOST_DRAWN = 100.0
# Errors that differ by less than this factor are drawn on a plain scale.
_NARROW = 5
_TITLE = "How near to the least possible error is each method?"


@dataclass(frozen=True, slots=True)
class Placed:
    """A method at one or more places: mean beliefs, and errors that may be infinite."""

    name: str
    beliefs: Sequence[float]
    errors: Sequence[float]
    hue: int
    dash: str = "solid"


@dataclass(frozen=True, slots=True)
class Bound:
    """The least error at every belief: `agreement` is h, the sum of the squared shares."""

    agreement: float
    values: int
    rows: int

    def belief(self, error: float) -> float:
        """The least mean belief at which this error is possible.

        `error` is the root of the mean variance over the values, in a count among `rows`.
        """
        h = self.agreement
        if h >= 1:
            return 1.0
        ratio = error**2 * self.values / (self.rows * (1 - h))
        return (1 + ratio * h) / (1 + ratio)


def frontier_chart(placed: Sequence[Placed], bound: Bound, more: str = "") -> Chart:
    """Every method where it stands, the first on top; those at the same place are drawn once."""
    finite = [error for one in placed for error in one.errors if 0 < error < math.inf]
    most = _MOST_DRAWN * min(finite, default=0.0)
    lines, notes, known = [], [], dict[tuple[str, ...], str]()
    for one in placed:
        inside = [
            place for place in zip(one.beliefs, one.errors, strict=True) if 0 < place[1] <= most
        ]
        if len(inside) < len(one.errors):
            part = " in part" if inside else ""
            far = all(map(math.isfinite, one.errors))
            notes.append(f"{one.name}{part} ({'far above' if far else 'no such error'})")
        key = tuple(f"{belief:.4f} {error:.4g}" for belief, error in inside)
        if inside and key in known:
            notes.append(f"{one.name} (where {known[key]} is)")
        elif inside:
            known[key] = one.name
            lines.append(_line(one, inside))
    said = f"Not drawn: {'; '.join(notes)}." if notes else ""
    if not lines:
        return Chart(_TITLE, "", "", [])
    across, up = _axes(lines)
    return Chart(
        _TITLE,
        "mean belief in the true value (%)",
        f"error among {bound.rows:,} rows",
        [_least(bound, across, up), *reversed(lines)],
        " ".join(
            part
            for part in ("No way to publish rows one by one is below the line.", more, said)
            if part
        ),
        x_axis=across,
        y_axis=up,
    )


def _line(one: Placed, inside: Sequence[tuple[float, float]]) -> Line:
    x, y = [100 * belief for belief, _ in inside], [error for _, error in inside]
    # A straight line between two points would lie above the bound even where both are on it.
    return Line(one.name, x, y, hue=one.hue, dash=one.dash, joined=False)


def _axes(lines: Sequence[Line]) -> tuple[Axis, Axis]:
    xs, ys = [x for line in lines for x in line.x], [y for line in lines for y in line.y]
    space = max(_AROUND * (max(xs) - min(xs)), 0.02 * max(xs))
    across = Axis(max(0.0, min(xs) - space), min(100.0, max(xs) + space))
    if max(ys) < _NARROW * min(ys):
        return across, Axis(0.0, max(ys) * _FACTOR)
    return across, Axis(min(ys) / _FACTOR, max(ys) * _FACTOR, log=True)


def _least(bound: Bound, across: Axis, up: Axis) -> Line:
    lowest = max(up.low, up.high / 1e3)
    growth = (up.high / lowest) ** (1 / _STEPS)
    errors = [lowest * growth**step for step in range(_STEPS + 1)]
    places = [(100 * bound.belief(error), error) for error in errors]
    inside = [(x, y) for x, y in places if x <= across.high]
    return Line("the bound", [x for x, _ in inside], [y for _, y in inside], hue=5, dash="mixed")
