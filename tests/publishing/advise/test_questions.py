"""A publisher's own questions: read, tried out, compared with the truth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import countveil as cv
from countveil.cli.app import app
from countveil.errors import InputError, SettingsError
from countveil.publishing.advise.predicates import askable
from countveil.publishing.advise.questions import read_questions, split_questions
from tests.strategies import examples

ROWS = 2_000
COUNT = "SELECT count(*) FROM release WHERE job = 'a' AND sex = 'F'"
GROUPS = "SELECT sex, count(*) FROM release WHERE job = 'h' GROUP BY sex"


def table() -> pa.Table:
    rng = np.random.default_rng(4)
    shares = np.array([15, 15, 14, 14, 13, 12, 10, 7]) / 100
    return pa.table({
        "job": rng.choice(list("abcdefgh"), ROWS, p=shares),
        "sex": rng.choice(["F", "M"], ROWS),
        "region": rng.choice(["n", "s", "e", "w"], ROWS),
        "same": ["x"] * ROWS,
        "nearly": ["y"] * (ROWS - 3) + ["z"] * 3,
        "person_id": [f"P{n:05d}" for n in range(ROWS)],
    })  # fmt: skip


@given(st.lists(st.sampled_from(["SELECT 1", "select ';'", 'SELECT "a;b"', "x -- ; y\n z"])))
@examples(40)
def test_semicolons_separate_and_quotes_protect(parts: list[str]) -> None:
    found = split_questions("/* first; */\n" + ";\n".join(parts))
    expected = [part.replace("-- ; y\n", " \n") for part in parts]
    assert [" ".join(text.split()) for text in found] == [" ".join(e.split()) for e in expected]


def test_questions_come_from_lists_texts_and_files(tmp_path: Path) -> None:
    file = tmp_path / "questions.sql"
    file.write_text(f"-- counts\n{COUNT};\n\n{GROUPS};\n")
    assert read_questions(file) == read_questions(str(file)) == (COUNT, GROUPS)
    assert read_questions([COUNT, f"{GROUPS};"]) == (COUNT, GROUPS)
    assert read_questions(f"{COUNT};{GROUPS}") == (COUNT, GROUPS)
    with pytest.raises(InputError, match="cannot be read"):
        read_questions(tmp_path / "nothing.sql")
    file.write_text("-- nothing\n;")
    with pytest.raises(SettingsError, match="no question"):
        read_questions(file)


@pytest.mark.slow
def test_each_question_is_measured_and_a_refused_one_says_why() -> None:
    wrong = "SELECT count(*) FROM release WHERE jobb = 'a'"
    advice = cv.advise(table(), "job", questions=[COUNT, wrong, GROUPS], seed=1)
    count, refused, groups = advice.questions
    assert refused.refused is not None
    assert "'jobb'" in refused.refused
    assert not refused.figures
    assert (count.answers, groups.answers) == (1, 2)
    assert [line.ell for line in count.figures] == [2, 3, 4, 5, 6]
    errors = [line.error for line in groups.figures]
    assert errors[0] is not None
    assert errors[-1] is not None
    assert errors[0] < errors[-1]
    for question in (count, groups):
        for line in question.figures:
            assert line.reliable + line.indicative + line.hidden == pytest.approx(question.answers)
            # Ten releases at 95%: five or fewer that hold the truth have a chance below 1e-4.
            assert line.coverage is not None
            assert line.coverage >= 0.5
    assert count.recommended is None or count.recommended in (2, 3, 4, 5, 6)
    text = str(advice)
    assert COUNT in text
    assert "Refused: There is no column 'jobb'" in text


@pytest.mark.slow
def test_the_truth_is_that_of_the_table() -> None:
    """At the true values every error would be 0: a question without sensitive columns shows it."""
    advice = cv.advise(
        table(), "job", questions=["SELECT sex, count(*) FROM release GROUP BY sex"], seed=1
    )
    for line in advice.questions[0].figures:
        assert line.error == 0
        assert line.coverage == 1
    assert advice.questions[0].recommended == advice.questions[0].figures[-1].ell


@pytest.mark.slow
def test_the_command_line_reads_a_file(tmp_path: Path) -> None:
    source, file = tmp_path / "in.csv", tmp_path / "questions.sql"
    pa.csv.write_csv(table(), source)
    file.write_text(f"{COUNT};")
    words = ["advise", str(source), "-s", "job", "--drop", "person_id", "--seed", "1"]
    words += ["--questions", str(file)]
    done = CliRunner().invoke(app, [*words, "--format", "json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["questions"][0]["question"] == COUNT
    assert found["questions"][0]["figures"][0]["ell"] == 2
    shown = CliRunner().invoke(app, words)
    assert "interval holds" in shown.stdout


@pytest.mark.slow
def test_random_questions_are_about_what_is_published_and_varies() -> None:
    advice = cv.advise(table(), "job", seed=1)
    assert set(advice["job"].asked_about) == {"sex", "region"}
    some = cv.advise(table(), "job", columns=["region"], seed=1)
    assert set(some["job"].asked_about) == {"region"}
    assert "about sex, region" in str(advice)


def test_columns_that_hardly_vary_are_not_asked_about() -> None:
    codes = {
        "even": np.arange(1_000) % 4,
        "constant": np.zeros(1_000, np.int64),
        "nearly": (np.arange(1_000) < 40).astype(np.int64),
        "some": (np.arange(1_000) < 60).astype(np.int64),
    }
    assert set(askable(codes, frozenset())) == {"even", "some"}
