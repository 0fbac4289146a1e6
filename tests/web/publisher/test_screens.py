"""Every screen: what it shows, what it takes, what is wrong with what it is given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from countveil.maths.mechanism import draw
from countveil.release import read_manifest
from countveil.web.publisher.screens import publish
from tests.auditing import broken
from tests.web.client import Client
from tests.web.publisher.conftest import Desk


def problem(text: str) -> str:
    """What the page says is wrong."""
    match = re.search(r'class="problem[^"]*" role="alert"[^>]*>(.*?)</p>', text, re.DOTALL)
    assert match is not None, text
    return match[1].replace("&#39;", "'")


def danger_ids(page: str, state: str = "open") -> list[str]:
    return re.findall(rf'class="danger {state}" id="danger-([0-9a-f]+)"', page)


def test_a_table_is_picked_by_clicking_and_read_at_once(desk: Desk) -> None:
    page = desk.pick("people.csv")
    assert "Read: 600 rows, 5 columns." in page
    assert 'href="/publish/columns"' in page
    assert "p0@mail.test" not in page


def test_rows_are_shown_on_request_alone(desk: Desk) -> None:
    desk.pick("people.csv")
    page = desk.done("table/preview", {"show": "yes"})
    assert "These are real people" in page
    assert "p0@mail.test" in page
    assert "p0@mail.test" not in desk.done("table/preview", {"show": "no"})


def test_a_faulty_line_is_named(desk: Desk) -> None:
    (desk.root / "faulty.csv").write_text("a,b\n1,2\n3,4,5\n")
    assert "line 3: the line has 3 cells, the header 2." in problem(desk.pick("faulty.csv"))


def test_reading_options_are_kept_and_checked(desk: Desk) -> None:
    (desk.root / "german.csv").write_text("a;b\n1,5;x\n2,5;y\n", encoding="utf-8")
    desk.pick("german.csv")
    wrong = {"subject": "reading", "delimiter": ";;", "encoding": "latin-1", "header": "yes",
             "quote": "", "where": "", "query": "", "missing": ""}  # fmt: skip
    reply = desk.post("table/reading", wrong)
    assert reply.status == 422
    assert "must be one plain character" in problem(reply.text)
    assert 'value=";;"' in reply.text
    assert 'value="latin-1"' in reply.text
    page = desk.done("table/reading", {**wrong, "delimiter": ";", "decimal_comma": "yes"})
    assert "Read: 2 rows, 2 columns." in page
    assert desk.state.draft.reading == {
        "delimiter": ";", "encoding": "latin-1", "decimal_comma": True,
    }  # fmt: skip


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("", "No address was typed"),
        ("../secret.csv", "outside of the folder"),
        ("/etc/passwd", "outside of the folder"),
        ("duckdb:/etc/hosts#t", "outside of the folder"),
        ("postgresql://me:secret@host/db#t", "password"),
        ("s3://bucket/file.csv", "cannot be read here"),
    ],
)
def test_an_address_that_is_not_allowed_is_refused(desk: Desk, address: str, said: str) -> None:
    reply = desk.post("table/address", {"subject": "address", "address": address})
    assert reply.status == 422
    assert said in problem(reply.text)
    # What was typed is kept, but for a password.
    assert f'value="{address.replace(":secret", "")}"' in reply.text
    assert not desk.state.draft.table


def test_a_pattern_does_not_lead_out_through_a_link(
    desk: Desk, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "x.csv").write_text("a\n1\n")
    (desk.root / "door").symlink_to(outside)
    for address in ("door/x.csv", "door/*.csv", "*/x.csv"):
        reply = desk.post("table/address", {"subject": "address", "address": address})
        assert reply.status == 422, address
        assert "outside of the folder" in problem(reply.text)


@pytest.mark.slow
def test_a_database_below_the_root_is_taken(desk: Desk) -> None:
    import duckdb

    with duckdb.connect(desk.root / "some.db") as database:
        database.sql("CREATE TABLE people AS SELECT range AS a, range % 4 AS b FROM range(100)")
    page = desk.done("table/address", {"subject": "address", "address": "duckdb:some.db#people"})
    assert "Read: 100 rows, 2 columns." in page


@pytest.mark.slow
def test_roles_are_one_click_and_shown(desk: Desk) -> None:
    desk.pick("people.csv")
    page = desk.get("columns")
    assert 'id="role-4-publish" name="role" value="publish" aria-pressed="true"' in page
    page = desk.role(4, "protect")
    assert 'id="role-4-protect" name="role" value="protect" aria-pressed="true"' in page
    assert desk.state.draft.sensitive == {"job": None}
    desk.role(0, "person")
    assert desk.state.draft.person == "email"
    assert desk.post("columns/role", {"subject": "99", "role": "drop"}).status == 422
    assert desk.post("columns/role", {"subject": "0", "role": "nothing"}).status == 422


@pytest.mark.slow
def test_classes_show_their_effect(desk: Desk) -> None:
    desk.pick("people.csv")
    desk.get("columns")
    page = desk.done("columns/values", {"subject": "2", "bins": "30,50"})
    effect = re.search(r'class="effect">(.*?)</p>', page, re.DOTALL)
    assert effect is not None
    assert "<strong>3</strong>" in effect[1]
    assert "Values: 63" in effect[1]
    wrong = desk.post("columns/values", {"subject": "2", "bins": "nonsense", "merge": ""})
    assert wrong.status == 422
    assert "cannot be read" in problem(wrong.text)
    assert 'value="nonsense"' in wrong.text
    assert desk.state.draft.texts("age") == {"bins": "30,50"}


def test_a_file_of_labels_must_lie_below_the_root(desk: Desk) -> None:
    desk.pick("people.csv")
    desk.get("columns")
    (desk.root / "labels.csv").write_text("N,north\nS,south\nE,east\nW,west\n")
    outside = {"subject": "3", "labels": "/etc/passwd"}
    assert "outside of the folder" in problem(desk.post("columns/values", outside).text)
    desk.done("columns/values", {"subject": "3", "labels": "labels.csv"})
    assert desk.state.draft.texts("region") == {"labels": "labels.csv"}


@pytest.mark.slow
def test_what_sounds_sensitive_is_protected_by_one_click(desk: Desk) -> None:
    desk.pick("people.csv")
    page = desk.get("columns")
    if "take-suggested" not in page:
        (desk.root / "pay.csv").write_text(
            (desk.root / "people.csv").read_text().replace("job", "occupation", 1)
        )
        desk.pick("pay.csv")
        page = desk.get("columns")
    assert "take-suggested" in page
    desk.done("columns/suggested")
    assert desk.state.draft.sensitive


def test_next_opens_when_every_danger_is_decided(desk: Desk) -> None:
    desk.pick("people.csv")
    desk.get("columns")
    desk.role(4, "protect")
    page = desk.get("dangers")
    first, second = danger_ids(page)
    assert "100%" in page
    assert "Next opens when" in page
    assert "not open yet" in desk.get("amount")
    refused = desk.post("dangers/decide", {"subject": second, "decision": "keep", "reason": " "})
    assert refused.status == 422
    assert "Say why it may be published" in problem(refused.text)
    page = desk.done("dangers/decide", {"subject": first, "decision": "drop"})
    (left,) = danger_ids(page)
    long = desk.post("dangers/decide", {"subject": left, "decision": "keep", "reason": "x" * 2000})
    assert long.status == 422
    assert "x" * 2000 in long.text
    page = desk.done("dangers/decide", {"subject": left, "decision": "keep", "reason": "Known."})
    assert danger_ids(page) == []
    assert "Known." in page
    assert 'href="/publish/amount"' in page
    assert desk.state.draft.reasons == {"code": "Known."}
    again = desk.done("dangers/decide", {"subject": left, "decision": "reopen"})
    assert danger_ids(again) == [left]
    assert desk.state.draft.keep == ()


@pytest.mark.slow
def test_a_reason_is_in_the_private_report_and_nowhere_in_the_release(desk: Desk) -> None:
    desk.pick("people.csv")
    desk.get("columns")
    desk.role(0, "drop")
    desk.role(4, "protect")
    (left,) = danger_ids(desk.get("dangers"))
    reason = "Everybody here wears the code on a badge."
    desk.done("dangers/decide", {"subject": left, "decision": "keep", "reason": reason})
    desk.done("amount/typed", {"subject": "0", "ell": "3", "method": "mixed"})
    assert reason in desk.get("rehearsal")
    refused = desk.post("publish/start", {"to": "release", "subject": "start"})
    assert "name a file for it" in problem(refused.text)
    page = desk.done(
        "publish/start",
        {"to": "release", "with_report": "yes", "private_report": "private.html"},
    )
    assert "Published 600 rows" in page
    assert reason in (desk.root / "private.html").read_text()
    for file in (desk.root / "release").rglob("*"):
        assert file.is_dir() or reason.encode() not in file.read_bytes()


@pytest.mark.slow
def test_everything_measured_is_shown_and_taken(desk: Desk) -> None:
    desk.protect_job()
    desk.done("amount/wishes", {"subject": "wishes", "share": "5", "error": "20", "hide": "3"})
    page = desk.get("amount")
    assert page.count("Mean error of counts of 5% of the table") >= 1
    assert "ell = " in page
    picks = re.findall(r'name="pick" value="(\w+):(\d+)"', page)
    assert {"mixed", "random"} <= {method for method, _ in picks}
    page = desk.done("amount/take", {"subject": "0", "pick": "random:5"})
    assert (desk.state.draft.groups, desk.state.draft.sensitive) == ("random", {"job": 5})
    slid = desk.post("amount/slide", {"subject": "0", "place": "0"}, htmx=True)
    assert slid.status == 200
    assert slid.text.lstrip().startswith('<div class="figures" id="figures-0"')
    assert 'id="lines" hx-swap-oob="true"' in slid.text
    assert desk.state.draft.sensitive == {"job": 2}
    desk.done("amount/recommended")
    assert desk.state.draft.complete


@pytest.mark.slow
def test_what_is_not_possible_is_grey_and_says_why(desk: Desk) -> None:
    values = ["most"] * 14 + ["some", "few", "rare", "some", "few", "some"]
    lines = [f"{values[n % 20]},{n % 7},{n % 3}" for n in range(600)]
    (desk.root / "skewed.csv").write_text("\n".join(["state,a,b", *lines]))
    desk.pick("skewed.csv")
    desk.get("columns")
    desk.role(0, "protect")
    assert "Nothing stops" in desk.get("dangers")
    desk.done("amount/wishes", {"subject": "wishes", "share": "5", "error": "20", "hide": ""})
    page = desk.get("amount")
    assert re.search(r'value="mixed"[^>]* disabled>mixed groups</button>', page)
    assert "the most frequent value has 70.0% of the rows" in page
    assert "is not feasible" in page


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"share": "many", "error": "10"}, "number of percent"),
        ({"share": "0", "error": "10"}, "between 0 and 1"),
        (
            {"share": "1", "error": "10", "hide": "-3"},
            "count to hide must be a whole number",
        ),
        ({"share": "1", "error": "10", "odds": "0.5"}, "The odds must be a number"),
    ],
)
def test_a_wrong_wish_is_named_and_kept(desk: Desk, wishes: dict[str, str], said: str) -> None:
    desk.protect_job()
    typed = {"subject": "wishes", "hide": "", "odds": "", **wishes}
    reply = desk.post("amount/wishes", typed)
    assert reply.status == 422
    assert said in problem(reply.text)
    for text in wishes.values():
        assert f'value="{text}"' in reply.text


@pytest.mark.slow
def test_a_refusal_of_publish_names_what_would_work(desk: Desk) -> None:
    desk.protect_job()
    desk.done("amount/typed", {"subject": "0", "ell": "9", "method": "mixed"})
    page = desk.get("rehearsal")
    assert "asks for groups of 9 different values" in problem(page)
    assert "--groups random" in page
    assert "not open yet" in desk.get("publish")
    ways = re.findall(r'name="way" value="(\d)"', page)
    page = desk.done("rehearsal/way", {"way": ways[0]})
    assert "Everything was done but publishing" in page


def test_the_sheet_has_the_promise_and_what_does_not_leave(desk: Desk) -> None:
    desk.rehearsed()
    long = desk.post("rehearsal/about", {"subject": "about", "title": "t" * 999, "contact": "me"})
    assert long.status == 422
    assert "at most" in problem(long.text)
    assert "t" * 999 in long.text
    page = desk.done("rehearsal/about", {"subject": "about", "title": "Jobs", "contact": "me"})
    assert "<b>What was done.</b> 600 rows are published." in page
    assert "Signature" in page
    away = page[page.index("What does not leave") :]
    assert "<strong>email</strong>" in away
    assert "<strong>code</strong>" in away
    assert [path.name for path in desk.root.iterdir()] == ["people.csv"]


@pytest.mark.slow
def test_a_release_is_published_attacked_and_handed_over(desk: Desk) -> None:
    desk.published()
    assert read_manifest(desk.root / "release").rows == 600
    assert "not open yet" in desk.get("handover")
    page = desk.done("audit/start")
    assert "claims that were tested hold" in page
    assert page.index("Most exposed 1%") < page.index("Average belief")
    # A picture says what it answers, and the verdict has the colour that it has in the report.
    titles = re.findall(r"<figure><figcaption>(.*?)</figcaption><svg", page)
    assert len(titles) == page.count("<figure>")
    assert titles
    assert all(title.endswith("?") for title in titles)
    green = '<p class="fine">All' in page
    whole = re.search(r"/publish/audit-report/[0-9a-f]+", page)
    assert whole is not None
    assert ('class="verdict good"' in desk.client.get(whole[0]).text) == green
    page = desk.get("handover")
    assert "is sound: every file matches the manifest" in page
    assert read_manifest(desk.root / "release").files[0].sha256 in page
    report = re.search(r"/publish/report/[0-9a-f]+", page)
    assert report is not None
    reply = desk.client.get(report[0])
    assert reply.status == 200
    assert reply.headers["content-security-policy"].endswith("sandbox")
    assert "script" not in reply.headers["content-security-policy"]
    assert desk.client.get("/publish/report/0123").status == 404


@pytest.mark.slow
def test_a_changed_release_is_not_handed_over(desk: Desk) -> None:
    desk.published()
    desk.done("audit/start")
    data = next((desk.root / "release" / "data").iterdir())
    data.chmod(0o644)
    data.write_bytes(data.read_bytes()[:-1] + b"x")
    page = desk.get("handover")
    assert "Do not hand over." in page
    assert data.name in page


@pytest.mark.slow
def test_an_existing_release_is_refused_in_the_words_of_publish(desk: Desk) -> None:
    desk.published()
    page = desk.done("publish/start", {"to": "release"})
    assert "exists and is not empty: it is a release" in problem(page)
    assert "Try again" not in page
    # What was published before can still be attacked.
    assert "Attack it" in desk.get("audit")
    page = desk.done("publish/start", {"to": "release", "again": "yes", "force": "yes"})
    assert "Published 600 rows" in page


@pytest.mark.few(1)
@pytest.mark.parametrize("place", ["", "../elsewhere", "/tmp/elsewhere"])
def test_nothing_is_written_outside_of_the_root(desk: Desk, place: str) -> None:
    desk.rehearsed()
    reply = desk.post("publish/start", {"to": place, "subject": "start", "private_report": ""})
    assert reply.status == 422
    assert f'value="{place}"' in reply.text
    assert not Path(desk.root, place or "x").resolve().joinpath("manifest.json").exists()


def test_undo_and_redo_are_on_every_screen(desk: Desk) -> None:
    desk.protect_job()
    page = desk.done("undo", {"screen": "columns"})
    assert desk.state.draft.sensitive == {}
    assert "What becomes of each column?" in page
    desk.done("redo", {"screen": "columns"})
    assert desk.state.draft.sensitive == {"job": None}
    for _ in range(9):
        desk.done("undo", {"screen": "table"})
    assert desk.state.draft.table == ""
    for _ in range(9):
        desk.done("redo", {"screen": "table"})
    assert desk.state.draft.role("email") == "drop"


@pytest.mark.slow
def test_the_draft_outlives_the_browser(desk: Desk) -> None:
    desk.protect_job()
    after = Client(desk.client.app, jar=dict(desk.client.jar))
    page = after.get("/publish/columns").text
    assert 'id="role-4-protect" name="role" value="protect" aria-pressed="true"' in page


@pytest.mark.slow
def test_two_tabs_share_one_draft(desk: Desk) -> None:
    desk.pick("people.csv")
    desk.get("columns")
    other = Client(desk.client.app, jar=dict(desk.client.jar))
    desk.role(0, "drop")
    reply = other.post("/publish/columns/role", {"subject": "4", "role": "protect"}, htmx=True)
    assert 'id="role-0-drop" name="role" value="drop" aria-pressed="true"' in reply.text
    assert desk.state.draft.role("email") == "drop"
    assert desk.state.draft.role("job") == "protect"


@pytest.mark.slow
def test_results_belong_to_the_draft_they_were_made_from(desk: Desk) -> None:
    desk.rehearsed()
    assert "not open yet" not in desk.get("publish")
    desk.done("amount/typed", {"subject": "0", "ell": "2", "method": "mixed"})
    assert "not open yet" in desk.get("publish")
    desk.done("undo", {"screen": "publish"})
    assert "not open yet" not in desk.get("publish")


@pytest.mark.slow
def test_a_table_that_changed_is_read_again(desk: Desk) -> None:
    assert "Read: 600 rows" in desk.pick("people.csv")
    text = (desk.root / "people.csv").read_text()
    (desk.root / "people.csv").write_text(text + "q@mail.test,1x,44,N,nurse\n")
    assert "Read: 601 rows" in desk.get("table")


def test_hostile_names_stay_names(desk: Desk) -> None:
    name = '<b>"x"\u202e</b>'
    lines = ["a,job," + '"' + name.replace('"', '""') + '"']
    lines += [f"{n % 7},{'abcdefgh'[n % 8]},{n % 3}" for n in range(200)]
    (desk.root / "hostile.csv").write_text("\n".join(lines), encoding="utf-8")
    desk.pick("hostile.csv")
    page = desk.get("columns")
    assert '<b>"' not in page
    assert "&lt;b&gt;" in page
    assert "\u202e" not in page
    desk.role(2, "drop")
    assert desk.state.draft.drop == (name,)


@pytest.mark.slow
def test_a_page_asked_by_itself_keeps_what_is_typed(desk: Desk) -> None:
    desk.pick("people.csv")
    reply = desk.client.get("/publish/columns?keep=1", htmx=True)
    assert 'id="values-2" hx-preserve="true"' in reply.text
    assert "hx-preserve" not in desk.get("columns")


@pytest.mark.slow
def test_a_claim_that_does_not_hold_is_red_and_closes_the_way(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 60 rows that can be linked a third should be right, and all are: (1/3)^60 by chance."""
    with monkeypatch.context() as patch:
        patch.setattr(draw, "draw_published", broken.draws_nothing_but_the_truth)
        desk.published()
    page = desk.done("audit/start")
    assert "Do not hand over." in problem(page)
    assert 'class="exceeds"' in page
    assert "Next: hand over" not in page
    assert "Do not hand over: a claim does not hold." in desk.get("handover")


