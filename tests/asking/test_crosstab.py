"""Answers as people see them: matrices, tables, charts."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest

import countveil as cv
from countveil.display import html_table, text_table, visible
from countveil.errors import QueryError, TargetError

HOSTILE = ["[red]x[/red]", "\x1b[31mred", "<script>alert(1)</script>", "two\nlines", "\u202eright"]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    folder = tmp_path_factory.mktemp("crosstab") / "release"
    return cv.publish(cv.generate(20_000, seed=1), {"occupation": 2}, folder, seed=2)


def test_a_crosstab_holds_the_cells_of_the_query(release: cv.Release) -> None:
    table = release.crosstab("occupation", "gender", "age < 50")
    answer = release.sql(
        "SELECT occupation, gender, count(*) FROM release WHERE age < 50 GROUP BY ALL"
    )
    assert table.column_values == ["F", "M"]
    assert len(table.row_values) == 50
    for group, result in zip(answer.groups, answer.estimates, strict=True):
        cell = table.cell(*group)
        assert cell is not None
        assert cell.estimate == pytest.approx(result.estimate)
    assert table.cell("no such thing", "F") is None
    assert len(table.to_pandas()) == len(table.to_polars()) == table.to_arrow().num_rows == 100


def test_expressions_make_a_crosstab_too(release: cv.Release) -> None:
    table = release.crosstab("age // 10", "gender")
    assert table.row_values == list(range(1, 10))


@pytest.mark.slow
def test_hidden_cells_are_shown_as_hidden(release: cv.Release) -> None:
    table = release.crosstab("occupation", "country")
    assert "hidden" in str(table)
    assert ">hidden</td>" in table._repr_html_()
    answer = release.sql("SELECT count(*) FROM release WHERE occupation = 'actuary' AND age = 17")
    assert answer.estimates[0].verdict == "hidden"
    assert "hidden" in str(answer)
    assert ">hidden</td>" in answer._repr_html_()


@pytest.mark.parametrize("bad", ["gender, age", "count(*)", "gender) FROM release --", "nonsense"])
def test_what_is_no_column_is_refused(release: cv.Release, bad: str) -> None:
    with pytest.raises(QueryError):
        release.crosstab(bad, "gender")


def test_a_crosstab_needs_two_different_columns(release: cv.Release) -> None:
    with pytest.raises(QueryError, match="two different"):
        release.crosstab("gender", "gender")


def test_many_counts_at_once(release: cv.Release) -> None:
    asked = ["gender = 'F'", "occupation = 'nurse'", "occupation = 'nurse' OR age > 70"]
    answer = release.counts(asked)
    assert [group[0] for group in answer.groups] == asked
    assert [release.count(where) for where in asked] == list(answer.estimates)


def test_a_chart_has_a_bar_or_an_interval_for_every_cell(release: cv.Release) -> None:
    table = release.crosstab("education", "gender", "occupation = 'nurse'")
    svg = table.plot().svg
    verdicts = [cell.verdict for cell in table.answer.estimates]
    assert 0 < verdicts.count("hidden") < len(verdicts) == 16
    root = ET.fromstring(svg)
    groups = [g for g in root if g.tag.endswith("}g")]
    assert len(groups) == 16
    bars = [g for g in groups if any(part.tag.endswith("}rect") for part in g)]
    assert len(bars) == 16 - verdicts.count("hidden")
    assert all(any(part.tag.endswith("}path") for part in g) for g in groups)
    # A hidden cell gives no number that could be taken for an answer.
    titles = [g[0].text or "" for g in groups]
    assert sum(": hidden, " in title for title in titles) == verdicts.count("hidden")


def test_a_chart_in_a_notebook_loads_nothing(release: cv.Release, tmp_path: Path) -> None:
    picture = release.crosstab("occupation", "country").plot()
    assert picture._repr_html_() == picture._repr_svg_() == picture.svg
    # The name of the SVG format is no address: nothing is loaded from it.
    text = picture.svg.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|//|<script|<image|<link|href|src=|url\(|@import", text)
    picture.save(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text() == picture.svg + "\n"
    with pytest.raises(TargetError, match="exists"):
        picture.save(tmp_path / "figure.svg")


def test_hostile_text_in_a_chart_is_text(tmp_path: Path) -> None:
    rows = {"p": HOSTILE * 400, "a": ["x", "y", "</svg><script>", "z"] * 500}
    release = cv.publish(pa.table(rows), {"a": 2}, tmp_path / "release", seed=3, keep="p")
    root = ET.fromstring(release.crosstab("a", "p").plot().svg)
    assert {part.tag.rpartition("}")[2] for part in root.iter()} == {
        "svg", "title", "desc", "style", "rect", "text", "path", "g",
    }  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_data_is_harmless_everywhere(text: str) -> None:
    table = text_table([text], [[text], [1]], width=80)
    assert not set(table) & {"\x1b", "\u202e"}
    assert "[red]x[/red]" in table or "[red]" not in text
    page = html_table([text], [[text]])
    assert "<script>" not in page
    assert visible(visible(text)) == visible(text)


def test_several_sensitive_columns_have_cells_of_their_product(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("two") / "release"
    rows = {"p": [1, 2] * 3_000, "a": ["x", "y", "z"] * 2_000, "b": ["u", "v"] * 3_000}
    release = cv.publish(pa.table(rows), {"a": 2, "b": 2}, folder, seed=3, keep="p")
    answer = release.sql("SELECT a, b, count(*) FROM release GROUP BY ALL")
    assert list(answer.groups) == [(a, b) for a in ("x", "y", "z") for b in ("u", "v")]
    # b has two values of N/ell rows each: nothing separates them.
    assert {answer.verdict for answer in answer.estimates} == {"hidden"}
