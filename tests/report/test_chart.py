"""Charts and pages: well-formed, safe, readable axes, the right lines in the right place."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from countveil.errors import TargetError
from countveil.maths.guarantees import chance_off
from countveil.report.chart import Axis, Chart, Line, around, draw, picture, tick_text
from countveil.report.guarantee_figures import privacy_figure, utility_figure
from countveil.report.page import Section, page
from countveil.report.whole_file import check_file, pending_file, write_file

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "</svg><script>alert(1)</script>"


def paths(chart: Chart) -> list[list[tuple[float, float]]]:
    """The lines of a chart, as places in its inner picture."""
    inner = ET.fromstring(draw(chart)).find(f"{SVG}svg")
    assert inner is not None
    return [
        [(float(x), float(y)) for x, y in re.findall(r"([-\d.]+) ([-\d.]+)", path.get("d") or "")]
        for path in inner.iter(f"{SVG}path")
    ]


def test_points_lie_where_the_axes_say() -> None:
    line = Line("one", [1, 10, 100], [0.001, 0.01, 1])
    axes = {"x_axis": Axis(1, 100, log=True), "y_axis": Axis(0.001, 1, log=True)}
    (first,) = paths(Chart("t", "x", "y", [line], **axes))  # type: ignore[arg-type]
    width, height = first[-1][0], first[0][1]
    expected = [(0.0, height), (width / 2, height * 2 / 3), (width, 0.0)]
    for found, place in zip(first, expected, strict=True):
        assert found == pytest.approx(place, abs=0.1)


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (0.0, 0.0), (3.0, 97.0), (-5.0, 12.0), (1e-6, 3e-6), (0.0, 1e9)]
)
def test_an_axis_spans_its_values_from_round_to_round(low: float, high: float) -> None:
    axis = around([low, high])
    assert axis.low <= low + 1e-12
    assert axis.high >= high - 1e-12
    assert axis.low < axis.high
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 9
    assert (ticks[0], ticks[-1]) == pytest.approx((axis.low, axis.high))


def test_axes_have_a_readable_number_of_round_ticks() -> None:
    for low, high, log in (
        (0, 1, False), (0, 60, False), (0, 0.07, False), (1, 1_000, True), (1e-4, 1, True),
        (1e-300, 1, True), (1, 3e7, True), (20, 90, True),
    ):  # fmt: skip
        ticks = Axis(low, high, log).ticks()
        assert 2 <= len(ticks) <= 13, (low, high)
        texts = [tick_text(value) for value in ticks]
        assert len(set(texts)) == len(texts)
        assert max(map(len, texts)) <= 9
        assert all(low * 0.999 <= value <= high * 1.001 for value in ticks)


def test_intervals_and_points_lie_inside_and_names_stand_below() -> None:
    line = Line("a < b & c", [1, 2, 3], [0.1, 0.5, 0.9], [0.0, 0.4, 0.8], [0.2, 0.6, 1.0])
    loose = Line("loose", [1, 3], [0.2, 0.3], joined=False)
    root = ET.fromstring(draw(Chart("title", "x", "y", [line, Line("empty", [], []), loose])))
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    inner = root.find(f"{SVG}svg")
    assert inner is not None
    assert len(list(inner.iter(f"{SVG}circle"))) == 5
    for circle in root.iter(f"{SVG}circle"):
        assert 0 <= float(circle.attrib["cx"]) < width
        assert 0 <= float(circle.attrib["cy"]) < height
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"a < b & c", "loose"} <= set(texts)
    assert "empty" not in texts
    for text in root.iter(f"{SVG}text"):
        assert 0 < float(text.attrib["y"]) < height
    assert draw(Chart("nothing", "x", "y", [])) == ""


def test_text_is_escaped_and_there_are_alternatives() -> None:
    chart = Chart(EVIL, EVIL, EVIL, [Line(EVIL, [0, 1], [0, 1])], description=EVIL)
    for text in (draw(chart), picture(chart)):
        root = ET.fromstring(text)
        assert root.get("role") == "img"
        assert "<script" not in text
        assert [root.findtext(f"{SVG}{name}") for name in ("title", "desc")] == [EVIL, EVIL]
    assert "prefers-color-scheme:dark" in picture(chart)
    assert "@media screen" in picture(chart)  # on paper it is light
    said = ET.fromstring(draw(Chart("t", "age", "share", [Line("we", [2, 7], [0.25, 0.5])])))
    assert "we: from 0.25 at 2 to 0.5 at 7" in (said.findtext(f"{SVG}desc") or "")


def test_the_figure_of_small_counts_is_the_papers_sum() -> None:
    chart = privacy_figure(0.3, 4)
    assert "ell = 2, 4, 5, 10" in chart.description
    found = paths(chart)
    assert len(found) == 8
    height = (found[0][0][1] - 0) / (1 - chance_off(1, 2, 0.3))
    for count in (1, 5, 20):
        y = found[3][count - 1][1]
        assert 1 - y / height == pytest.approx(chance_off(count, 10, 0.3), abs=2e-3)


@pytest.mark.slow
def test_the_figure_of_large_counts_falls_and_lies_below_chebyshev() -> None:
    found = paths(utility_figure(0.2, 10))
    assert len(found) == 9
    for exact, chebyshev in zip(found[:3], found[3:6], strict=True):
        heights = [y for _, y in exact]
        assert heights == sorted(heights)
        assert all(low[1] >= high[1] - 0.05 for low, high in zip(exact, chebyshev, strict=True))


def test_a_page_holds_its_sections_and_loads_nothing() -> None:
    section = Section(
        "One",
        ["<b>"],
        ("n", "word"),
        [(1, "bad"), (2, EVIL)],
        [Chart(EVIL, "x", "y", [Line(EVIL, [0, 1], [0, 1])])],
        marks={"bad": "bad"},
        commands=[EVIL],
        folded={EVIL: EVIL},
        after=[EVIL],
    )
    text = page("A & B", [section], warning=EVIL, lead=EVIL)
    assert "A &amp; B" in text
    assert "&lt;b&gt;" in text
    assert 'class="mark bad">bad' in text
    assert '<th scope="row" class="number">1</th>' in text
    assert "<script" not in text
    assert text.count(html_of(EVIL)) == 11
    assert "src=" not in text.replace("default-src", "").replace("style-src", "")
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|url\(|@import|<link|<img", text)
    ET.fromstring(re.sub(r"<!doctype html>|<meta[^>]*>", "", text))


def html_of(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    place = tmp_path / "page.html"
    write_file(place, "old", "the page")
    assert stat.S_IMODE(place.stat().st_mode) & 0o400
    with pending_file(place, "new", "the page", private=True):
        assert place.read_text() == "old"
        (waiting,) = set(tmp_path.iterdir()) - {place}
        assert stat.S_IMODE(waiting.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert place.read_text() == "old"
    link = tmp_path / "link.html"
    link.symlink_to(place)
    write_file(link, "new", "the page", private=True)
    assert link.is_symlink()
    assert (place.read_text(), stat.S_IMODE(place.stat().st_mode)) == ("new", 0o600)


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("x")
    for place, words in (
        (tmp_path, "is a folder"),
        (tmp_path / "none" / "x", "no folder"),
        (tmp_path / "old", "force=True"),
        (tmp_path / "a\0b", "not valid"),
    ):
        with pytest.raises(TargetError, match=words):
            check_file(place, "the page", force=False)
    check_file(tmp_path / "old", "the page", force=True)
    with pytest.raises(TargetError, match="cannot be written"):
        write_file(tmp_path / "none" / "x", "text", "the page")