@pytest.mark.slow
def test_a_bound_on_the_odds_needs_declared_values(desk: Desk) -> None:
    desk.protect_job()
    wishes = {"subject": "wishes", "share": "5", "error": "20", "hide": "", "odds": "50"}
    page = desk.done("amount/wishes", wishes)
    assert "domain" in problem(page)
    page = desk.done("amount/wishes", {**wishes, "public": "0"})
    assert "random groups after noise" in page
    desk.done("amount/take", {"subject": "0", "pick": "random after noise:5"})
    assert (desk.state.draft.odds, desk.state.draft.groups) == (50.0, "random")
    page = desk.get("rehearsal")
    assert "Odds at most<b>50</b>" in page


@pytest.mark.slow
def test_columns_that_reveal_each_other_are_published_together(desk: Desk) -> None:
    desk.pick("people.csv")
    desk.get("columns")
    desk.role(0, "drop")
    desk.role(1, "protect")
    desk.role(4, "protect")
    page = desk.get("dangers")
    (both,) = danger_ids(page)
    assert f'id="together-{both}"' in page
    page = desk.done("dangers/decide", {"subject": both, "decision": "together"})
    assert danger_ids(page) == []
    assert desk.state.draft.together == (("code", "job"),)
    for subject in ("0", "1"):
        desk.done("amount/typed", {"subject": subject, "ell": "3", "method": "mixed"})
    page = desk.get("rehearsal")
    assert "Everything was done but publishing" in page
    assert "--together code,job" in page


