"""Charts: round ticks, everything inside the frame, well-formed XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from countveil.report import Chart, Line, Section, draw, page
from countveil.report.chart import ticks


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (0.0, 0.0), (3.0, 97.0), (-5.0, 12.0), (1e-6, 3e-6), (0.0, 1e9)]
)
def test_ticks_are_round_and_span_the_range(low: float, high: float) -> None:
    found = ticks(low, high)
    assert found[0] <= low + 1e-12
    assert found[-1] >= high - 1e-12
    assert 1 <= len(found) <= 12


def test_a_chart_is_xml_and_lies_inside_its_frame() -> None:
    line = Line("a < b & c", [1, 2, 3], [0.1, 0.5, 0.9], [0.0, 0.4, 0.8], [0.2, 0.6, 1.0])
    root = ET.fromstring(draw(Chart("title", "x", "y", [line, Line("empty", [], [])])))
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    circles = [element for element in root.iter() if element.tag.endswith("circle")]
    assert len(circles) == 3
    for circle in circles:
        assert 0 < float(circle.attrib["cx"]) < width
        assert 0 < float(circle.attrib["cy"]) < height
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert "a < b & c" in texts
    assert "empty" not in texts


def test_a_page_holds_its_sections_and_loads_nothing() -> None:
    text = page("A & B", [Section("One", ["<b>"], ("n",), [(1,), ("bad",)], marks={"bad": "bad"})])
    assert "A &amp; B" in text
    assert "&lt;b&gt;" in text
    assert 'class="mark bad">bad' in text
    assert "<script" not in text
    assert "src=" not in text.replace("default-src", "").replace("style-src", "")
    assert draw(Chart("nothing", "x", "y", [])) == ""
