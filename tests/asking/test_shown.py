"""What people see in a shell and a notebook, and what programs get of a hidden cell."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import countveil as cv
from countveil.asking.pictures import MOST_BARS
from countveil.cli.output import Format
from countveil.cli.quick_query import print_answer
from countveil.display import MOST_ROWS, html_of, html_table, text_table
from countveil.errors import QueryError, TargetError
from countveil.maths.estimate import Estimate
from countveil.report.bars import Bar, BarChart, bar_picture

SEVERAL = (
    "SELECT gender, education, count(*) AS n, avg(age) AS mean_age, sum(age) AS total "
    "FROM release WHERE occupation = 'nurse' GROUP BY ALL"
)
BY_OCCUPATION = "SELECT occupation, count(*) FROM release WHERE age < 30 GROUP BY occupation"
HOSTILE = "<script>alert(1)</script>\x1b[31m"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= {"style", "scope"}
        self.tags.append(tag)


def tags_of(page: str) -> list[str]:
    parser = _Tags()
    parser.feed(page)
    return parser.tags


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    folder = tmp_path_factory.mktemp("shown") / "release"
    return cv.publish(cv.generate(20_000, seed=1), {"occupation": 3}, folder, seed=2)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    rows = {"p": [HOSTILE, "x", "y", "z"] * 500, "a": [HOSTILE, "u", "v", "w", "t"] * 400}
    folder = tmp_path_factory.mktemp("hostile") / "release"
    return cv.publish(pa.table(rows), {"a": 2}, folder, seed=3, keep="p")


def test_an_estimate_is_one_short_line() -> None:
    assert repr(Estimate(774.2, 22.66, 731.0, 820.4, "reliable")) == (
        "Estimate(774 ± 22.7, 731 to 820, reliable)"
    )
    assert repr(Estimate(12.0, 30.0, 0.0, 26.8, "hidden")) == "Estimate(hidden, 0 to 26.8)"
    assert repr(Estimate(5.0, None, None, None, None)) == "Estimate(5.0)"
    assert repr(Estimate(None, None, None, None, "hidden")) == "Estimate(hidden)"
    assert "12" not in Estimate(12.0, 30.0, 0.0, 26.8, "hidden")._repr_html_()


def test_a_long_answer_has_a_short_repr_and_a_short_page(release: cv.Release) -> None:
    answer = release.sql(BY_OCCUPATION)
    assert len(answer) == 50
    assert len(repr(answer).splitlines()) == 13
    assert "… and 40 more rows; print() shows all" in repr(answer)
    assert len(str(answer).strip().splitlines()) == 52
    page = answer._repr_html_()
    assert tags_of(page).count("tr") == MOST_ROWS + 1
    assert f"… and {50 - MOST_ROWS} more rows" in page
    short = release.sql("SELECT gender, count(*) FROM release GROUP BY gender")
    assert "more row" not in repr(short) + short._repr_html_()


@pytest.mark.parametrize("width", [80, 100, 260])
def test_several_aggregates_fit_the_terminal_with_whole_numbers(
    release: cv.Release, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    answer = release.sql(SEVERAL)
    text = str(answer)
    assert max(map(len, text.splitlines())) <= width
    words = text.split()
    for block in answer.blocks:
        for cell in block.estimates:
            assert cell.verdict in words
    total = next(e for e in answer.blocks[2].estimates if e.verdict == "reliable")
    assert f"{total.estimate:,.0f}" in words
    assert ("n_estimate" in words) == (width == 260)


def test_no_number_is_ever_folded() -> None:
    rows = [["a long text that has to be folded somewhere", 123_456_789, 1_234_567.0] for _ in "ab"]
    lines = text_table(["what", "first", "second"], rows, width=40).splitlines()
    assert sum("123,456,789" in line and "1,234,567" in line for line in lines) == 2
    assert max(map(len, lines)) <= 40


def test_what_a_hidden_cell_holds_is_one_rule(
    release: cv.Release, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every number for programs, with the verdict beside it; no hidden number for people."""
    # A ratio that is not known to be an average has no bounds.
    answer = release.sql(SEVERAL.replace("sum(age) AS total", "sum(age) / count(*) AS ratio"))
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows()]
    assert {row["n_verdict"] for row in rows} >= {"hidden", "reliable"}
    assert {row["mean_age_verdict"] for row in rows} >= {"hidden", "reliable"}
    assert all(row["n_estimate"] is not None for row in rows)
    assert all(row["mean_age_high"] is not None for row in rows)
    assert any(row["ratio_high"] is None for row in rows)
    assert answer.to_dicts() == rows
    assert answer.to_arrow().to_pylist() == rows
    assert answer.to_polars().to_dicts() == rows
    frame = answer.to_pandas()
    for name in answer.columns:
        unknown = [row[name] is None for row in rows]
        assert list(frame[name].isna()) == unknown
        assert list(frame[name][~frame[name].isna()]) == [
            row[name] for row in rows if row[name] is not None
        ]
    print_answer(answer, Format.JSON)
    assert json.loads(capsys.readouterr().out) == rows
    print_answer(answer, Format.CSV)
    assert capsys.readouterr().out == answer.to_csv()
    read = list(csv.DictReader(io.StringIO(answer.to_csv())))
    assert [row["ratio_high"] == "" for row in read] == [row["ratio_high"] is None for row in rows]
    assert [float(row["n_estimate"]) for row in read] == [row["n_estimate"] for row in rows]
    hidden = next(cell for cell in answer.estimates if cell.verdict == "hidden")
    assert f"{hidden.estimate:.1f}" not in str(hidden)


