"""Columns: roles, values with counts of the whole table, no row; and what the editor proposes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import countveil as cv
from tests.web.analyst.conftest import Desk
from tests.web.client import Reply


def counted(desk: Desk) -> Reply:
    for _ in range(100):
        page = desk.first("columns")
        if 'id="counting"' not in page.text:
            return page
    raise AssertionError("never counted")


def test_columns_have_roles_values_and_counts(desk: Desk) -> None:
    page = counted(desk)
    assert "protected, ell 5" in page.text
    assert page.text.count("published unchanged") == 8
    release = cv.open(desk.folder)
    women = release.count("gender = 'F'").estimate
    assert f"{women:,.0f}" in page.text
    nurses = release.count("occupation = 'nurse'")
    assert nurses.verdict != "hidden"
    assert f"{nurses.low:,.0f} to {nurses.high:,.0f}" in page.text


def test_no_row_is_shown_and_the_page_says_why(desk: Desk) -> None:
    page = counted(desk)
    assert "There is no preview of rows." in page.text
    assert "usually not that person's" in page.text.replace("&#39;", "'")


@pytest.mark.slow
def test_completions_know_columns_and_values(desk: Desk) -> None:
    counted(desk)
    proposed = json.loads(desk.client.get(f"/ask/completions/{desk.id}").text)
    columns = {column["name"]: column for column in proposed["columns"]}
    assert columns["gender"]["values"] == ["F", "M"]
    assert columns["occupation"]["role"] == "sensitive"
    assert "nurse" in columns["occupation"]["values"]
    assert "count(*)" in proposed["functions"]
    assert proposed["tables"] == ["release"]


def test_hostile_names_and_values_are_text(start_app: Callable[..., Any], tmp_path: Path) -> None:
    import pyarrow as pa

    evil, name = "<script>alert(1)</script>", "a\"b'<i>\u202ec"
    table = pa.table({name: [evil, "x"] * 100, "job": ["nurse", "cook", evil, "clerk"] * 50})
    place = tmp_path / "evil"
    cv.publish(table, {"job": 2}, place, seed=1)
    client, sessions = start_app(release=place, root=tmp_path)
    client.enter(sessions.token)
    desk = Desk(client, client.get("/ask/").headers["location"].rsplit("/", 1)[1], place)
    page = counted(desk)
    asked = desk.ask('SELECT "a""b\'<i>\u202ec", job, count(*) FROM release GROUP BY ALL')
    crossed = desk.first("crosstab")
    for reply in (page, asked, crossed, desk.first("ask")):
        assert reply.status == 200
        assert "<script>alert" not in reply.text
        assert "<i>" not in reply.text
        # Only what is typed, and what a browser sends back, is as it was; nothing that is read.
        read = re.sub(r"<textarea.*?</textarea>|<[^>]*>", "", reply.text, flags=re.DOTALL)
        assert "\u202e" not in read
        assert "\\u202ec" in read
    # The builder knows the column by its name all the same.
    assert '<option value="a&#34;b&#39;&lt;i&gt;\u202ec" selected>' in asked.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in asked.text
