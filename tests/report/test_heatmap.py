"""Heat maps and dots: drawings that say in words and shapes what they say in colour."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from countveil.report.bars import Bar, BarChart, bar_element, bar_picture
from countveil.report.heatmap import (
    MOST_COLUMNS,
    MOST_ROWS,
    HeatCell,
    HeatMap,
    heat_element,
    heat_picture,
)

EVIL = "<script>alert('1')</script>\u202e"


def heat(*cells: HeatCell | None, rows: list[str] | None = None) -> HeatMap:
    names = [f"c{n}" for n in range(len(cells))]
    return HeatMap("a by b", "a", "b", rows or ["r"], names, [list(cells)])


def marks(svg: str) -> list[tuple[str, str]]:
    return re.findall(r"<g><title>([^<]*)</title>(.*?)</g>", svg, re.DOTALL)


def test_each_verdict_has_a_shape_of_its_own() -> None:
    svg = heat_element(
        heat(
            HeatCell(100.0, 90.0, 110.0, "reliable"),
            HeatCell(50.0, 20.0, 80.0, "indicative"),
            HeatCell(7.0, 0.0, 30.0, "hidden"),
            None,
        )
    )
    reliable, indicative, hidden, absent = marks(svg)
    assert "hatch" not in reliable[1]
    assert ">100<" in reliable[1]
    assert "hatch" in indicative[1]
    assert ">50.0<" in indicative[1]
    assert "<text" not in hidden[1]
    assert 'class="cell' not in hidden[1]
    assert "7" not in hidden[0].replace("c2", "")
    assert hidden[0] == "r, c2: hidden, 0 to 30.0"
    assert ">0<" in absent[1]


def test_a_larger_count_is_darker() -> None:
    svg = heat_element(heat(*(HeatCell(n, n, n, "reliable") for n in (1, 10, 100))))
    shades = [float(shade) for shade in re.findall(r'fill-opacity="([\d.]+)"', svg)[:3]]
    assert shades == sorted(shades)
    assert shades[0] < shades[2]


def test_hatching_stays_inside_of_its_cell() -> None:
    svg = heat_element(heat(HeatCell(5, 1, 9, "indicative")))
    ((_, drawn),) = marks(svg)
    box = re.search(
        r'<rect class="cell[^>]*x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', drawn
    )
    assert box is not None
    x, y, width, height = map(float, box.groups())
    path = re.search(r'class="hatch" d="([^"]*)"', drawn)
    assert path is not None
    points = re.findall(r"[ML]([-\d.]+) ([-\d.]+)", path[1])
    assert len(points) >= 6
    for across, down in points:
        assert x - 0.11 <= float(across) <= x + width + 0.11
        assert y - 0.11 <= float(down) <= y + height + 0.11


@pytest.mark.parametrize("draw", [heat_element, lambda chart: heat_picture(chart).svg])
def test_text_from_data_is_text(draw: object) -> None:
    chart = HeatMap(EVIL, EVIL, EVIL, [EVIL], [EVIL], [[HeatCell(1, 1, 1, EVIL)]])
    svg = draw(chart)  # type: ignore[operator]
    assert "<script" not in svg
    assert "\u202e" not in svg
    ET.fromstring(svg)


def test_an_element_has_no_style_and_a_picture_is_complete() -> None:
    chart = heat(HeatCell(1, 1, 1, "reliable"))
    bars = BarChart("t", "", {"": [Bar("a", 1, 0, 2, "reliable")]})
    for element in (heat_element(chart), bar_element(bars)):
        assert "style" not in element
        ET.fromstring(element)
    for picture in (heat_picture(chart), bar_picture(bars)):
        assert "<style>" in picture.svg


def test_a_very_large_matrix_shows_its_first_cells_and_says_so() -> None:
    rows, columns = MOST_ROWS + 3, MOST_COLUMNS + 3
    cells = [[HeatCell(1, 1, 1, "reliable")] * columns] * rows
    chart = HeatMap(
        "t", "a", "b", [f"r{n}" for n in range(rows)], [f"c{n}" for n in range(columns)], cells
    )
    svg = heat_element(chart)
    assert len(marks(svg)) == MOST_ROWS * MOST_COLUMNS
    assert "the first rows and columns" in svg


def test_an_empty_matrix_is_drawn() -> None:
    ET.fromstring(heat_element(HeatMap("t", "a", "b", [], [], [])))


@pytest.mark.parametrize("panels", [1, 4])
def test_a_narrow_drawing_has_the_same_dots_in_less_width(panels: int) -> None:
    bars = [Bar(f"a rather long label {n}", 5.0 * n, 4.0 * n, 9e4, "reliable") for n in range(9)]
    chart = BarChart("t" * 99, "", {f"panel {n}": bars for n in range(panels)}, dots=True)
    wide, narrow = (
        ET.fromstring(bar_element(chart, narrow=each)) for each in (False, True)
    )  # fmt: skip
    width = float(narrow.attrib["width"])
    assert width <= 360 < float(wide.attrib["width"])
    texts = [each for each in narrow.iter() if each.tag.endswith("text")]
    for text in texts:
        size = 6.4 * len(text.text or "")
        start = float(text.attrib["x"]) - {"end": size, "middle": size / 2}.get(
            text.attrib.get("text-anchor", ""), 0.0
        )
        assert start >= 0
        assert start + size <= width + 6
    bottom = float(narrow.attrib["height"])
    assert all(float(text.attrib["y"]) < bottom for text in texts)
    for drawn in (wide, narrow):
        titles = [each.text for each in drawn.iter() if each.tag.endswith("title")]
        assert len(titles) == 1 + 9 * panels


def test_dots_differ_in_shape_by_verdict() -> None:
    bars = [
        Bar("sure", 10, 9, 11, "reliable"), Bar("so so", 8, 4, 12, "indicative"),
        Bar("none", 3, 0, 6, "hidden"),
    ]  # fmt: skip
    svg = bar_element(BarChart("t", "", {"": bars}, dots=True))
    sure, so_so, none = svg.split("<title>")[2:5]
    assert 'class="ring"' not in sure
    assert 'class="dot hue0"' in sure
    assert 'class="ring"' in so_so
    assert "unsure" in none.partition("</g>")[0]
    assert "dot" not in none.partition("</g>")[0]
    assert '<rect class="dot' not in svg
