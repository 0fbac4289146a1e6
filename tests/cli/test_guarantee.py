"""`countveil guarantee`: formats, pictures, refusals."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

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
