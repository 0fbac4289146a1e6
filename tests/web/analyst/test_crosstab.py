"""Cross-tab: a heat map, the same numbers as a table, and what can be chosen wrong."""

from __future__ import annotations

import re

import pytest

import countveil as cv
from countveil.display import readable
from tests.web.analyst.conftest import Desk, cells, problem
from tests.web.client import Reply


def cross(desk: Desk, **fields: str) -> Reply:
    page = desk.first("crosstab")
    match = re.search(r"/ask/cross/([0-9a-f]{16})", page.text)
    assert match is not None
    chosen = {name.replace("_", "-"): value for name, value in fields.items()}
    reply = desk.client.post(f"/ask/cross/{match[1]}", chosen)
    return desk.settled(reply) if reply.status == 303 else reply


def test_cells_are_those_of_the_library(desk: Desk) -> None:
    page = cross(desk, group_0="occupation", group_1="gender")
    table = cv.open(desk.folder).crosstab("occupation", "gender")
    expected = []
    for row in table.row_values:
        line = [row]
        for column in table.column_values:
            cell = table.cell(row, column)
            assert cell is not None
            interval = f"{readable(cell.low)} to {readable(cell.high)}"
            hidden = cell.verdict == "hidden"
            line.append(
                f"{interval} hidden"
                if hidden
                else f"{readable(cell.estimate)} {cell.verdict}, {interval}"
            )
        expected.append(line)
    assert cells(page) == expected


@pytest.mark.slow
def test_the_heat_map_hatches_what_is_indicative_and_leaves_hidden_cells_blank(desk: Desk) -> None:
    page = cross(desk, group_0="occupation", group_1="gender")
    drawing = page.text[page.text.index("<svg") : page.text.index("</svg>")]
    marks = re.findall(r"<g><title>([^<]*)</title>(.*?)</g>", drawing)
    table = cv.open(desk.folder).crosstab("occupation", "gender")
    verdicts = [cell.verdict for cell in table.answer.estimates]
    assert len(marks) == len(verdicts)
    by_name = {
        f"{a}, {b}": c.verdict
        for (a, b), c in zip(table.answer.groups, table.answer.estimates, strict=True)
    }
    assert set(verdicts) == {"reliable", "indicative", "hidden"}
    for said, drawn in marks:
        verdict = by_name[said.rpartition(":")[0]]
        assert ('class="hatch"' in drawn) == (verdict == "indicative")
        assert ("<text" in drawn) == (verdict != "hidden")
        assert ('class="cell' in drawn) == (verdict != "hidden")
    assert "style=" not in drawing
    assert "<style" not in drawing


@pytest.mark.slow
@pytest.mark.parametrize(
    "fields",
    [
        {"group_0": "gender"},
        {"group_0": "gender", "group_1": "gender"},
        {},
        {"group_0": "ocupation"},
    ],
)
def test_two_different_columns_are_needed(desk: Desk, fields: dict[str, str]) -> None:
    page = cross(desk, **fields)
    assert page.status == 400
    assert "Choose two different columns." in problem(page)


@pytest.mark.slow
def test_a_wrong_value_keeps_what_was_chosen(desk: Desk) -> None:
    page = cross(
        desk, group_0="gender", group_1="marital", where_0_column="age", where_0_was="age",
        where_0_comparison=">=", where_0_value="old",
    )  # fmt: skip
    assert page.status == 400
    assert "'old' is none" in problem(page)
    assert 'value="old"' in page.text
    assert '<option value="marital" selected>' in page.text


@pytest.mark.slow
def test_a_crosstab_is_exported_as_a_heat_map(desk: Desk) -> None:
    page = cross(desk, group_0="gender", group_1="marital")
    match = re.search(r"/ask/export/([0-9a-f]{16})/svg", page.text)
    assert match is not None
    picture = desk.client.get(f"/ask/export/{match[1]}/svg").text
    assert "gender by marital" in picture
    assert 'class="cell' in picture
    assert "<metadata>" in picture
