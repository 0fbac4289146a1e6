"""`countveil audit` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import countveil as cv
from tests.robustness.tools import assert_refused, run


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("census") / "census.csv"
    assert run("generate", "--rows", "3000", "--to", path, "--seed", "1").code == 0
    return path


def test_a_plan_is_attacked_and_reported(census: Path, tmp_path: Path) -> None:
    words = ("audit", census, "-s", "occupation", "--ell", "4", "--attacks", "elimination")
    done = run(*words, "--format", "json", "--report", tmp_path / "audit.html")
    found = json.loads(done.out)
    # A false alarm has probability 1e-4; the code must agree with the verdicts either way.
    assert done.code == (0 if found["passed"] else 1)
    assert done.err == ""
    assert found["planned"]
    assert found["rows"] == found["linked"] == 3000
    names = {finding["adversary"] for finding in found["findings"]}
    assert names == {"elimination", "minimality"}
    page = (tmp_path / "audit.html").read_text()
    assert "<svg" in page
    assert "For the publisher" in page


def test_a_finished_release_is_attacked(census: Path, tmp_path: Path) -> None:
    release = tmp_path / "release"
    cv.publish(census, {"occupation": 4}, release, seed=3)
    words = ("audit", census, "-s", "occupation:4", "--release", release)
    done = run(*words, "--attacks", "implementation")
    assert done.code == 1, "a seeded release is flagged"
    assert "redo the draw from its seed" in done.out
    assert "exceeds" in done.out
    assert "do NOT hold" in done.out


def test_what_cannot_be_served_is_refused_in_one_paragraph(census: Path, tmp_path: Path) -> None:
    words = ("audit", census, "-s", "occupation", "--ell", "4")
    assert_refused(run(*words, "--attacks", "magic"), "no attack 'magic'", "linkage")
    assert_refused(run(*words, "--release", tmp_path), "not a release")
    assert_refused(run(*words, "--report", tmp_path / "no" / "a.html"), "no folder")
    assert_refused(run("audit", census, "-s", "occupation:40"), "not eligible")
    assert run("audit", census, "-s", "occupation").code == 2