def test_others_take_an_answer_as_arrow(release: cv.Release) -> None:
    answer = release.sql(BY_OCCUPATION)
    relation = duckdb.sql("SELECT count(*), sum(estimate) FROM answer")
    assert relation is not None
    rows, total = relation.fetchall()[0]
    assert rows == 50
    assert total == pytest.approx(sum(cell.estimate or 0 for cell in answer.estimates))
    assert pl.DataFrame(answer).equals(answer.to_polars())
    assert pa.table(release.crosstab("occupation", "gender")).num_rows == 100


def test_a_comparison_is_a_table_and_a_picture(release: cv.Release) -> None:
    comparison = release.compare("occupation = 'nurse'", "gender")
    (row,) = comparison.to_arrow().to_pylist()
    assert (row["first"], row["second"]) == ("F", "M")
    assert row == comparison.to_dicts()[0] == comparison.to_pandas().to_dict("records")[0]
    assert comparison.plot().svg.count("<g>") == 1


def test_a_csv_file_is_new_or_refused(release: cv.Release, tmp_path: Path) -> None:
    answer = release.sql(BY_OCCUPATION)
    answer.to_csv(tmp_path / "answer.csv")
    assert (tmp_path / "answer.csv").read_text() == answer.to_csv()
    with pytest.raises(TargetError, match="exists"):
        answer.to_csv(tmp_path / "answer.csv")
    assert release.crosstab("occupation", "gender").to_csv().count("\n") == 101


def test_a_picture_has_a_panel_per_measure_each_with_its_scale(release: cv.Release) -> None:
    root = ET.fromstring(release.sql(SEVERAL).plot().svg)
    texts = [part.text for part in root.iter() if part.tag.endswith("}text")]
    assert {"n", "mean_age", "total"} <= set(texts)
    assert texts[0] == "Estimates by gender and education"
    bars = [g for g in root if g.tag.endswith("}g")]
    assert len(bars) == 3 * 16
    alone = release.sql("SELECT count(*) FROM release WHERE occupation = 'nurse'").plot()
    assert alone.svg.count("<g>") == 1


def test_a_picture_of_very_many_groups_says_that_it_has_the_first(release: cv.Release) -> None:
    svg = release.sql(
        "SELECT occupation, age, count(*) AS n, sum(age) AS s FROM release GROUP BY 1, 2"
    )
    drawn = svg.plot().svg
    assert drawn.count("<g>") == 2 * MOST_BARS
    assert "(the first 120 of " in drawn