def test_a_closed_screen_takes_no_form(desk: Desk) -> None:
    assert "not open yet" in desk.get("publish")
    for action in ("publish/start", "audit/start", "amount/measure", "rehearsal/way"):
        reply = desk.post(action, {"to": "x"})
        assert reply.status == 409, action
        assert "not open yet" in reply.text
    assert [path.name for path in desk.root.iterdir()] == ["people.csv"]


def test_an_unknown_page_or_job_is_not_there(desk: Desk) -> None:
    assert desk.client.get("/publish/nothing").status == 404
    assert desk.client.get("/publish/job/0123456789abcdef", htmx=True).status == 404


@pytest.mark.slow
def test_random_groups_are_chosen_for_all_columns_or_for_none(desk: Desk) -> None:
    desk.protect_job()
    desk.role(3, "protect")
    desk.get("dangers")
    desk.done("amount/wishes", {"subject": "wishes", "share": "5", "error": "20", "hide": ""})
    desk.done("amount/take", {"subject": "0", "pick": "mixed:7"})
    desk.done("amount/take", {"subject": "1", "pick": "mixed:3"})
    assert desk.state.draft.sensitive == {"job": 7, "region": 3}
    page = desk.done("amount/take", {"subject": "1", "pick": "random:5"})
    # With random groups, 7 was not tried for the other one.
    assert desk.state.draft.sensitive == {"job": None, "region": 5}
    assert "for all columns of a release" in page
    assert "not open yet" in desk.get("rehearsal")


@pytest.mark.slow
def test_the_effect_is_known_after_reading_otherwise_too(desk: Desk) -> None:
    desk.pick("people.csv")
    desk.get("columns")
    desk.done("columns/values", {"subject": "2", "bins": "30,50"})
    desk.done("table/reading", {"header": "yes", "missing": "nurse"})
    page = desk.get("columns")
    assert "Values: 63" in page
    assert desk.state.draft.texts("age") == {"bins": "30,50"}


def test_a_rehearsal_is_not_disturbed_by_what_lies_there(desk: Desk) -> None:
    (desk.root / "release").write_text("a file")
    desk.published("jobs")
    desk.done("amount/typed", {"subject": "0", "ell": "2", "method": "mixed"})
    assert "Everything was done but publishing" in desk.get("rehearsal")


@pytest.mark.slow
def test_a_publication_that_ends_while_its_page_is_drawn_is_shown(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.published()
    # As it is known before the last moment: without a result.
    monkeypatch.setattr(publish, "result_of", lambda _job: None)
    assert "Published 600 rows" in desk.get("publish")
