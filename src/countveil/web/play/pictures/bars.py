"""Bars of shares and frequencies, and intervals around a truth.

Enters: numbers with their names. Leaves: pictures. Must not know: where the numbers come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from countveil.display import readable
from countveil.maths.estimate import Estimate
from countveil.web.play.pictures.marks import WIDTH, mark, picture, text, words

_STEP, _LEFT, _RIGHT = 38, 134, 72


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: `place` gives it the mark of a value, `strong` makes it stand out."""

    name: str
    size: float
    shown: str
    place: int | None = None
    strong: bool = False


def bars(title: str, items: Sequence[Bar], most: float, line: tuple[float, str] | None) -> Markup:
    """Bars below each other, perhaps with a line where all of them are expected to end."""
    top = 28 if line else 6
    parts = []
    for number, bar in enumerate(items):
        y = top + _STEP * number
        middle = y + _STEP / 2
        start = _LEFT if bar.place is None else _LEFT - 4
        if bar.place is not None:
            parts.append(mark(bar.place, 12, middle))
        parts += [
            words(0 if bar.place is None else 26, middle, bar.name, "strong" if bar.strong else ""),
            _rect(bar, start, y, most),
            text(WIDTH - 2, middle + 4, bar.shown, "count", "end"),
        ]
    height = top + _STEP * len(items) + 4
    if line:
        x = _LEFT - 4 + _across(line[0], most)
        parts.append(f'<path class="expected" d="M{x:.1f} {top - 4}V{height - 4}"/>')
        parts.append(text(x, 16, line[1], "soft", "middle"))
    described = "; ".join(f"{bar.name}: {bar.shown}" for bar in items)
    return picture(title, f"{described}.", height, parts)


def _rect(bar: Bar, x: float, y: float, most: float) -> str:
    kind = "bar-of strong" if bar.strong else "bar-of"
    return (
        f'<rect class="{kind}" x="{x:g}" y="{y + 7:g}" width="{_across(bar.size, most):.1f}" '
        f'height="{_STEP - 14}" rx="3"/>'
    )


def _across(size: float, most: float) -> float:
    return (WIDTH - _LEFT - _RIGHT) * min(1.0, size / most)


@dataclass(frozen=True, slots=True)
class Against:
    """An estimate against the truth."""

    name: str
    truth: int
    answer: Estimate


_ROW, _EDGE, _MOST = 74, 14, 2.0


def intervals(title: str, items: Sequence[Against]) -> Markup:
    """Estimates and intervals as shares of the truth, which all rows have in one place."""
    bottom = 8 + _ROW * len(items)
    parts = []
    for share in (0.0, 0.5, 1.5, _MOST):
        x = _place(share)
        parts.append(f'<path class="rule" d="M{x:g} 8V{bottom}"/>')
        anchor = {0.0: "start", _MOST: "end"}.get(share, "middle")
        parts.append(text(x, bottom + 16, f"{share:.0%}", "soft", anchor))
    parts.append(f'<path class="truth" d="M{_place(1.0):g} 8V{bottom}"/>')
    parts.append(text(_place(1.0), bottom + 16, "the truth", "strong", "middle"))
    for number, item in enumerate(items):
        parts += _interval(item, 8 + _ROW * number)
    described = "; ".join(
        f"{item.name}: true {readable(item.truth)}, answer {item.answer}" for item in items
    )
    return picture(title, f"{described}.", bottom + 26, parts)


def _interval(item: Against, top: float) -> list[str]:
    y, answer = top + 52, item.answer
    assert answer.low is not None  # noqa: S101 - the default estimator always has both
    assert answer.high is not None  # noqa: S101
    low, high = answer.low / item.truth, answer.high / item.truth
    hidden = answer.verdict == "hidden"
    kind = "range unsure" if hidden else "range"
    label = f'<rect class="ground" x="2" y="{top + 12}" width="{WIDTH - 4}" height="22"/>'
    parts = [label, text(4, top + 28, item.name)]
    start, end = _place(low), _place(high)
    ends = f"M{start:.1f} {y - 6}v12" + (f"M{end:.1f} {y - 6}v12" if high <= _MOST else "")
    parts.append(f'<path class="{kind}" d="M{start:.1f} {y}H{end:.1f}"/>')
    parts.append(f'<path class="{kind} end" d="{ends}"/>')
    if low > _MOST or high > _MOST:
        parts.append(f'<path class="onwards" d="M{WIDTH - 12} {y - 6}l9 6l-9 6z"/>')
    if not hidden and answer.estimate is not None:
        x = _place(answer.estimate / item.truth)
        parts.append(f'<circle class="guess {answer.verdict}" cx="{x:.1f}" cy="{y}" r="6.5"/>')
        if answer.verdict != "reliable":
            parts.append(f'<path class="half" d="M{x:.1f} {y - 6.5}a6.5 6.5 0 0 0 0 13z"/>')
    return parts


def _place(share: float) -> float:
    return _EDGE + (WIDTH - 2 * _EDGE) * min(1.0, share / _MOST)
