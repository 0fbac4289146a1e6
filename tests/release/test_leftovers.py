"""What a killed publication left is removed by the next one; what lives or is not ours stays."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import countveil as cv
from countveil.publishing.publications.record import RECORD_NAME
from countveil.report.whole_file import write_file
from tests.robustness.tools import names_in

KILLED = """
import os, signal, sys
import countveil as cv
from pathlib import Path

def die(stage, done, total):
    if stage == {stage!r}:
        os.kill(os.getpid(), signal.SIGKILL)

cv.publish(cv.generate(500, seed=1), {{"occupation": 3}}, sys.argv[1], progress=die,
           private_report=sys.argv[2])
"""


def leftover(place: Path, *inside: str) -> Path:
    place.mkdir()
    for name in inside:
        (place / name).write_text("x")
    return place


@pytest.mark.slow
def test_a_killed_publication_leaves_nothing_for_long(tmp_path: Path) -> None:
    program = KILLED.format(stage="measuring")
    words = [sys.executable, "-c", program, str(tmp_path / "one"), "own.html"]
    done = subprocess.run(words, check=False, cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL
    (left,) = names_in(tmp_path)
    assert left.startswith(".one.draft-")
    cv.publish(cv.generate(500, seed=1), {"occupation": 3}, tmp_path / "two")
    assert names_in(tmp_path) == [RECORD_NAME, "two"]


def test_a_private_report_that_was_not_finished_goes_too(tmp_path: Path) -> None:
    dead = tmp_path / ".own.html.pending-abcd1234"
    dead.write_text("true counts")
    cv.publish(cv.generate(500, seed=1), {"occupation": 3}, tmp_path / "two")
    assert not dead.exists()
    dead.write_text("true counts")
    write_file(tmp_path / "page.html", "text", "the page")
    assert names_in(tmp_path) == [RECORD_NAME, "page.html", "two"]


def test_what_lives_stays(tmp_path: Path) -> None:
    living = leftover(tmp_path / ".one.draft-abcd1234", "manifest.json")
    handle = os.open(living, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        cv.publish(cv.generate(500, seed=1), {"occupation": 3}, tmp_path / "two")
        assert living.exists()
    finally:
        os.close(handle)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [".one.draft-notes", "one.draft-abcd1234", ".draft-abcd1234"])
def test_other_names_stay(name: str, tmp_path: Path) -> None:
    other = leftover(tmp_path / name, "manifest.json")
    cv.publish(cv.generate(500, seed=1), {"occupation": 3}, tmp_path / "two")
    assert other.exists()


def test_other_content_stays(tmp_path: Path) -> None:
    mine = leftover(tmp_path / ".one.draft-abcd1234", "thesis.txt")
    elsewhere = leftover(tmp_path / "elsewhere", "manifest.json")
    (tmp_path / ".two.draft-abcd1234").symlink_to(elsewhere)
    # An old release, moved aside for a new one that never came to its place.
    aside = leftover(tmp_path / ".gone.draft-abcd1234.previous", "manifest.json")
    cv.publish(cv.generate(500, seed=1), {"occupation": 3}, tmp_path / "two")
    assert (mine / "thesis.txt").exists()
    assert (elsewhere / "manifest.json").exists()
    assert (aside / "manifest.json").exists()
