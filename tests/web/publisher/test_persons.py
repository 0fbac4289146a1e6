"""Persons with several rows: all of them, or the first or last one; the effect is shown."""

from __future__ import annotations

import re

import pytest

from countveil.release.opening import read_manifest
from tests.robustness.conftest import Quick
from tests.web.publisher.conftest import Desk, write_visits
from tests.web.publisher.test_lines import in_python, plain, shown, words

FIRST = {"subject": "0", "row": "first", "by": "1"}


@pytest.fixture
def visits(desk: Desk) -> Desk:
    """A table of visits, with the patient as the person."""
    write_visits(desk.root / "visits.csv")
    desk.pick("visits.csv")
    desk.get("columns")
    desk.role(0, "person")
    return desk


def test_the_first_row_of_each_person_is_published(visits: Desk, quick: Quick) -> None:
    page = visits.done("columns/one-per", FIRST)
    assert "Rows: 700 → before, now 400 ." in plain(page)
    assert '<option value="first" selected>' in page
    visits.role(3, "protect")
    visits.role(1, "drop")
    page = visits.get("dangers")
    command, python = shown(page)
    assert "--one-per 'patient=first by admitted'" in command
    assert "--person" not in command
    assert "one_per={'patient': 'first by admitted'}" in python
    assert in_python(python)[0]["inspection"].rows == 400
    visits.done("amount/typed", {"subject": "0", "ell": "3", "method": "mixed"})
    assert "400 rows in random order" in visits.get("rehearsal")
    said = "One row of each person is published, the first by 'admitted'"
    assert said in plain(visits.get("rehearsal"))
    visits.done("publish/start", {"to": "release"})
    manifest = read_manifest(visits.root / "release")
    assert manifest.rows == 400
    page = visits.done("audit/start")
    assert "claims that were tested hold" in page, page
    command, _ = shown(page)
    assert quick(*words(command), cwd=visits.root).code == 0


def test_another_role_forgets_which_row(visits: Desk) -> None:
    visits.done("columns/one-per", FIRST)
    assert visits.state.draft.one_per == "first by admitted"
    visits.role(0, "person")
    assert visits.state.draft.one_per == "first by admitted"
    visits.role(0, "drop")
    assert visits.state.draft.one_per == ""
    visits.done("undo", {"screen": "columns"})
    assert visits.state.draft.one_per == "first by admitted"
    visits.done("undo", {"screen": "columns"})
    assert visits.state.draft.one_per == ""
    assert visits.state.draft.person == "patient"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"row": "first", "by": ""}, "Choose the column that says it"),
        ({"row": "last", "by": "0"}, "Choose the column that says it"),
        ({"row": "last", "by": "77"}, "Choose the column that says it"),
        ({"row": "any", "by": "1"}, "only the first, or only the last"),
    ],
)
def test_what_is_wrong_stands_beside_it_and_is_kept(
    visits: Desk, sent: dict[str, str], said: str
) -> None:
    reply = visits.post("columns/one-per", {"subject": "0", **sent})
    assert reply.status == 422
    form = re.search(r'<div class="one-row">.*?<details', reply.text, re.DOTALL)
    assert form is not None
    assert said in form[0]
    assert reply.text.count(said) == 1
    if sent["row"] != "any":
        assert f'<option value="{sent["row"]}" selected>' in form[0]
    assert visits.state.draft.one_per == ""


def test_a_text_that_is_no_time_is_named(visits: Desk) -> None:
    page = visits.done("columns/one-per", {**FIRST, "by": "2"})
    form = re.search(r'<div class="one-row">.*?<details', page, re.DOTALL)
    assert form is not None
    assert "not all of it is dates" in form[0]
    page = visits.done("undo", {"screen": "columns"})
    assert "not all of it is dates" not in page


def test_there_is_no_choice_without_a_person(desk: Desk) -> None:
    desk.pick("people.csv")
    assert "one-row" not in desk.get("columns")
    reply = desk.post("columns/one-per", FIRST)
    assert reply.status == 422
    assert "No column is the person any more" in reply.text


def test_a_number_of_people_becomes_the_person_by_one_click(desk: Desk) -> None:
    write_visits(desk.root / "visits.csv")
    desk.pick("visits.csv")
    desk.get("columns")
    desk.role(3, "protect")
    page = desk.get("dangers")
    known = re.search(r'id="person-([0-9a-f]+)"', page)
    assert known is not None, page
    page = desk.done("dangers/decide", {"subject": known[1], "decision": "person"})
    assert desk.state.draft.person == "patient"
    assert "Nothing stops the publication" in page
    assert 'value="person"' not in page
    desk.done("undo", {"screen": "dangers"})
    assert desk.state.draft.person is None
