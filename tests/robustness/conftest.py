"""Tables and releases that many tests read; none of them changes one."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import countveil as cv
from tests.robustness.tools import LARGE_ROWS, ROOT, Outcome, run, small_csv

Quick = Callable[..., Outcome]


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what is made once."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="session")
def small(kept: Path) -> Path:
    """A small table as CSV."""
    path = kept / "small.csv"
    path.write_text(small_csv())
    return path


@pytest.fixture(scope="session")
def large(kept: Path) -> Path:
    """A table that takes a second to publish."""
    path = kept / "large.parquet"
    cv.generate(LARGE_ROWS, path, seed=1)
    return path


@pytest.fixture(scope="session")
def published(kept: Path, small: Path) -> Path:
    """A release of the small table. Only to be read."""
    target = kept / "published"
    assert run("publish", small, "-s", "job:5", "--keep", "row", "--to", target).code == 0
    return target


@pytest.fixture
def release(published: Path, tmp_path: Path) -> Path:
    """A release of the small table, to be changed at will."""
    return Path(shutil.copytree(published, tmp_path / "release"))


@pytest.fixture(scope="session")
def quick() -> Quick:
    """Runs the command like `run`, in a child of a process that has done its imports."""
    return _warm()


@functools.cache
def _warm() -> Quick:
    """One such process for all who ask, in whatever folder their tests are."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.robustness.warm_command"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    questions, answers = server.stdin, server.stdout
    assert questions is not None
    assert answers is not None

    def ask(*words: str | os.PathLike[str], cwd: Path = ROOT) -> Outcome:
        questions.write(json.dumps([os.fspath(word) for word in (cwd, *words)]) + "\n")
        questions.flush()
        return Outcome(*json.loads(answers.readline()))

    def end() -> None:
        questions.close()
        server.wait()
        answers.close()

    atexit.register(end)
    return ask
