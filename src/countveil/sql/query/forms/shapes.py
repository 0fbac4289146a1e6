"""Queries that differ in their constants alone are parsed once.

Enters: the text of a query. Leaves: the tree that sqlglot makes of it, or None if it has to be
parsed. Must not know: columns, engines. Analysts ask in series: the same query with another age.
Constants that stand alone after a comparison are replaced by stand-ins, the text with stand-ins is
parsed once, and its tree is copied with the constants of each query. The tree notes the places of
words in the text with stand-ins: whoever refuses a query parses it anew to say where.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

_LONGEST = 2_000
# What begins and ends by itself is passed over; of the rest, constants that a comparison ends with.
_CONSTANT = re.compile(
    r"""("[^"]*")"""
    r"""|((?:<>|!=|<=|>=|=|<|>)\s*|\bBETWEEN\s+)([0-9]+(?:\.[0-9]+)?|'[^']*')"""
    r"""(?=\s*(?:\)|$|(?:AND|OR|GROUP|ORDER|HAVING|LIMIT)\b))"""
    r"""|('[^']*')""",
    re.IGNORECASE | re.ASCII,
)
# Comments, strings of other kinds, quotes within quotes, parameters: parsed as they are.
_OTHER = re.compile(r"--|/\*|''|\"\"|[\\$?:;#`{}\[\]\0]")
_STAND_INS = {"text": "'stand-in {}'", "integer": "73100{}", "decimal": "73100{}.5"}


def tree_of_shape(text: str, parse: Callable[[str], exp.Expr]) -> exp.Expr | None:
    """The tree of a text, from that of its shape; None if there is nothing to replace."""
    if len(text) > _LONGEST or _OTHER.search(text) or "73100" in text or "stand-in" in text:
        return None
    constants: list[str] = []

    def stand_in(match: re.Match[str]) -> str:
        if match[3] is None:
            return match[0]
        constants.append(match[3])
        kind = "text" if match[3][0] == "'" else "decimal" if "." in match[3] else "integer"
        return match[2] + _STAND_INS[kind].format(len(constants))

    shape = _CONSTANT.sub(stand_in, text)
    known = _parsed(shape, len(constants), parse) if constants else None
    if known is None:
        return None
    tree, places = known
    copied = tree.copy()
    nodes = list(copied.walk())
    for place, constant in zip(places, constants, strict=True):
        nodes[place].set("this", constant.strip("'"))
    return copied


@lru_cache(maxsize=256)
def _parsed(
    shape: str, constants: int, parse: Callable[[str], exp.Expr]
) -> tuple[exp.Expr, tuple[int, ...]] | None:
    """The tree of a text with stand-ins, and where in the order of its nodes each of them is.

    None if one of them is not there exactly once, as a literal.
    """
    from sqlglot import exp

    tree = parse(shape)
    place_of: dict[str, list[int]] = {}
    for place, node in enumerate(tree.walk()):
        if isinstance(node, exp.Literal):
            place_of.setdefault(str(node.this), []).append(place)
    places = []
    for number in range(1, constants + 1):
        known = [form.strip("'").format(number) for form in _STAND_INS.values()]
        there = [place for name in known for place in place_of.get(name, ())]
        if len(there) != 1:
            return None
        places.append(there[0])
    return tree, tuple(places)
