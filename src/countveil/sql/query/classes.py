"""Numbers compared with a column that was put into classes.

Enters: the edges, the labels in order, a comparison. Leaves: the labels for which it holds. Must
not know: SQL. A comparison that would cut through a class cannot be told and is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from countveil.errors import QueryError
from countveil.release import ClassEdges


def matching_classes(
    name: str, classes: ClassEdges, labels: Sequence[str], word: str, numbers: Sequence[float]
) -> tuple[str, ...]:
    """The labels of the classes whose numbers all meet the comparison."""
    if word == "between":
        low, high = numbers
        from_low = matching_classes(name, classes, labels, "at_least", [low])
        to_high = matching_classes(name, classes, labels, "at_most", [high])
        return tuple(label for label in from_low if label in to_high)
    (number,) = numbers
    if word in ("equal", "unequal"):
        raise QueryError(
            f"Column {name!r} is published in classes, so single numbers of it are not known. "
            f"{_what_works(name, classes, labels)}"
        )
    if classes.whole:
        # Among whole numbers, above 29 is from 30 on.
        word, number = {
            "greater": ("at_least", math.floor(number) + 1),
            "at_least": ("at_least", math.ceil(number)),
            "less": ("less", math.ceil(number)),
            "at_most": ("less", math.floor(number) + 1),
        }[word]
    if number not in classes.edges or word in ("greater", "at_most"):
        raise QueryError(
            f"This comparison would cut through a class of column {name!r}. "
            f"{_what_works(name, classes, labels)}"
        )
    place = classes.edges.index(number) + 1
    return tuple(labels[place:] if word == "at_least" else labels[:place])


def _what_works(name: str, classes: ClassEdges, labels: Sequence[str]) -> str:
    edges = ", ".join(f"{edge:.12g}" for edge in classes.edges[:12])
    more = ", ..." if len(classes.edges) > 12 else ""
    return (
        f"It can be compared with its edges, such as {name} >= {classes.edges[0]:.12g} (edges: "
        f"{edges}{more}), and with its classes, such as {name} = {labels[0]!r}."
    )
