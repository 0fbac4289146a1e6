"""The chart of error by mean belief."""

from __future__ import annotations

import math

import pytest

from countveil.report.chart import draw
from countveil.report.frontier_figure import Bound, Placed, frontier_chart

# Ten values of the same share: h = 1/10.
EVEN = Bound(0.1, 10, 1_000)


def test_the_bound_by_hand() -> None:
    """Random groups of 3 stand on it: B = 1/9 + 8/9 h, error^2 = 1,000 (1 - h)(9 - 1)/10."""
    assert EVEN.belief(math.sqrt(1_000 * 0.9 * 8 / 10)) == pytest.approx(1 / 9 + 8 / 90)
    assert EVEN.belief(0) == 1
    assert EVEN.belief(1e9) == pytest.approx(0.1)
    assert Bound(1.0, 1, 1_000).belief(5) == 1


def test_points_lie_where_they_are_and_the_line_between() -> None:
    placed = [
        Placed("one", [0.2], [30.0], 0),
        Placed("two", [0.3], [25.0], 1),
        Placed("twin", [0.2], [30.0], 2),
        Placed("blind", [0.25], [math.inf], 3),
        Placed("wild", [0.25], [2_600.0], 4),
        Placed("path", [0.2, 0.4], [40.0, 28.0], 5),
    ]
    chart = frontier_chart(placed, EVEN)
    assert [line.name for line in chart.lines] == ["the bound", "path", "two", "one"]
    assert "twin (where one is); blind (no such error); wild (far above)" in chart.note
    least = chart.lines[0]
    for belief, error in zip(least.x, least.y, strict=True):
        assert EVEN.belief(error) == pytest.approx(belief / 100)
    assert chart.y_axis is not None
    assert not chart.y_axis.log
    drawn = draw(chart)
    # One and two, both places of the path, and the keys of the three.
    assert drawn.count("<circle") == 7


def test_shapes_and_a_wide_scale() -> None:
    shapes = [Placed(dash, [0.2], [3.0 * 3**n], n, dash) for n, dash in enumerate(DASHES)]
    chart = frontier_chart(shapes, EVEN)
    assert chart.y_axis is not None
    assert chart.y_axis.log
    drawn = draw(chart)
    assert drawn.count("<circle") == 2
    assert drawn.count('<path class="dot') == 6


def test_nothing_to_draw() -> None:
    assert draw(frontier_chart([], EVEN)) == ""
    assert draw(frontier_chart([Placed("blind", [0.2], [math.inf], 0)], EVEN)) == ""


DASHES = ("solid", "dashed", "dotted", "mixed")
