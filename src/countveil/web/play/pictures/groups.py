"""The people of one decoy group, and whose value each of them publishes.

Enters: people, a draw. Leaves: a picture. Must not know: how groups or draws are made.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from countveil.web.play.group import Person
from countveil.web.play.pictures.marks import WIDTH, mark, picture, text, words

_TOP, _STEP = 34, 46
_FACE, _TRUE, _LEFT, _RIGHT, _SHOWN = 24, 54, 156, 234, 246


def group_picture(people: Sequence[Person], drawn: Sequence[int]) -> Markup:
    """True values on the left, what is published on the right, and where it comes from."""
    parts = [text(_TRUE - 7, 20, "true", "soft"), text(_SHOWN - 7, 20, "published", "soft")]
    for place in range(len(people)):
        kind = "row first" if place == 0 else "row"
        top = _TOP + _STEP * place + 2
        parts.append(
            f'<rect class="{kind}" x="2" y="{top}" width="{WIDTH - 4}" '
            f'height="{_STEP - 6}" rx="9"/>'
        )
    parts += [_line(place, drawn[place]) for place in reversed(range(len(people)))]
    for place, person in enumerate(people):
        y = _middle(place)
        parts += [
            f'<circle class="face{" first" if place == 0 else ""}" cx="{_FACE}" cy="{y}" r="15"/>',
            text(_FACE, y + 5, person.letter, "letter", "middle"),
            mark(place, _TRUE, y),
            words(_TRUE + 13, y, person.occupation),
            mark(drawn[place], _SHOWN, y),
            words(_SHOWN + 13, y, people[drawn[place]].occupation, "shown"),
        ]
    described = "; ".join(
        f"{person.name}: true {person.occupation}, published {people[drawn[place]].occupation}"
        for place, person in enumerate(people)
    )
    title = f"A decoy group of {len(people)} people, and what each of them publishes"
    return picture(title, f"{described}.", _TOP + _STEP * len(people), parts)


def _middle(place: int) -> float:
    return _TOP + _STEP * place + _STEP / 2 - 1


def _line(place: int, source: int) -> str:
    """From the value to who publishes it."""
    start, end = _middle(source), _middle(place)
    half = (_LEFT + _RIGHT) / 2
    kind = "way first" if place == 0 else "way"
    return (
        f'<path class="{kind} hue{source % 6}" '
        f'd="M{_LEFT} {start:g}C{half:g} {start:g} {half:g} {end:g} {_RIGHT} {end:g}"/>'
    )
