"""Recommendations: for accuracy, for protection, for both, and when both cannot be had."""

from __future__ import annotations

import pytest

from countveil.errors import SettingsError
from countveil.publishing.advise.figures import EllFigures
from countveil.publishing.advise.recommend import Goal, recommend


def line(ell: int, error: float | None, hidden: int) -> EllFigures:
    return EllFigures(ell, 9, 5, 2, {0.01: error}, {0.01: 30}, hidden, 2.0, 9.0)


LINES = [line(2, 0.03, 5), line(3, 0.06, 10), line(4, 0.09, 20), line(5, 0.15, 40)]


@pytest.mark.parametrize(
    ("goal", "ell", "met"),
    [
        (Goal((0.01, 0.10)), 4, True),  # the largest that is accurate
        (Goal((0.01, 0.50)), 5, True),
        (Goal(hide=8), 3, True),  # the smallest that hides
        (Goal((0.01, 0.10), 10), 4, True),  # the largest of both
        (Goal(), 4, True),  # 1% within 10%
        (Goal((0.01, 0.05), 30), 2, False),
        (Goal((0.01, 0.01)), 2, False),
        (Goal(hide=100), 5, False),
        (Goal((0.2, 0.1)), None, False),
    ],
)
def test_the_ell_that_meets_the_goals(goal: Goal, ell: int | None, met: bool) -> None:
    found = recommend(LINES, goal)
    assert (found.ell, found.met) == (ell, met)
    assert found.reason.count(". ") == 1
    assert found.reason.endswith(".")


def test_a_conflict_is_said_with_both_sides() -> None:
    reason = recommend(LINES, Goal((0.01, 0.05), 30)).reason
    assert reason.startswith("Not both: with ell = 2, the largest that is accurate enough")
    assert "with ell = 5, the smallest that hides enough" in reason


def test_nothing_feasible_and_nothing_to_try() -> None:
    assert recommend([], Goal()).ell is None
    untried = [line(2, None, 0), line(3, None, 0)]
    assert recommend(untried, Goal()).ell == 3
    assert "is unknown: no predicate" in recommend(untried, Goal((0.01, 0.1))).reason


@pytest.mark.parametrize("accuracy", [(0, 0.1), (0.01, 0), (1.5, 0.1), (0.01, 10)])
def test_wishes_out_of_range(accuracy: tuple[float, float]) -> None:
    with pytest.raises(SettingsError, match="such as 1%:10%"):
        Goal(accuracy)
    with pytest.raises(SettingsError, match="at least 1"):
        Goal(hide=0)
