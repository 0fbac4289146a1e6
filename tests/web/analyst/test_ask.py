"""Ask in SQL: answers, refusals that keep the text and mark the place, history, giving up."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest

import countveil as cv
from countveil.display import readable
from tests.web.analyst.conftest import Desk, cells, problem, question_id
from tests.web.client import Reply

NURSES = "SELECT gender, count(*) FROM release WHERE occupation = 'nurse' GROUP BY gender"


def typed(page: Reply) -> str:
    """What stands in the field for SQL."""
    match = re.search(r"<textarea[^>]*>(.*?)</textarea>", page.text, re.DOTALL)
    assert match is not None
    return (
        match[1]
        .replace("&#39;", "'")
        .replace("&#34;", '"')
        .replace("&gt;", ">")
        .replace("&lt;", "<")
    )


def test_an_answer_is_the_one_of_the_library(desk: Desk) -> None:
    page = desk.ask("SELECT occupation, count(*) FROM release GROUP BY occupation")
    answer = cv.open(desk.folder).sql("SELECT occupation, count(*) FROM release GROUP BY 1")
    expected = [
        [
            group[0],
            "" if cell.verdict == "hidden" else readable(cell.estimate),
            "" if cell.verdict == "hidden" else readable(cell.std_error),
            f"{readable(cell.low)} to {readable(cell.high)}",
            cell.verdict,
        ]
        for group, cell in zip(answer.groups, answer.estimates, strict=True)
    ]
    assert cells(page) == expected


def test_a_hidden_cell_shows_its_interval_and_no_number(desk: Desk) -> None:
    rare = "occupation = 'watchmaker' AND age = 70"
    sql = f"SELECT gender, count(*) FROM release WHERE {rare} GROUP BY 1"
    page = desk.ask(sql)
    answer = cv.open(desk.folder).sql(sql)
    assert [cell.verdict for cell in answer.estimates] == ["hidden"] * len(answer)
    rows = cells(page)
    assert [row[1:3] for row in rows] == [["", ""]] * len(answer)
    assert all(" to " in row[3] and row[4] == "hidden" for row in rows)
    # Neither in the chart: no dot, a dashed interval, and words without an estimate.
    chart = page.text[page.text.index('<svg xmlns="http://www.w3.org/2000/svg" class="chart"') :]
    marks = re.findall(r"<g><title>([^<]*)</title>(.*?)</g>", chart)
    # It is drawn twice: for wide screens and for phones.
    assert len(marks) == 2 * len(answer)
    assert all("hidden," in said and "unsure" in drawn for said, drawn in marks)
    assert all('class="dot' not in drawn for _, drawn in marks)


@pytest.mark.slow
def test_verdicts_have_a_word_and_a_class(desk: Desk) -> None:
    page = desk.ask("SELECT occupation, gender, count(*) FROM release GROUP BY ALL")
    for word in ("reliable", "indicative", "hidden"):
        assert f'<span class="verdict-word {word}">{word}</span>' in page.text


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("sql", "said", "word"),
    [
        ("SELECT avg(agee) FROM release", "Did you mean 'age'", "agee"),
        ("SELECT count(* FROM release", "not readable SQL", "FROM"),
        ("SELECT soundex(gender), count(*) FROM release GROUP BY 1", "not supported", "soundex"),
        ("DROP TABLE release", "not supported", None),
        ("SELECT * FROM release", "would print rows", None),
        ("SELECT count(*) FROM 'manifest.json'", "is called release", "'manifest.json'"),
        ("", "no statement", None),
    ],
)  # fmt: skip
def test_a_refusal_keeps_the_text_marks_the_place_and_says_what_works(
    desk: Desk, sql: str, said: str, word: str | None
) -> None:
    page = desk.ask(sql)
    assert page.status == 200
    assert said in problem(page)
    assert typed(page) == sql
    marks = re.search(r'data-error-from="(\d+)" data-error-to="(\d+)"', page.text)
    if word is not None:
        assert marks is not None
        assert sql[int(marks[1]) : int(marks[2])] == word
    else:
        assert marks is None


@pytest.mark.slow
def test_a_value_that_is_not_in_the_domain_is_answered_with_a_hint(desk: Desk) -> None:
    page = desk.ask("SELECT count(*) FROM release WHERE occupation = 'nurze'")
    assert "Did you mean &#39;nurse&#39;?" in page.text


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("field", "value"), [("level", "2"), ("level", "often"), ("within", "-1"), ("within", "9")]
)
def test_a_wrong_option_keeps_the_question(desk: Desk, field: str, value: str) -> None:
    page = desk.ask(NURSES, **{field: value})
    assert page.status == 400
    assert f"{field} must be a number" in problem(page)
    assert typed(page) == NURSES


@pytest.mark.slow
def test_a_share_is_read_in_percent(desk: Desk) -> None:
    share = "count(*) FILTER (WHERE occupation = 'nurse') / count(*) AS share"
    page = desk.ask(f"SELECT gender, {share} FROM release GROUP BY gender")
    answer = cv.open(desk.folder).sql(f"SELECT gender, {share} FROM release GROUP BY gender")
    first = answer.estimates[0]
    assert first.low is not None
    assert first.high is not None
    assert first.high < 0.1
    assert cells(page)[0][3] == f"{first.low:.2%} to {first.high:.2%}"


@pytest.mark.slow
def test_options_change_the_answer_and_stay_chosen(desk: Desk) -> None:
    page = desk.ask(NURSES, method="unbiased", level="0.8", within="0.2")
    answer = cv.open(desk.folder).sql(NURSES, method="unbiased", level=0.8, within=0.2)
    assert [row[3] for row in cells(page)] == [
        f"{readable(cell.low)} to {readable(cell.high)}" for cell in answer.estimates
    ]
    assert '<option value="unbiased" selected>' in page.text
    assert "--method unbiased --level 0.8 --within 0.2" in page.text


def test_one_goes_back_to_earlier_questions_and_state_survives_a_reload(desk: Desk) -> None:
    first = question_id(desk.ask(NURSES))
    desk.ask("SELECT count(*) FROM release")
    page = desk.client.get(f"/ask/answer/{first}")
    assert typed(page) == NURSES
    assert len(cells(page)) == 2
    assert "SELECT count(*) FROM release" in page.text
    assert typed(desk.client.get(f"/ask/answer/{first}")) == NURSES


@pytest.mark.slow
def test_what_is_typed_and_not_asked_survives_a_reload(desk: Desk) -> None:
    known = question_id(desk.ask(NURSES))
    draft = "SELECT marital, count(*) FROM release GROUP BY marital"
    reply = desk.client.post(f"/ask/draft/{known}", {"changed": "sql", "sql": draft}, htmx=True)
    assert reply.status == 200
    assert typed(desk.client.get(f"/ask/answer/{known}")) == draft


@pytest.mark.slow
def test_long_answers_are_kept_for_the_last_questions_only(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from countveil.web.analyst import state

    monkeypatch.setattr(state, "_LONG", 1)
    monkeypatch.setattr(state, "_MOST_LONG", 2)
    first = question_id(desk.ask(NURSES))
    for _ in range(2):
        page = desk.ask("SELECT marital, count(*) FROM release GROUP BY marital")
    assert len(cells(page)) == 5
    page = desk.client.get(f"/ask/answer/{first}")
    assert "is no longer kept. Ask again." in page.text
    assert typed(page) == NURSES
    assert desk.client.get(f"/ask/export/{first}/csv").status == 400


def test_nothing_of_a_question_is_in_an_address(desk: Desk) -> None:
    reply = desk.client.post(f"/ask/question/{desk.id}", {"sql": NURSES})
    assert re.fullmatch(r"/ask/answer/[0-9a-f]{16}(#answer)?", reply.headers["location"])
    page = desk.settled(reply)
    for address in re.findall(r'(?:href|action|hx-post|hx-get|src)="([^"]*)"', page.text):
        assert "nurse" not in address
        assert "gender" not in address


@pytest.mark.slow
def test_two_tabs_ask_at_once(desk: Desk) -> None:
    queries = [
        f"SELECT gender, count(*) FROM release WHERE age > {n} GROUP BY 1" for n in range(12)
    ]
    pages: dict[str, Reply] = {}

    def ask(sql: str) -> None:
        pages[sql] = desk.ask(sql)

    threads = [threading.Thread(target=ask, args=(sql,)) for sql in queries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    release = cv.open(desk.folder)
    for sql in queries:
        expected = [readable(cell.estimate) for cell in release.sql(sql).estimates]
        assert [row[1] for row in cells(pages[sql])] == expected


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Questions about the age of 99 take until the event is set."""
    go = threading.Event()
    ask = cv.Release.sql

    def waits(self: Any, query: str, **options: Any) -> Any:
        if "99" in query:
            go.wait(30)
        return ask(self, query, **options)

    monkeypatch.setattr(cv.Release, "sql", waits)
    return go


