"""Marks, texts and the frame of the pictures of play.

Enters: places in a picture, texts. Leaves: SVG. Must not know: what a picture is about. A value has
a shape and a colour, so that nobody needs to see the colour; no element holds a style.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence

from markupsafe import Markup

from countveil.display import visible

# As wide as a phone shows a picture: letters have the size that they have there.
WIDTH = 360
_LINE, _LETTERS = 14, 14
_HUES = 6
# Around the middle of a mark, within 7 to each side.
_SHAPES = (
    "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0z",
    "M-5.5-5.5h11v11h-11z",
    "M0-6.5L6.5 5.5h-13z",
    "M0-7.5L7 0L0 7.5L-7 0z",
    "M0 6.5L6.5-5.5h-13z",
    "M-2.2-6.5h4.4v4.3h4.3v4.4h-4.3v4.3h-4.4v-4.3h-4.3v-4.4h4.3z",
    "M-6-3.5L-3.5-6L0-2.5L3.5-6L6-3.5L2.5 0L6 3.5L3.5 6L0 2.5L-3.5 6L-6 3.5L-2.5 0z",
    "M-6.8 0L-3.4-6h6.8L6.8 0L3.4 6h-6.8z",
    "M0-7.5L2-2.4L7.4-2.2L3.2 1.2L4.6 6.4L0 3.4L-4.6 6.4L-3.2 1.2L-7.4-2.2L-2-2.4z",
    "M-6.5 0a6.5 6.5 0 1 0 13 0a6.5 6.5 0 1 0-13 0zM-3 0a3 3 0 1 1 6 0a3 3 0 1 1-6 0z",
)


def mark(place: int, x: float, y: float) -> str:
    """The shape of the value in this place of a group, in its colour."""
    shape = _SHAPES[place % len(_SHAPES)]
    return (
        f'<path class="dot hue{place % _HUES}" fill-rule="evenodd" '
        f'transform="translate({x:g} {y:g})" d="{shape}"/>'
    )


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """One line of text."""
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{named}>{_escaped(words)}</text>'


def words(x: float, middle: float, name: str, kind: str = "") -> str:
    """A name in one line or two, around a middle."""
    lines = textwrap.wrap(visible(name), _LETTERS)
    first = middle + 4 - _LINE * (len(lines) - 1) / 2
    return "".join(text(x, first + _LINE * n, line, kind) for n, line in enumerate(lines))


def picture(title: str, description: str, height: float, parts: Sequence[str]) -> Markup:
    """The picture as an element, with its title and description for screen readers."""
    # All that comes from elsewhere was escaped where it was written.
    return Markup(  # noqa: S704
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart drawn" role="img" '
        f'viewBox="0 0 {WIDTH} {height:g}"><title>{_escaped(title)}</title>'
        f"<desc>{_escaped(description)}</desc>{''.join(parts)}</svg>"
    )


def _escaped(written: str) -> str:
    return html.escape(visible(written), quote=True)
