"""`countveil guarantee`: formats, pictures, refusals."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from countveil.maths.guarantees.odds import gamma_for, noised_std_error
from tests.robustness.conftest import Quick, quick  # noqa: F401 - a fixture
from tests.robustness.tools import assert_refused

UTILITY = ("guarantee", "utility", "--ell", "10")
PRIVACY = ("guarantee", "privacy", "--ell", "10")


def test_the_papers_examples(quick: Quick) -> None:  # noqa: F811
    outcome = quick(*UTILITY, "--error", "0.2", "--probability", "0.02", "--format", "json")
    lines = {line["way"]: line for line in json.loads(outcome.out)}
    assert [lines[way]["count"] for way in ("exact", "chebyshev", "printed")] == [126, 1125, 11]
    assert lines["printed"]["truly"] == pytest.approx(0.427, abs=5e-4)
    outcome = quick(*PRIVACY, "--count", "5", "--error", "0.3", "--format", "csv")
    first = next(csv.DictReader(io.StringIO(outcome.out)))
    assert float(first["probability"]) == pytest.approx(0.4801, abs=5e-5)
    shown = quick(*PRIVACY, "--count", "5", "--error", "0.3")
    assert (shown.code, shown.err) == (0, "")
    assert "0.4801" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80


def test_predicates(quick: Quick) -> None:  # noqa: F811
    predicate = ("--rows", "100000", "--size", "20000", "--share", "0.02")
    outcome = quick(*UTILITY, *predicate, "--count", "1500", "--error", "0.5")
    assert "from 1," in outcome.out or "for no count of it" in outcome.out
    assert "'hidden' (more than 50%) below" in " ".join(outcome.out.split())
    assert_refused(quick(*UTILITY, *predicate[:4], "--count", "5", "--error", "0.5"), "--share")


def test_bounded_odds(quick: Quick) -> None:  # noqa: F811
    noise = ("--odds", "20", "--values", "50")
    whole = (*UTILITY[:3], "5", *noise, "--rows", "100000", "--error", "0.1", "--probability")
    outcome = quick(*whole, "0.05", "--format", "json")
    lines = {line["way"]: line for line in json.loads(outcome.out)}
    count = lines["normal"]["count"]
    # By hand: gamma, the noise of all rows and the draw of the noised ones.
    gamma = gamma_for(20, 50, 5)
    assert noised_std_error(count, 100_000, 5, gamma, 50) * 1.96 == pytest.approx(
        0.1 * count, rel=1e-3
    )
    shown = " ".join(quick(*whole, "0.05").out.split())
    assert f"gamma = {gamma:.6g}" in shown
    assert "at most 20, and the whole release" in shown
    assert "there is no 'exact' line" in shown
    predicate = ("--rows", "100000", "--size", "20000", "--share", "0.02", "--count", "600")
    plain, noised = (
        float(
            next(csv.DictReader(io.StringIO(quick(*words, "--format", "csv").out)))["probability"]
        )
        for words in (
            (*PRIVACY, *predicate, "--error", "0.3"),
            (*PRIVACY, *predicate, "--error", "0.3", *noise),
        )
    )
    assert noised > plain
    for words, fragment in (
        (("--odds", "20"), "how many values are declared"),
        (("--odds", "1", "--values", "50"), "above 1"),
        (("--values", "50"), "--values is for --odds"),
        (("--groups", "together", *noise), "published apart"),
    ):
        asked = (*PRIVACY, "--rows", "1000", "--count", "5", "--error", "0.3", *words)
        if fragment.startswith("--values"):
            asked = (*PRIVACY, "--count", "5", "--error", "0.3", *words)
        assert_refused(quick(*asked), fragment)
    assert_refused(quick(*PRIVACY, "--count", "5", "--error", "0.3", *noise), "give --rows")


def test_combinations(quick: Quick) -> None:  # noqa: F811
    predicate = ("--rows", "100000", "--size", "20000", "--share", "0.002", "--count", "50")
    words = (*PRIVACY[:3], "4", *predicate, "--error", "0.3")
    random, together = (quick(*words, "--groups", groups) for groups in ("random", "together"))
    assert random.out.partition("Random groups")[0] == together.out.partition("Columns to")[0]
    assert "a published combination of this share with probability 0.252" in " ".join(
        together.out.split()
    )


@pytest.mark.slow
def test_pictures(quick: Quick, tmp_path: Path) -> None:  # noqa: F811
    for words in ((*UTILITY, "--probability", "0.02"), (*PRIVACY, "--count", "5")):
        target = tmp_path / "figure.svg"
        assert quick(*words, "--error", "0.3", "--plot", target).code == 0
        assert target.read_text().startswith("<svg ")
        target.unlink()
    asked = (*PRIVACY, "--count", "5", "--error", "0.3", "--plot")
    assert_refused(quick(*asked, tmp_path / "figure.png"), "ends in .svg")
    assert_refused(quick(*asked, tmp_path / "none" / "figure.svg"), "no folder")
    assert not list(tmp_path.iterdir())


def test_refusals(quick: Quick) -> None:  # noqa: F811
    for words, fragment in (
        (("guarantee", "utility", "--ell", "1", "--count", "5", "--error", "0.1"), "from 2 to"),
        ((*UTILITY, "--count", "5"), "Give two of"),
        ((*UTILITY, "--count", "5", "--error", "20"), "20% is 0.2"),
        ((*UTILITY, "--count", "0", "--error", "0.2"), "count must be"),
        ((*PRIVACY, "--count", "5", "--probability", "0"), "probability must be"),
    ):
        assert_refused(quick(*words), fragment)
