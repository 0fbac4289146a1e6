"""A release of format version 1, kept: every later version must open it and answer the same."""

from __future__ import annotations

from pathlib import Path

import countveil as cv
from countveil.release import Manifest, read_manifest

GOLDEN = Path(__file__).parent / "golden-v1"


def test_the_golden_release_is_sound() -> None:
    assert cv.verify(GOLDEN) == []


def test_the_golden_release_answers() -> None:
    release = cv.open(GOLDEN)
    assert release.rows == 400
    assert release.ell == {"occupation": 3, "salary": 2}
    found = release.sql("SELECT gender, count(*) FROM release GROUP BY gender")
    assert [row[:2] for row in found.rows()] == [("F", 185.0), ("M", 215.0)]
    assert release.count(occupation="nurse").estimate == 11.0
    assert release.count(salary=None).estimate == 0.0


def test_a_manifest_survives_reading_and_writing() -> None:
    text = (GOLDEN / "manifest.json").read_text()
    assert Manifest.from_json(text).to_json() == text
    assert read_manifest(GOLDEN).randomness == "seeded"
