"""Every page has the same frame: a title, a summary of three figures, contents, sections."""

from __future__ import annotations

import html
import itertools
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pytest

import countveil as cv
from countveil.auditing.findings import EXCEEDS, HOLDS, Finding, MeasuredColumn
from countveil.auditing.summary import Audit
from countveil.comparing.baselines.measure import QUANTILES, Figures, Mean, OnFrontier
from countveil.comparing.outcome import Compared, Comparison
from countveil.comparing.pictures import _dash as dash_of
from countveil.comparing.pictures import comparison_page
from countveil.maths.adversary import Exposure
from countveil.report.board import Board, Figure
from countveil.report.chart import Chart, Line
from countveil.report.look.colours import LIGHT
from countveil.report.page import Section, page

SVG = "{http://www.w3.org/2000/svg}"
LONG = "a column whose name somebody took word by word from a questionnaire"
HOSTILE = '"><script>alert(1)</script>\x1b[31m'
CHART = Chart("Is it so?", "x", "y", [Line("a", [0, 1], [0, 1])])


def exposure(most: float) -> Exposure:
    before = np.linspace(0.01, most, 400)
    return Exposure(np.arange(400), before, np.minimum(before * 1.25, 1.0), 400, 0.2)


def an_audit(verdict: str = HOLDS) -> Audit:
    said = ("who has the release", "guess", "the release", "Bayes", "0.2 at most", 0.19, "share")
    findings = [Finding(*said, p_value=0.4), Finding(*said, p_value=0.1, verdict=verdict)]
    measured = {
        "job": MeasuredColumn(exposure(0.4), 0.12, 30),
        LONG: MeasuredColumn(exposure(0.6), None, 0),
    }
    ell, groups = {"job": 5, LONG: 3}, {"job": "mixed", LONG: "mixed"}
    return Audit(1_000, 1_000, ell, groups, True, findings, [CHART], measured)


def figures(error: float, belief: float, distance: float | None) -> Figures:
    place = OnFrontier(belief, 10.0, 9.0, distance)
    beliefs = [belief] * len(QUANTILES)
    small, average, most, candidates = (
        Mean(number, 0.001) for number in (0.8, belief, 2 * belief, 5.0)
    )
    errors = [Mean(2 * error, 0.01), Mean(error, 0.01)]
    return Figures(errors, small, average, most, candidates, beliefs, place)


