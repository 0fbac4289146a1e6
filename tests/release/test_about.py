"""Title, contact and day of publication: in the manifest, on the pages, and nowhere else."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import countveil as cv
from countveil.errors import ReleaseError, SettingsError
from countveil.release import About, Manifest, read_manifest
from tests.robustness.conftest import Quick

TABLE = pa.table({"ward": ["x", "y", "z"] * 200, "drug": ["a", "b", "c", "d"] * 150})
HOSTILE = "<script>alert(1)</script> [red]x[/red] 'quoted' \"too\""


def test_they_are_recorded_shown_and_verified(tmp_path: Path, quick: Quick) -> None:
    today = dt.datetime.now(dt.UTC).date()
    release = cv.publish(
        TABLE, {"drug": 2}, tmp_path / "release", title=HOSTILE, contact="drugs@example.org"
    )
    about = release.manifest.about
    assert about is not None
    assert (about.title, about.contact) == (HOSTILE, "drugs@example.org")
    # A day without a time; the clock may pass midnight while the test runs.
    assert dt.date.fromisoformat(about.published) - today in (dt.timedelta(0), dt.timedelta(1))
    assert cv.verify(release.folder) == []
    page = (release.folder / "report.html").read_text()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "drugs@example.org" in page
    assert about.published in page
    shown = quick("show", release.folder).out
    assert "Contact: drugs@example.org" in shown
    assert f"Published: {about.published}" in shown
    assert "[red]x[/red]" in shown


def test_without_them_nothing_is_recorded(tmp_path: Path) -> None:
    release = cv.publish(TABLE, {"drug": 2}, tmp_path / "release")
    assert release.manifest.about is None
    assert "about" not in json.loads((release.folder / "manifest.json").read_text())
    assert str(dt.datetime.now(dt.UTC).year) + "-" not in (
        (release.folder / "report.html").read_text()
    )


def test_the_command_takes_them(tmp_path: Path, quick: Quick) -> None:
    cv.generate(300, tmp_path / "census.csv", seed=1)
    words = ("publish", tmp_path / "census.csv", "-s", "salary:2", "--to", tmp_path / "release")
    assert quick(*words, "--title", "Pay", "--contact", "me").code == 0
    about = read_manifest(tmp_path / "release").about
    assert about is not None
    assert (about.title, about.contact) == ("Pay", "me")


@pytest.mark.parametrize("text", ["two\nlines", "\x1b[31mred", "\u202eright", "x" * 301])
def test_what_is_not_one_short_line_is_refused(tmp_path: Path, text: str) -> None:
    for option in ({"title": text}, {"contact": text}):
        with pytest.raises(SettingsError, match="one line"):
            cv.publish(TABLE, {"drug": 2}, tmp_path / "release", **option)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "about",
    [
        {"title": 3, "contact": "", "published": "2026-01-01"},
        {"title": "x", "contact": "", "published": "yesterday"},
        {"title": "x", "contact": "", "published": "2026-01-01 12:00"},
        {"title": "x" * 301, "contact": "", "published": "2026-01-01"},
        {"title": "x", "published": "2026-01-01", "path": "/home"},
        ["x"],
    ],
)
def test_a_manifest_with_anything_else_is_refused(tmp_path: Path, about: Any) -> None:
    release = cv.publish(TABLE, {"drug": 2}, tmp_path / "release", title="x")
    sound = replace(release.manifest, about=About("x", "", "2026-01-01"))
    assert Manifest.from_json(sound.to_json()) == sound
    content = json.loads(sound.to_json())
    del content["checksum"]
    content["about"] = about
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    content["checksum"] = hashlib.sha256(canonical.encode()).hexdigest()
    with pytest.raises(ReleaseError, match="malformed"):
        Manifest.from_json(json.dumps(content))
