"""The pages of play: what a link shows, whoever opens it, and what a wrong link gets."""

from __future__ import annotations

import ast
import html
import re
from pathlib import Path

import pytest

import countveil.web.play
from countveil.web.play.steps import STEPS, Step
from tests.web.client import Client
from tests.web.conftest import StartApp

PATHS = ["/play/", *(step.path for step in STEPS)]


@pytest.fixture
def client(start_app: StartApp) -> Client:
    client, sessions = start_app()
    client.enter(sessions.token)
    return client


def shown(text: str) -> str:
    """The words of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


@pytest.mark.few(3)
@pytest.mark.parametrize("path", PATHS)
def test_pages_hold_no_style_and_no_script_of_their_own(client: Client, path: str) -> None:
    reply = client.get(path)
    assert reply.status == 200
    assert not re.search(r"<style|\bstyle=|<script(?! src=)|\bon\w+=|hx-on|javascript:", reply.text)
    assert len(re.findall(r"<h1>", reply.text)) == 1
    ids = re.findall(r'\bid="([^"]+)"', reply.text)
    assert len(ids) == len(set(ids))


@pytest.mark.few(3)
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_every_picture_has_a_name_and_every_control_a_label(client: Client, step: Step) -> None:
    text = client.get(step.path).text
    pictures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len([one for one in pictures if "<title>" in one and "<desc>" in one]) == 1
    labelled = set(re.findall(r'<label for="([^"]+)"', text))
    controls = re.findall(r"<(?:input|select)(?![^>]*hidden)[^>]*>", text)
    assert controls
    assert {re.search(r'id="([^"]+)"', one)[1] for one in controls} <= labelled  # type: ignore[index]


@pytest.mark.slow
def test_the_pages_follow_each_other(client: Client) -> None:
    text = client.get("/play/?seed=12").text
    titles = []
    for _ in STEPS:
        onward = re.findall(r'<a class="button main" href="([^"]+)">(?:Begin|Next|To the)', text)
        assert len(onward) == 1
        assert "seed=12" in onward[0]
        text = client.get(html.unescape(onward[0])).text
        titles.append(re.findall(r"<h1>(.*?)</h1>", text)[0])
    assert titles == [step.title for step in STEPS]
    assert 'href="/play/?seed=12">To the contents' in text


def test_numbers_go_along(client: Client) -> None:
    text = html.unescape(client.get("/play/group?seed=7&ell=3&draw=2").text)
    assert 'href="/play/thousand?seed=7&ell=3&draw=2"' in text
    assert 'href="/play/adversary?seed=7&ell=3"' in text
    assert "/play/group?seed=7&ell=3&draw=3" in text
    assert "/play/group?seed=8&ell=3&draw=1" in text
    assert "<pre data-copy>/play/group?seed=7&ell=3&draw=2</pre>" in text


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["group", "thousand", "counts", "twins"])
def test_a_link_shows_everybody_the_same(start_app: StartApp, name: str) -> None:
    pages = []
    for seed in (21, 21, 22):
        client, sessions = start_app()
        client.enter(sessions.token)
        pages.append(client.get(f"/play/{name}?seed={seed}&ell=4").text)
    assert pages[0] == pages[1]
    assert re.findall("<svg.*</svg>", pages[0]) != re.findall("<svg.*</svg>", pages[2])


def test_what_is_said_is_what_was_drawn(client: Client) -> None:
    from countveil.web.play.group import group_of, many_draws, one_draw

    for draw in (1, 2, 3):
        people, drawn = group_of(4, 5), one_draw(4, 5, draw)
        words = shown(client.get(f"/play/group?draw={draw}").text)
        published = people[drawn[0]].occupation
        assert f"true occupation is {people[0].occupation} ." in words
        assert f"her row publishes {published}" in words
        assert ("by chance, the truth" in words) == (drawn[0] == 0)
    often = many_draws(4, 5, 1)
    words = shown(client.get("/play/thousand").text)
    assert f"came up in {often[0]} of 1,000 draws" in words
    for person, count in zip(group_of(4, 5), often, strict=True):
        assert f"{person.occupation}: {count}" in words


def test_an_onlooker_is_shown_no_truth(client: Client) -> None:
    from countveil.web.play.group import group_of, one_draw

    text = client.get("/play/thousand?seed=9").text
    table = text[text.index("What an onlooker sees") :]
    people, drawn = group_of(9, 5), one_draw(9, 5, 1)
    published = [people[source].occupation for source in drawn]
    rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)[1:]
    assert sorted(shown(row).replace(" Ada\u2019s row", "") for row in rows) == sorted(
        f"{person.gender} {person.age} {person.education} {value}"
        for person, value in zip(people, published, strict=True)
    )


def test_a_good_guess_is_not_stopped_and_the_page_says_so(client: Client) -> None:
    from countveil.web.play.guessing import guess_at

    words = shown(client.get("/play/adversary?guess=80&job=4&ell=5").text)
    assert f"now he believes it at {guess_at(4, 80, 5).shown:.0%}" in words
    assert "A good guess is not stopped. He believed it at 80% before" in words
    assert "over 99.9%" in shown(client.get("/play/adversary?guess=95&job=0&ell=2").text)


def test_a_hidden_answer_shows_its_interval_alone(client: Client) -> None:
    from countveil.web.play.sizes import answers

    text = client.get("/play/counts?size=2").text
    for question in answers(4, 5, 10_000).questions:
        row = next(one for one in re.findall("<tr>.*?</tr>", text) if question.name in one)
        assert f">{question.answer.verdict}<" in row
        assert ("<b>" in row) == (question.answer.verdict != "hidden")
    few = answers(4, 5, 10_000).questions[2].answer
    assert few.verdict == "hidden"
    assert f"{few.estimate:,.1f}" not in text


@pytest.mark.slow
def test_switches_break_it(client: Client) -> None:
    said = re.compile(r'id="said".*?</p>', re.DOTALL)

    def says(path: str) -> str:
        return shown(said.findall(client.get(path).text)[0])

    assert "as after one" in says("/play/again?ell=2&times=2")
    assert "each drawn anew" in says("/play/again?ell=2&times=2&anew=1")
    assert "about 1 in 2" in says("/play/twins?ell=2")
    assert "show the same occupation" in says("/play/twins?ell=2&apart=1")
    assert "Without the grade" in says("/play/giveaway")
    assert "reads the grade" in says("/play/giveaway?grade=1")


@pytest.mark.few(3)
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_a_part_has_all_that_changes(client: Client, step: Step) -> None:
    whole = client.get(step.path).text
    part = client.get(step.path, htmx=True).text
    assert "<html" not in part
    assert "<form" not in part
    for changing in ("carried", "said", "play-steps"):
        assert re.search(rf'id="{changing}"[^>]*hx-swap-oob|hx-swap-oob[^>]*id="{changing}"', part)
        assert f'id="{changing}"' in whole
    picture = re.findall("<svg.*</svg>", whole, re.DOTALL)[0]
    assert picture in part


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("ell=1", "ell must be a whole number from 2 to 10, got '1'. Without it, ell is 5."),
        ("ell=eleven", "got 'eleven'"),
        ("seed=0", "seed must be a whole number from 1 to 9999"),
        ("seed=1&seed=2", "'seed' is given twice"),
        ("value=nurse", "'value' means nothing here"),
        ("ell=%3Cscript%3E", "got '<script>'"),
    ],
)
def test_a_wrong_link_is_refused_and_says_what_works(
    client: Client, query: str, message: str
) -> None:
    for htmx in (False, True):
        reply = client.get(f"/play/group?{query}", htmx=htmx)
        assert reply.status == 400
        assert message in shown(reply.text) or message in html.unescape(reply.text)
        assert "<script>" not in reply.text


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS[:4], ids=lambda step: step.name)
def test_every_end_of_every_slider_answers(client: Client, step: Step) -> None:
    for number in step.numbers:
        for value in (number.low, number.high):
            link = f"{step.path}?{number.name}={value}"
            assert client.get(link).status == 200, link


def test_after_the_last_seed_comes_the_first(client: Client) -> None:
    text = html.unescape(client.get("/play/group?seed=9999&draw=9999").text)
    assert "/play/group?seed=1&ell=5&draw=1" in text
    assert "/play/group?seed=9999&ell=5&draw=1" in text


def test_play_knows_no_table_and_no_release() -> None:
    folder = Path(countveil.web.play.__file__).parent
    imported = {
        node.module
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module
    }
    assert "countveil.maths.mechanism" in imported
    kept_out = ("publishing", "tables", "engines", "asking", "release", "auditing", "web.publisher")
    assert not [
        one for one in imported if one.startswith(tuple(f"countveil.{k}" for k in kept_out))
    ]
