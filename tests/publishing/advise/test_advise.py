"""`advise` from end to end: the command, Python, refusals, hostile values."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.maths.groups import largest_ell
from countveil.publishing.advise.adviser import feasible_ells
from countveil.publishing.advise.figures import figures_of
from tests.robustness.conftest import Quick, quick  # noqa: F401 - a fixture
from tests.robustness.tools import assert_refused, unchanged


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("advise") / "census.parquet"
    cv.generate(3_000, path, seed=1)
    return path


@pytest.mark.slow
def test_the_command_prints_figures_and_a_recommendation(quick: Quick, census: Path) -> None:  # noqa: F811
    with unchanged(census.parent):
        outcome = quick(
            "advise",
            census,
            "-s",
            "education",
            "--accuracy",
            "1%:20%",
            "--hide",
            "5",
            "--seed",
            "1",
        )
    assert (outcome.code, outcome.err) == (0, "")
    *text, line = outcome.out.splitlines()
    assert max(map(len, text)) <= 80
    assert line.endswith(" --to release")
    said = " ".join(outcome.out.split())
    for words in ("Expected relative error", "0.1%", "hidden up to", "condition", "candidates"):
        assert words in said
    for words in ("Recommendation: ", "is not feasible", "they are based on this many predicates"):
        assert words in said
    for words in ("side by side", "mean belief", "over bound", "random"):
        assert words in said


@pytest.mark.slow
def test_formats_agree_with_python(quick: Quick, census: Path) -> None:  # noqa: F811
    words = ("advise", census, "-s", "education", "--accuracy", "2%:10%", "--seed", "3")
    found = json.loads(quick(*words, "--format", "json").out)["education"]
    lines = list(csv.DictReader(io.StringIO(quick(*words, "--format", "csv").out)))
    advice = cv.advise(census, "education", accuracy=(0.02, 0.1), seed=3)["education"]
    assert [line["ell"] for line in found["lines"]] == [line.ell for line in advice.lines]
    mixed = [shown for shown in lines if shown["method"] == "mixed"]
    assert lines[: len(mixed)] == mixed
    for line, text, shown in zip(advice.lines, found["lines"], mixed, strict=True):
        assert text["errors"]["0.02"] == line.errors[0.02]
        assert shown["error_2%"] == ("" if line.errors[0.02] is None else str(line.errors[0.02]))
        assert float(shown["condition"]) == line.condition
    assert found["recommendation"]["ell"] == advice.recommendation.ell
    assert len(found["methods"]) == len(advice.methods) == len(lines)
    (taken,) = [shown for shown in lines if shown["recommended"] == "True"]
    chosen = advice.recommendation
    assert (taken["method"], taken["ell"]) == (chosen.method, str(chosen.ell))
    assert f"-s education:{chosen.ell} " in found["publish"]
    assert str(cv.advise(census, ["education"], seed=3)).count("Recommendation: ") == 1


def test_figures_go_the_way_they_must(census: Path) -> None:
    counts = pq.read_table(census)["occupation"].value_counts().field("counts").to_numpy()
    lines = [figures_of(counts, ell, None, ()) for ell in feasible_ells(largest_ell(counts), 50)]
    assert len(lines) > 8
    for name in ("odds_rarest", "odds_median", "odds_most_frequent"):
        numbers = [getattr(line, name) for line in lines]
        assert numbers == sorted(numbers, reverse=True)
    for name in ("condition", "candidates"):
        numbers = [getattr(line, name) for line in lines]
        assert numbers == sorted(numbers)
    assert all(line.candidates <= 50 for line in lines if line.candidates)


@pytest.mark.slow
def test_every_feasible_ell_has_a_line(census: Path) -> None:
    table = pq.read_table(census)
    counts = table["marital"].value_counts().field("counts").to_numpy()
    advice = cv.advise(table, "marital", seed=1)["marital"]
    assert [line.ell for line in advice.lines] == list(range(2, largest_ell(counts) + 1))


def test_of_many_feasible_ells_some_have_a_line() -> None:
    assert feasible_ells(1, 50) == []
    assert feasible_ells(47, 50) == [*range(2, 21), 25, 30, 40, 47]
    assert feasible_ells(12, 500) == [2, 3, 5, 8, 10, 12]


@pytest.mark.slow
def test_a_skewed_column_is_told_what_remedies_cost() -> None:
    values = ["healthy"] * 700 + [f"ill {number % 6}" for number in range(300)]
    table = pa.table({"x": [row % 7 for row in range(1_000)], "health": values})
    advice = cv.advise(table, "health", seed=1)["health"]
    assert advice.lines == []
    assert {line.method for line in advice.methods} == {"common", "random"}
    assert advice.recommendation.method in ("common", "random")
    said = " ".join([advice.larger, *advice.notes])
    assert "'healthy' has 700 of 1,000 rows (70.0%)" in said
    assert "Removing 400 rows" in advice.larger
    assert all(word in said for word in ("merge=...", "domain=...", "smaller ell"))


def test_a_table_without_other_columns_still_gets_its_odds() -> None:
    table = pa.table({"job": ["a", "b", "c", "d"] * 50})
    advice = cv.advise(table, "job", seed=1)["job"]
    assert [line.ell for line in advice.lines] == [2, 3, 4]
    assert all(error is None for line in advice.lines for error in line.errors.values())
    assert advice.lines[0].odds_rarest == pytest.approx(3)


def test_refusals(quick: Quick, census: Path, tmp_path: Path) -> None:  # noqa: F811
    assert_refused(quick("advise", census, "-s", "ocupation"), "ocupation", "'occupation'")
    assert_refused(quick("advise", census, "-s", "education", "--accuracy", "much"), "1%:10%")
    assert_refused(
        quick("advise", census, "-s", "education", "--accuracy", "200%:10%"), "between 0 and 1"
    )
    assert_refused(quick("advise", census, "-s", "education", "--hide", "0"), "at least 1")
    assert_refused(quick("advise", tmp_path / "none.csv", "-s", "x"), "There is no file")
    (tmp_path / "empty.csv").write_text("a,b\n")
    assert_refused(quick("advise", tmp_path / "empty.csv", "-s", "a"), "no rows")
    numbers = written_numbers(tmp_path)
    assert_refused(quick("advise", numbers, "-s", "income"), "--bins income")


@pytest.mark.slow
def test_numbers_in_classes_are_advised(quick: Quick, tmp_path: Path) -> None:  # noqa: F811
    binned = quick("advise", written_numbers(tmp_path), "-s", "income", "--bins", "income=q10")
    assert binned.code == 0


def written_numbers(folder: Path) -> Path:
    numbers = pa.table({"income": [float(row) for row in range(500)], "x": [1, 2] * 250})
    pq.write_table(numbers, folder / "numbers.parquet")
    return folder / "numbers.parquet"


def test_nothing_in_a_value_steers_the_terminal(quick: Quick, tmp_path: Path) -> None:  # noqa: F811
    evil = "\x1b[31mred\x1b[0m [bold]x[/bold]"
    values = [evil] * 60 + ["b", "c", "d"] * 20
    pq.write_table(pa.table({"x": [1, 2] * 60, "\x1b]0;t\x07job": values}), tmp_path / "t.parquet")
    outcome = quick("advise", tmp_path / "t.parquet", "-s", "\x1b]0;t\x07job")
    assert outcome.code == 0
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", outcome.out)
    assert "[bold]" in outcome.out