def test_a_long_question_blocks_no_other_page_and_can_be_given_up(
    desk: Desk, slow: threading.Event
) -> None:
    desk.ask(NURSES)
    sql = "SELECT count(*) FROM release WHERE age < 99"
    reply = desk.client.post(f"/ask/question/{desk.id}", {"sql": sql})
    page = desk.client.followed(reply)
    assert 'id="running"' in page.text
    known = reply.headers["location"].rsplit("/", 1)[1]
    assert desk.first("release").status == 200
    assert desk.first("columns").status == 200
    page = desk.client.followed(desk.client.post(f"/ask/give-up/{known}"))
    assert "You gave this question up." in page.text
    assert typed(page) == sql
    # The next question does not wait for it.
    assert len(cells(desk.ask(NURSES))) == 2
    assert not slow.is_set()
    slow.set()
    # What it would have answered is not heard any more.
    assert "You gave this question up." in desk.client.get(f"/ask/answer/{known}").text


@pytest.mark.slow
def test_a_question_that_waits_and_is_given_up_disturbs_no_other(
    desk: Desk, slow: threading.Event
) -> None:
    desk.ask(NURSES)
    first = desk.client.post(
        f"/ask/question/{desk.id}", {"sql": "SELECT count(*) FROM release WHERE age < 99"}
    )
    second = desk.client.post(f"/ask/question/{desk.id}", {"sql": NURSES})
    known = second.headers["location"].rsplit("/", 1)[1]
    assert 'id="running"' in desk.client.followed(second).text
    desk.client.post(f"/ask/give-up/{known}")
    slow.set()
    assert len(cells(desk.settled(first))) == 1
    assert "You gave this question up." in desk.client.get(f"/ask/answer/{known}").text


def test_duckdb_is_interrupted_when_a_question_is_given_up(desk: Desk) -> None:
    """A question that DuckDB computes ends soon, and with the error of an interrupt."""
    release = cv.open(desk.folder)
    release.count()
    table: Any = release.table
    raised: list[BaseException] = []

    def compute() -> None:
        try:
            table._run("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b", ())
        except BaseException as error:  # noqa: BLE001 - which one is what is tested
            raised.append(error)

    thread = threading.Thread(target=compute, daemon=True)
    thread.start()
    for _ in range(200):
        release.interrupt()
        thread.join(0.05)
        if not thread.is_alive():
            break
    assert [type(error) for error in raised] == [KeyboardInterrupt]
