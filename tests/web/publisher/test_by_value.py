"""Values of a column, merged and labelled one by one."""

from __future__ import annotations

import html
import re

import pytest

import countveil as cv
from countveil.publishing.advise.inspecting.values import ColumnValues, CountedValue
from countveil.web.publisher.by_value import labels_open, listed_values, merged_texts
from countveil.web.publisher.draft import Draft
from tests.robustness.conftest import Quick
from tests.web.publisher.conftest import JOBS, Desk
from tests.web.publisher.test_lines import facts_on, in_python, shown, words

REGION, JOB = "3", "4"


def listed(desk: Desk, subject: str) -> dict[str, str]:
    """List the values of a column: the box of each, and what sends them."""
    page = desk.done("columns/list", {"subject": subject, "show": "yes"})
    boxes = re.findall(r'name="(chosen-\d+)"[^>]*> ([^<]*)</label>', page)
    known = re.search(r'name="listing" value="([0-9a-f]+)"', page)
    assert known is not None, page
    return {"listing": known[1], **{value: box for box, value in boxes}}


def becomes(page: str) -> dict[str, str]:
    """What the list says of each value; nothing of those that stay."""
    rows = re.findall(r"<tr><th scope=.row.><label.*?> ([^<]*)</label>(.*?)</th>", page)
    return {value: re.sub("<[^>]*>", "", said).removeprefix("becomes ") for value, said in rows}


def test_values_are_listed_with_their_rows(desk: Desk) -> None:
    desk.pick("people.csv")
    boxes = listed(desk, JOB)
    assert {*boxes} == {"listing", *JOBS}
    page = desk.get("columns")
    counts = [int(n) for n in re.findall(r'</th><td class="number">(\d+)</td>', page)]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == 600
    closed = desk.done("columns/list", {"subject": JOB, "show": "no"})
    assert "chosen-0" not in closed


def test_chosen_values_become_one_and_lines_do_the_same(desk: Desk, quick: Quick) -> None:
    desk.pick("people.csv")
    boxes = listed(desk, JOB)
    sent = {"subject": JOB, "listing": boxes["listing"], "do": "merge", "into": 'food & "drink"'}
    page = desk.done("columns/by-value", {**sent, boxes["baker"]: "yes", boxes["cook"]: "yes"})
    assert facts_on(page)["job"][0] == "7"
    assert "Values: 8" in page
    merged = {"baker": 'food & "drink"', "cook": 'food & "drink"'}
    shown_as = becomes(page)
    assert html.unescape(shown_as["baker"]) == html.unescape(shown_as["cook"]) == merged["cook"]
    assert shown_as["nurse"] == ""
    command, python = shown(page)
    assert in_python(python)[0]["inspection"].columns[4].distinct == 7
    done = quick(*words(command), cwd=desk.root)
    assert done.code == 0, done
    assert re.search(r"job +text +7 ", done.out)
    page = desk.done("undo", {"screen": "columns"})
    assert facts_on(page)["job"][0] == "8"
    assert desk.state.draft.texts("job") == {}


def test_values_are_taken_apart_again(desk: Desk) -> None:
    desk.pick("people.csv")
    boxes = listed(desk, JOB)
    sent = {"subject": JOB, "listing": boxes["listing"], "into": "others"}
    three = {boxes[job]: "yes" for job in ("pilot", "judge", "smith")}
    desk.done("columns/by-value", {**sent, **three, "do": "merge"})
    page = desk.done("columns/by-value", {**sent, boxes["pilot"]: "yes", "do": "apart"})
    assert facts_on(page)["job"][0] == "7"
    assert desk.state.draft.arguments("publish")["merge"] == {
        "job": {"judge": "others", "smith": "others"}
    }


@pytest.mark.slow
def test_labels_are_given_value_by_value_and_published(desk: Desk) -> None:
    desk.pick("people.csv")
    boxes = listed(desk, REGION)
    place = {value: box.removeprefix("chosen-") for value, box in boxes.items() if len(value) == 1}
    sent = {"subject": REGION, "listing": boxes["listing"], "do": "label"}
    page = desk.done(
        "columns/by-value", {**sent, f"label-{place['N']}": "north", f"label-{place['S']}": "süd"}
    )
    assert becomes(page) == {"N": "north", "S": "süd", "E": "", "W": ""}
    assert "4 values, as before" in page
    labels = {"N": "north", "S": "süd", "E": "E", "W": "W"}
    assert desk.state.draft.arguments("inspect")["labels"] == {"region": labels}
    # What is merged then are labels; a label that changes takes its merge along.
    merge = {**sent, "do": "merge", "into": "upper", boxes["N"]: "yes", boxes["E"]: "yes"}
    typed = {f"label-{place['N']}": "the north", f"label-{place['S']}": "süd"}
    desk.done("columns/by-value", {**merge, **typed})
    assert desk.state.draft.arguments("inspect")["merge"] == {
        "region": {"the north": "upper", "E": "upper"}
    }
    desk.role(0, "drop")
    desk.role(1, "drop")
    desk.role(4, "protect")
    desk.get("dangers")
    desk.done("amount/typed", {"subject": "0", "ell": "3", "method": "mixed"})
    desk.get("rehearsal")
    assert "Published 600 rows" in desk.done("publish/start", {"to": "release"})
    answer = cv.open(desk.root / "release").sql("SELECT region, count(*) FROM release GROUP BY ALL")
    assert {row[0] for row in answer.rows()} == {"upper", "süd", "W"}


