"""Options of single screens: numbers of classes, rows that can be found, own questions."""

from __future__ import annotations

import re

import pytest

from tests.robustness.conftest import Quick
from tests.web.publisher.conftest import Desk
from tests.web.publisher.test_lines import in_python, plain, shown, words


def test_numbers_stand_for_classes(desk: Desk) -> None:
    desk.pick("people.csv")
    desk.get("columns")
    desk.role(2, "protect")
    classes = {"subject": "2", "bins": "30,45,60"}
    reply = desk.post("columns/values", {"subject": "2", "bins": "", "class_values": "24,70"})
    assert reply.status == 422
    assert "give the classes of &#39;age&#39;" in reply.text
    assert 'name="class_values" value="24,70"' in reply.text
    page = desk.done("columns/values", {**classes, "class_values": "1,2,3"})
    assert "has 4 classes, and 3 numbers were declared" in page
    assert 'name="class_values" value="1,2,3"' in page
    page = desk.done("columns/values", {**classes, "class_values": "24,70"})
    assert "numbers were declared" not in page
    desk.get("dangers")
    command = re.findall(r"--class-values \S+", desk.get("columns"))
    assert command == ["--class-values age=24,70"]
    desk.done("undo", {"screen": "columns"})
    assert desk.state.draft.texts("age")["class_values"] == "1,2,3"


def test_advice_about_rows_that_can_be_found(desk: Desk) -> None:
    desk.protect_job()
    page = desk.done("dangers/few", {"subject": "few", "k": "5"})
    assert re.search(r"of 600 rows \(\d+\.\d%\) have a combination of plain values", page)
    assert "--k 5" in page
    assert "k=5" in page
    reply = desk.post("dangers/few", {"subject": "few", "k": "one"})
    assert reply.status == 422
    assert "The number of rows must be a whole number from 2" in reply.text
    assert 'name="k" size="8" inputmode="numeric" value="one"' in reply.text
    assert desk.state.draft.k == 5
    small = int(re.findall(r"<li>([\d,]+) of 600 rows", desk.get("dangers"))[0])
    page = desk.done("dangers/coarsen", {})
    assert desk.state.draft.texts("age")
    assert int(re.findall(r"<li>([\d,]+) of 600 rows", page)[0]) < small
    for _ in range(2):
        desk.done("undo", {"screen": "dangers"})
    assert "have a combination of plain values" not in desk.get("dangers")
    gone = desk.post("dangers/coarsen", {})
    assert gone.status == 422
    assert "no such advice any more" in gone.text


@pytest.mark.slow
def test_own_questions_are_tried_out(desk: Desk, quick: Quick) -> None:
    desk.protect_job()
    wishes = {"subject": "wishes", "share": "5", "error": "60", "hide": ""}
    for typed in ("people.csv", "SELECT 1; DROP TABLE x", "/etc/passwd"):
        reply = desk.post("amount/wishes", {**wishes, "questions": typed})
        assert reply.status == 422
        assert "SELECT statements with semicolons between them" in reply.text
        assert f"{typed}</textarea>" in reply.text
    asked = "SELECT region, job, count(*) FROM release GROUP BY ALL; SELECT nothing FROM release"
    page = desk.done("amount/wishes", {**wishes, "questions": asked})
    assert "Your question 1" in page
    assert "32 answers, in trial releases" in page
    assert "Refused: " in page
    command, python = shown(page)
    assert "--questions" in command
    advice = in_python(python)[0]["advice"]
    assert [each.answers for each in advice.questions] == [32, 0]
    done = quick(*words(command), cwd=desk.root)
    assert done.code == 0
    assert "32 answers, in trial releases" in plain(done.out)
    desk.done("undo", {"screen": "amount"})
    assert desk.state.draft.questions == ""


@pytest.mark.parametrize(
    "typed", ["nothing.csv", "no*.csv", "sqlite:nothing.db#t", "nothing.xlsx#a"]
)
def test_a_file_that_is_not_there_is_said_beside_its_name(desk: Desk, typed: str) -> None:
    desk.pick("people.csv")
    reply = desk.post("table/address", {"subject": "address", "address": typed})
    assert reply.status == 422
    assert re.search(rf'value="{re.escape(typed)}".*?There is no file', reply.text, re.DOTALL)
    assert desk.state.draft.table == "people.csv"


def test_an_ell_that_is_none_is_kept_and_said_beside_it(desk: Desk) -> None:
    desk.protect_job()
    reply = desk.post("amount/typed", {"subject": "0", "ell": "1", "method": "random"})
    assert reply.status == 422
    form = re.search(r'<details id="typed-0" open>.*?</details>', reply.text, re.DOTALL)
    assert form is not None
    assert 'name="ell" size="5" inputmode="numeric" value="1"' in form[0]
    assert '<option value="random" selected>' in form[0]
    assert "Ell must be a whole number from 2" in form[0]
    assert reply.text.count("Ell must be a whole number") == 1
    assert desk.state.draft.sensitive == {"job": None}