def test_a_bar_below_zero_is_drawn_to_the_left() -> None:
    bars = [Bar("down", -40.0, -60.0, -20.0, "reliable"), Bar("up", 30.0, 10.0, 50.0, "reliable")]
    root = ET.fromstring(bar_picture(BarChart("t", "", {"n": bars})).svg)
    down, up = (
        next(part for part in g if part.tag.endswith("}rect")) for g in root if g.tag.endswith("}g")
    )
    ends = [(float(r.get("x", "")), float(r.get("width", ""))) for r in (down, up)]
    assert ends[0][0] + ends[0][1] == pytest.approx(ends[1][0], abs=0.2)
    assert ends[0][1] / ends[1][1] == pytest.approx(4 / 3, rel=0.02)


@pytest.mark.slow
def test_every_result_has_a_short_repr_and_a_harmless_page(hostile: cv.Release) -> None:
    table = cv.generate(3_000, seed=4)
    results: list[Any] = [
        hostile,
        hostile.sql("SELECT a, p, count(*) FROM release GROUP BY ALL"),
        hostile.crosstab("a", "p"),
        hostile.compare("a = 'u'", "p"),
        cv.inspect(pa.table({HOSTILE: ["u", "v"] * 50, "b": list("xyzt") * 25})),
        cv.advise(table, ["occupation"], seed=5),
        cv.audit(table, {"occupation": 3}, seed=5),
        cv.compare(table, {"occupation": 3}, seed=5, releases=1),
    ]
    for result in results:
        name = type(result).__name__
        text, page = repr(result), result._repr_html_()
        assert len(text.splitlines()) <= 26, name
        assert "\x1b" not in text + page, name
        assert "<script" not in page, name
        assert set(tags_of(page)) <= {"p", "div", "table", "thead", "tbody", "tr", "th", "td"}, name
        assert page.count("<table ") == page.count("</table>") >= 1, name
        assert len(str(result)) >= len(text), name


def test_an_answer_without_estimates_is_no_picture(release: cv.Release) -> None:
    answer = release.sql("SELECT DISTINCT gender FROM release")
    assert repr(answer).split()[-2:] == ["F", "M"]
    assert answer.to_csv() == "gender\nF\nM\n"
    with pytest.raises(QueryError, match="no estimates to draw"):
        answer.plot()


def test_a_wide_crosstab_is_cut_in_a_notebook(release: cv.Release) -> None:
    table = release.crosstab("gender", "occupation")
    page = table._repr_html_()
    assert "… and 36 more" in page
    assert repr(table) == "Crosstab(gender by occupation, 2 x 50 cells; print() shows it)"


def test_paragraphs_and_tables_of_a_page_are_escaped() -> None:
    page = html_of(["a < b", "", (["<th>"], [["<td>"]])])
    assert ">a &lt; b</p>" in page
    assert ">&lt;td&gt;</td>" in page
    assert tags_of(page) == ["p", "div", "table", "thead", "tr", "th", "tbody", "tr", "td"]
    assert html_table(["a", "b"], [[1, "x"]], most=5).count("text-align:right") == 2


def test_a_notebook_shows_its_own_colours() -> None:
    """Nothing has a colour or a ground of its own, so dark notebooks are as readable as light."""
    page = html_of(["words", (["a", "b"], [[1, "x"]])])
    page += Estimate(774.2, 22.66, 731.0, 820.4, "reliable")._repr_html_()
    assert not re.search(r"[;\"](color|background)[-:]", page)
    assert set(re.findall(r"rgba?\([^)]*\)|#[0-9a-f]{3,6}", page)) == {
        "rgba(128,128,128,.3)", "rgba(128,128,128,.8)"
    }  # fmt: skip


def test_what_verify_says_is_a_page_too(release: cv.Release, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(release.place, copy)
    assert "is sound" in cv.verify(copy)._repr_html_()
    (copy / "report.html").write_text("changed")
    page = cv.verify(copy)._repr_html_()
    assert "is not what was published" in page
    assert ">report.html</td>" in page