WRONG: list[tuple[dict[str, str], str]] = [
    ({"do": "merge", "into": "x"}, "Choose the values first"),
    ({"do": "apart"}, "Choose the values first"),
    ({"do": "merge", "chosen-1": "yes"}, "Name what the chosen values become"),
    ({"do": "merge", "chosen-1": "yes", "into": "x" * 300}, "at most 200 characters"),
    ({"do": "label", "label-0": "same", "label-1": "same"}, "share the label"),
    ({"do": "merge", "listing": "0", "chosen-1": "yes"}, "The values have changed meanwhile"),
]


def test_a_wrong_choice_is_named_and_kept(desk: Desk) -> None:
    """On the page alone: each is made after the ones before were refused."""
    desk.pick("people.csv")
    known = listed(desk, JOB)["listing"]
    for sent, said in WRONG:
        refused(desk, known, sent, said)


def refused(desk: Desk, known: str, sent: dict[str, str], said: str) -> None:
    reply = desk.post("columns/by-value", {"subject": JOB, "listing": known, **sent})
    assert reply.status == 422
    assert said in reply.text
    for name, value in sent.items():
        if name.startswith("label-") or name == "into":
            assert f'value="{value}"' in reply.text
        if name.startswith("chosen-"):
            assert re.search(rf'name="{name}"[^>]* checked', reply.text)
    assert desk.state.draft.texts("job") == {}


def test_classes_are_not_merged_value_by_value(desk: Desk) -> None:
    desk.pick("people.csv")
    desk.get("columns")
    desk.done("columns/values", {"subject": "2", "bins": "30,50"})
    page = desk.done("columns/list", {"subject": "2", "show": "yes"})
    assert "clear <em>Classes</em> first" in page
    assert "chosen-0" not in page


def test_a_rule_gives_way_to_what_is_chosen(desk: Desk) -> None:
    desk.pick("people.csv")
    desk.get("columns")
    desk.done("columns/values", {"subject": JOB, "merge": "rare:70"})
    boxes = listed(desk, JOB)
    assert "takes the place of <code>rare:70</code>" in desk.get("columns")
    sent = {"subject": JOB, "listing": boxes["listing"], "into": "x", boxes["cook"]: "yes"}
    # Labels alone leave the rule as it is.
    desk.done("columns/by-value", {**sent, "do": "label", "label-0": "first"})
    assert desk.state.draft.texts("job")["merge"] == "rare:70"
    desk.done("columns/by-value", {**sent, "do": "merge"})
    assert desk.state.draft.arguments("inspect")["merge"] == {"job": {"cook": "x"}}


def test_hostile_values_stay_values(desk: Desk) -> None:
    name = '<i>"a"\u202e</i>'
    lines = ["a,job", *(f"{n % 7},{'bcdefgh'[n % 7]}" for n in range(70))]
    lines += ['1,"' + name.replace('"', '""') + '"'] * 30
    (desk.root / "hostile.csv").write_text("\n".join(lines), encoding="utf-8")
    desk.pick("hostile.csv")
    page = desk.done("columns/list", {"subject": "1", "show": "yes"})
    assert "<i>" not in page
    assert "\u202e" not in page
    known = re.search(r'name="listing" value="([0-9a-f]+)"', page)
    assert known is not None
    sent = {"subject": "1", "listing": known[1], "chosen-0": "yes", "do": "merge", "into": "safe"}
    desk.done("columns/by-value", sent)
    assert desk.state.draft.arguments("inspect")["merge"] == {"job": {name: "safe"}}


def counted(*values: str, more: int = 0, labelled: bool = False) -> ColumnValues:
    return ColumnValues(
        "c", [CountedValue(v, v, 10) for v in values], more, 0, labelled
    )  # fmt: skip


def test_labels_are_open_only_where_every_value_is_listed() -> None:
    plain = Draft("t", by_column={"labels": {"c": '{"a": "x", "b": "y"}'}})
    assert labels_open(plain, counted("a", "b"))
    assert not labels_open(plain, counted("a", "b", more=1))
    assert not labels_open(plain, counted("a", "b", labelled=True))
    file = Draft("t", by_column={"labels": {"c": "labels.csv"}})
    assert not labels_open(file, counted("a", "b"))
    levels = Draft("t", by_column={"levels": {"c": "prefix:1"}})
    assert not labels_open(levels, counted("a", "b"))


def test_what_was_said_of_other_values_is_kept() -> None:
    draft = Draft("t", by_column={"merge": {"c": '{"z": "last", "a": "first"}'}})
    values = counted("a", "b")
    assert [row.into for row in listed_values(draft, values)] == ["first", ""]
    texts = merged_texts(draft, values, {1}, "second", {})
    changed = draft.with_texts("c", texts)
    assert changed.arguments("inspect")["merge"] == {
        "c": {"z": "last", "a": "first", "b": "second"}
    }
