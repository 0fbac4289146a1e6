"""Line charts: well-formed, safe, readable axes, the right curves in the right place."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from countveil.guarantee_figures import privacy_figure, utility_figure
from countveil.guarantees import chance_off
from countveil.report.curves import Axis, Curve, line_chart, tick_text

SVG = "{http://www.w3.org/2000/svg}"


def paths(chart: str) -> list[list[tuple[float, float]]]:
    """The curves of a chart, as places in its inner picture."""
    inner = ET.fromstring(chart).find(f"{SVG}svg")
    assert inner is not None
    return [
        [(float(x), float(y)) for x, y in re.findall(r"([-\d.]+) ([-\d.]+)", path.get("d") or "")]
        for path in inner.iter(f"{SVG}path")
    ]


def test_points_lie_where_the_axes_say() -> None:
    curves = [Curve("one", [(1, 0.001), (10, 0.01), (100, 1)])]
    chart = line_chart("t", "d", Axis("x", 1, 100, log=True), Axis("y", 0.001, 1, log=True), curves)
    (first,) = paths(chart)
    width, height = first[-1][0], first[0][1]
    expected = [(0.0, height), (width / 2, height * 2 / 3), (width, 0.0)]
    for found, place in zip(first, expected, strict=True):
        assert found == pytest.approx(place, abs=0.1)


def test_text_is_escaped_and_there_are_alternatives() -> None:
    evil = "</svg><script>alert(1)</script>"
    axis = Axis(evil, 0, 1)
    chart = line_chart(evil, evil, axis, axis, [Curve(evil, [(0, 0), (1, 1)])])
    root = ET.fromstring(chart)
    assert root.get("role") == "img"
    assert "<script" not in chart
    assert [root.findtext(f"{SVG}{name}") for name in ("title", "desc")] == [evil, evil]
    assert "prefers-color-scheme:dark" in chart
    assert "@media screen" in chart  # on paper it is light


def test_axes_have_a_readable_number_of_round_ticks() -> None:
    for low, high, log in (
        (0, 1, False), (0, 60, False), (0, 0.07, False), (1, 1_000, True), (1e-4, 1, True),
        (1e-300, 1, True), (1, 3e7, True), (20, 90, True),
    ):  # fmt: skip
        ticks = Axis("", low, high, log).ticks()
        assert 2 <= len(ticks) <= 13, (low, high)
        texts = [tick_text(value) for value in ticks]
        assert len(set(texts)) == len(texts)
        assert max(map(len, texts)) <= 9
        assert all(low * 0.999 <= value <= high * 1.001 for value in ticks)


def test_the_figure_of_small_counts_is_the_papers_sum() -> None:
    chart = privacy_figure(0.3, 4)
    root = ET.fromstring(chart)
    assert "ell = 2, 4, 5, 10" in (root.findtext(f"{SVG}desc") or "")
    found = paths(chart)
    assert len(found) == 8
    height = (found[0][0][1] - 0) / (1 - chance_off(1, 2, 0.3))
    for count in (1, 5, 20):
        y = found[3][count - 1][1]
        assert 1 - y / height == pytest.approx(chance_off(count, 10, 0.3), abs=2e-3)


def test_the_figure_of_large_counts_falls_and_lies_below_chebyshev() -> None:
    found = paths(utility_figure(0.2, 10))
    assert len(found) == 9
    for exact, chebyshev in zip(found[:3], found[3:6], strict=True):
        heights = [y for _, y in exact]
        assert heights == sorted(heights)
        assert all(low[1] >= high[1] - 0.05 for low, high in zip(exact, chebyshev, strict=True))
