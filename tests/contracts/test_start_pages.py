"""The pages for newcomers: commands run, figures are right, pictures are what the code draws."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import countveil as cv
from countveil.asking.questions.counting import DEFAULT_WITHIN
from countveil.maths.bounds import HIDDEN_ABOVE
from docs.concepts.pictures import FIGURES, PICTURES
from docs.start import demo_picture
from tests.robustness.conftest import Quick

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CONCEPTS = sorted((DOCS / "concepts").glob("*.md"))
# About twenty words, and a page of README.
WORDS, LINES = range(18, 36), 60


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), flags=re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["publish", "ask"])
def test_the_commands_run_one_after_the_other(
    name: str, tmp_path: Path, quick: Quick, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [
        line for block in blocks(DOCS / f"start/{name}.md", "sh") for line in block.split("\n")
    ]
    commands = [shlex.split(line) for line in lines if line]
    assert len(commands) >= 5
    for command, *words in commands:
        assert command == "countveil"
        outcome = quick(*words, cwd=tmp_path)
        assert outcome.code == 0, outcome.err
        assert outcome.out
    assert cv.open(tmp_path / "census-release").rows == 20_000


@pytest.mark.parametrize("page", CONCEPTS, ids=lambda page: page.stem)
def test_a_concept_has_one_picture_that_is_drawn_by_us(page: Path) -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text())
    assert pictures == [f"figures/{page.stem}.svg"]
    assert (FIGURES / f"{page.stem}.svg").read_text() == PICTURES[page.stem](), "run `make docs`"


def test_every_concept_has_a_page() -> None:
    assert {page.stem for page in CONCEPTS} == set(PICTURES)


def test_pictures_load_nothing() -> None:
    for path in (*FIGURES.glob("*.svg"), demo_picture.FILE):
        text = path.read_text().replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert "//" not in text
        assert "<script" not in text
        assert "prefers-color-scheme:dark" in text


@pytest.mark.slow
def test_the_picture_of_the_demo_is_what_it_prints() -> None:
    text = demo_picture.demo_text()
    assert demo_picture.FILE.read_text() == demo_picture.demo_picture(text), "run `make docs`"


def test_the_code_of_the_concepts_runs() -> None:
    found: dict[str, Any] = {}
    for page in CONCEPTS:
        for block in blocks(page, "python"):
            exec(block, found)
    count = found["counts"].reliable_from()
    assert f"counts.reliable_from()  # {count}\n" in (DOCS / "concepts/ell.md").read_text()


def test_the_verdicts_are_those_of_the_page() -> None:
    page = (DOCS / "concepts/verdict.md").read_text()
    verdicts = re.findall(r"^\| `(\w+)` \| (?:[^|\d]*)(\d+%)?", page, re.MULTILINE)
    bounds = [f"{DEFAULT_WITHIN:.0%}", "", f"{HIDDEN_ABOVE:.0%}"]
    assert verdicts == list(zip(["reliable", "indicative", "hidden"], bounds, strict=True))


def test_the_readme_is_a_page_and_the_glossary_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= LINES
    words = re.findall(
        r"^\| (?!word|---)", (DOCS / "reference/glossary.md").read_text(), re.MULTILINE
    )
    assert len(words) in WORDS


def test_the_questions_that_people_ask_are_answered() -> None:
    page = (DOCS / "reference/faq.md").read_text()
    asked = [part.split("\n", 1) for part in page.split("\n## ")[1:]]
    assert len(asked) >= 12
    for question in (
        "Is this differential privacy?", "Which ell?", "Can I publish again?",
        "What do I tell my lawyer?",
    ):  # fmt: skip
        assert question in [title for title, _ in asked]
    assert all(len(answer.split()) < 140 for _, answer in asked)


def test_the_answer_about_differential_privacy_is_that_of_the_promise() -> None:
    promise = " ".join((DOCS / "guides/promise.md").read_text().replace("\n> ", " ").split())
    answer = " ".join((DOCS / "reference/faq.md").read_text().split())
    for said in (
        "epsilon-locally differentially private in the protected value of one row",
        "the declared values, gamma and ell were fixed without looking at the table",
    ):
        assert said in promise
        assert said in answer
