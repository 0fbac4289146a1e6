"""A hundred people, by what is true of them: one mark stands for one in a hundred.

Enters: kinds with their shares. Leaves: a picture. Must not know: what the kinds mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from countveil.web.play.pictures.marks import picture, text

_ACROSS, _STEP, _EDGE, _LINE = 20, 17, 12, 22
# Full, crossed and small: told apart without colours.
_SHAPES = {
    "full": "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0z",
    "crossed": "M-5-5L5 5M5-5L-5 5",
    "small": "M-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0z",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of people, its share, and how it is drawn: full, crossed or small."""

    name: str
    share: float
    look: str


def hundred(title: str, kinds: Sequence[Kind]) -> Markup:
    """All hundred, kind after kind, and below them what the marks mean."""
    numbers = whole_hundred([kind.share for kind in kinds])
    looks = [kind.look for kind, number in zip(kinds, numbers, strict=True) for _ in range(number)]
    parts = [
        _mark(look, _EDGE + _STEP * (place % _ACROSS), _EDGE + _STEP * (place // _ACROSS))
        for place, look in enumerate(looks)
    ]
    explained: list[str] = []
    top = _EDGE + _STEP * (100 // _ACROSS) + 16
    for place, (kind, number) in enumerate(zip(kinds, numbers, strict=True)):
        y = top + _LINE * place
        explained.append(f"{number} of 100: {kind.name}")
        parts.append(_mark(kind.look, _EDGE, y))
        parts.append(text(_EDGE + 18, y + 4, explained[-1]))
    return picture(title, f"{'; '.join(explained)}.", top + _LINE * len(kinds), parts)


def whole_hundred(shares: Sequence[float]) -> list[int]:
    """Whole numbers that add up to a hundred: the largest remainders are rounded up."""
    exact = [100 * share for share in shares]
    numbers = [int(number) for number in exact]
    order = sorted(range(len(exact)), key=lambda place: numbers[place] - exact[place])
    for place in order[: 100 - sum(numbers)]:
        numbers[place] += 1
    return numbers


def _mark(look: str, x: float, y: float) -> str:
    return f'<path class="one {look}" transform="translate({x} {y})" d="{_SHAPES[look]}"/>'