def a_comparison() -> Comparison:
    methods = [
        Compared("countveil", "ours", figures(0.12, 0.06, 1.01)),
        Compared("other", "another", figures(0.30, 0.05, None)),
        Compared("too much", "it takes too long here", None),
    ]
    return Comparison("job", 900, 900, 5, 3, 20, [(0.001, 0.01), (0.01, 0.1)], methods, (), 8, 0.1)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One page of each kind: two protected columns, long names, hostile values, many values."""
    folder = tmp_path_factory.mktemp("pages")
    rows = 1_200
    draw = np.random.default_rng(7)
    table = pa.table({
        "code": [f"v{n % 300:03d}" for n in range(rows)],
        LONG: [[HOSTILE, "b" * 300, "c", "d"][n % 4] for n in range(rows)],
        "town": draw.choice(["N", "E", "S"], rows),
    })  # fmt: skip
    private = folder / "private.html"
    cv.publish(
        table, {"code": 3, LONG: 2}, folder / "release", private_report=private,
        keep=["code", LONG, "town"], seed=3, title="Towns",
    )  # fmt: skip
    return {
        "release": (folder / "release" / "report.html").read_text(encoding="utf-8"),
        "private": private.read_text(encoding="utf-8"),
        "audit": an_audit().to_html(),
        "compare": comparison_page(a_comparison()),
        "advise": cv.advise(table.select([LONG, "town"]), LONG).to_html(),
    }


@pytest.fixture(params=["release", "private", "audit", "compare", "advise"])
def shown(request: pytest.FixtureRequest, pages: dict[str, str]) -> str:
    return pages[request.param]


def tree(text: str) -> ET.Element:
    return ET.fromstring(re.sub(r"<!doctype html>|<meta[^>]*>", "", text))


def words(element: ET.Element) -> str:
    return "".join(element.itertext())


@pytest.mark.few(2)
def test_it_has_one_title_and_headings_in_order(shown: str) -> None:
    levels = [int(e.tag[1]) for e in tree(shown).iter() if re.fullmatch(r"h[1-6]", e.tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_contents_lead_to_every_section(shown: str) -> None:
    root = tree(shown)
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    nav = root.find(".//nav")
    assert nav is not None
    links = {link.get("href", ""): words(link) for link in nav.iter("a")}
    headed: dict[str, str] = {}
    for section in root.iter("section"):
        heading = section.find("h2")
        assert heading is not None
        headed.setdefault(words(heading), f"#{section.get('id')}")
    assert links == {anchor: title for title, anchor in headed.items()}
    assert len(links) >= 4


def test_the_summary_has_three_figures(shown: str) -> None:
    band = tree(shown).find(".//div[@class='band']")
    assert band is not None
    assert len(band) == 3
    for figure in band:
        value, note = figure.find("b"), figure.find("small")
        assert figure.text
        assert value is not None
        assert value.text
        assert note is not None
        assert note.text


def test_it_runs_nothing_and_loads_nothing(shown: str) -> None:
    assert not re.search(r"<script|<link|<img|<iframe|javascript:|\son\w+=|@import|url\(", shown)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", shown)
    assert "default-src 'none'" in shown
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", shown)
    hrefs = {e.get("href") for e in tree(shown).iter() if e.get("href") is not None}
    assert all(re.fullmatch(r"#[a-z0-9-]+", href or "") for href in hrefs)


def test_it_is_for_dark_screens_for_phones_and_for_paper(shown: str) -> None:
    style = shown.partition("<style>")[2].partition("</style>")[0]
    assert style.count("{") == style.count("}")
    for rule in (
        "@media screen and (prefers-color-scheme: dark)",
        "@media screen and (max-width: 44rem)",
        "@media print",
        "@page",
    ):
        assert rule in style


def test_tables_say_what_their_cells_belong_to(shown: str) -> None:
    tables = list(tree(shown).iter("table"))
    assert tables
    for table in tables:
        head, body = table.find("thead"), table.find("tbody")
        assert head is not None
        assert body is not None
        assert {cell.get("scope") for cell in head.iter("th")} == {"col"}
        assert all(row[0].tag == "th" and row[0].get("scope") == "row" for row in body)
        assert {len(row) for row in body} == {len(head[0])}


def test_what_scrolls_says_so_and_is_reached_by_keyboard(shown: str) -> None:
    root = tree(shown)
    for parent in root.iter():
        for place, frame in enumerate(parent):
            kinds = (frame.get("class") or "").split()
            if kinds[:1] != ["table"] or not {"long", "scrolls"} & {*kinds}:
                continue
            assert (frame.get("tabindex"), frame.get("role")) == ("0", "region")
            assert frame.get("aria-label", "").startswith("Table: ")
            cue = parent[place - 1]
            assert cue.get("class") in ("cue", "rows")
            assert "croll" in words(cue)


def test_charts_ask_a_question_and_are_described(shown: str) -> None:
    root = tree(shown)
    titles = [words(caption) for caption in root.iter("figcaption")]
    assert titles
    assert all(title.endswith("?") for title in titles)
    for chart in root.iter(f"{SVG}svg"):
        if chart.get("class") == "chart":
            assert chart.get("role") == "img"
            assert (chart.findtext(f"{SVG}title") or "").endswith("?")
            assert len(chart.findtext(f"{SVG}desc") or "") > 30


def test_long_tables_keep_their_head_in_sight(pages: dict[str, str]) -> None:
    """300 values are listed one by one, in a frame that scrolls."""
    assert '<p class="rows">300 rows; scroll the table to see all.</p>' in pages["private"]
    assert 'class="table long' in pages["private"]
    assert 'class="table long' not in pages["release"]


def test_hostile_text_stays_text(pages: dict[str, str]) -> None:
    for kind in ("release", "private"):
        assert html.escape('"><script>alert(1)</script>\\x1b[31m', quote=True) in pages[kind]
    text = page(HOSTILE, [Section(HOSTILE), Section(HOSTILE)], kind=HOSTILE)
    assert "<script" not in text
    assert [section.get("id") for section in tree(text).iter("section")] == [
        "script-alert-1-script-31m", "script-alert-1-script-31m-2",
    ]  # fmt: skip


def test_titles_without_letters_have_anchors_of_their_own() -> None:
    text = page("t", [Section("年齢"), Section("職業"), Section("Summary")], board=a_board())
    ids = [section.get("id") for section in tree(text).iter("section")]
    assert ids == ["summary", "section", "section-2", "summary-2"]


def a_board() -> Board:
    return Board([], [Figure(name, "1", "n") for name in "abc"], "so it is", [], ())


def test_the_audit_says_first_whether_claims_hold() -> None:
    sound, broken = tree(an_audit().to_html()), tree(an_audit(EXCEEDS).to_html())
    values = [
        [words(value) for value in root.findall(".//div[@class='band']/div/b")]
        for root in (sound, broken)
    ]
    assert values[0][0] == "2 of 2"
    assert values[1][0] == "1 of 2"
    # Of two columns, the more exposed one; beliefs are 1.25 times those without the release.
    assert values[0][1:] == ["0.38", "0.74 or more"]
    marks = [root.find(".//p[@class='verdict bad']") for root in (sound, broken)]
    assert marks[0] is None
    assert marks[1] is not None


def test_the_comparison_says_how_ours_does_beside_the_best() -> None:
    band = tree(comparison_page(a_comparison())).find(".//div[@class='band']")
    assert band is not None
    error, belief, distance = (words(figure) for figure in band)
    assert "12.0%" in error
    assert "least of 2 methods: 12.0% (countveil)" in error
    assert "6.0%" in belief
    assert "least of 2 methods: 5.0% (other)" in belief
    assert "1.01 times" in distance


def test_no_two_methods_look_alike() -> None:
    looks = {(number % len(LIGHT.hues), dash_of(number)) for number in range(24)}
    assert len(looks) == 24
    assert all(dash_of(number) != dash_of(number + 1) for number in range(23) if number != 11)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no browser")
@pytest.mark.slow
def test_a_browser_shows_no_page_wider_than_a_phone(pages: dict[str, str], tmp_path: Path) -> None:
    """In a frame of 390 pixels nothing but tables scrolls sideways."""
    for kind, text in pages.items():
        (tmp_path / f"{kind}.html").write_text(text, encoding="utf-8")
    frames = "".join(f'<iframe src="{kind}.html"></iframe>' for kind in pages)
    (tmp_path / "all.html").write_text(
        f"<style>iframe{{width:390px;height:800px}}</style>{frames}<p></p><script>onload = () => "
        "document.querySelector('p').textContent = [...document.querySelectorAll('iframe')].map("
        "f => f.contentDocument.documentElement).map(e => e.scrollWidth - e.clientWidth).join(' ')"
        "</script>"
    )
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
        "--disable-background-networking", "--allow-file-access-from-files",
        f"--user-data-dir={tmp_path / 'browser'}", (tmp_path / "all.html").as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    beyond = re.search(r"<p>([\d ]+)</p>", done.stdout)
    assert beyond is not None
    assert [int(width) for width in beyond[1].split()] == [0] * len(pages)
