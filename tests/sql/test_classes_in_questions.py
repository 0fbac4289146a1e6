"""Numbers that were put into classes: which classes a comparison counts, and which it would cut."""

from __future__ import annotations

import pytest

from countveil.errors import QueryError
from countveil.release.manifest import ClassEdges
from countveil.sql.query.release_columns import matching_classes

WHOLE = ClassEdges((18.0, 30.0, 65.0), True)
PARTS = ClassEdges((18.0, 30.0, 65.0), False)
LABELS = ("below 18", "18 to 29", "30 to 64", "65 or more")


@pytest.mark.parametrize(
    ("comparison", "numbers", "first", "last"),
    [
        ("at_least", [30], 2, 4), ("greater", [29], 2, 4), ("greater", [64], 3, 4),
        ("greater", [17], 1, 4), ("at_least", [29.5], 2, 4), ("greater", [29.5], 2, 4),
        ("less", [30], 0, 2), ("at_most", [29], 0, 2), ("at_most", [64], 0, 3),
        ("less", [64.5], 0, 3), ("between", [18, 64], 1, 3), ("between", [30, 64], 2, 3),
    ],
)  # fmt: skip
def test_whole_numbers(comparison: str, numbers: list[float], first: int, last: int) -> None:
    """Above 29 is from 30 on, and up to 64 is below 65."""
    counted = matching_classes("age", WHOLE, LABELS, comparison, numbers)
    assert counted == LABELS[first:last], "a class is counted that begins or ends at the number"


@pytest.mark.parametrize(
    ("comparison", "number"),
    [("greater", 65), ("greater", 30), ("at_most", 30), ("at_least", 31), ("less", 29)],
)
def test_a_class_is_not_cut(comparison: str, number: float) -> None:
    """age > 65 would count some of those who are 65 or more: nobody knows how many."""
    with pytest.raises(QueryError, match="cut through a class"):
        matching_classes("age", WHOLE, LABELS, comparison, [number])


@pytest.mark.parametrize("comparison", ["greater", "at_most"])
def test_with_decimals_an_edge_belongs_to_the_class_above(comparison: str) -> None:
    with pytest.raises(QueryError, match="cut through a class"):
        matching_classes("pay", PARTS, LABELS, comparison, [30])
    assert matching_classes("pay", PARTS, LABELS, "at_least", [30]) == LABELS[2:]
    assert matching_classes("pay", PARTS, LABELS, "less", [30]) == LABELS[:2]
