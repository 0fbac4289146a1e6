"""`python -m countveil` is the command line, for environments whose scripts are not on the path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import countveil as cv


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "countveil", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_it_runs_a_command() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"countveil {cv.__version__}\n", "")


def test_exit_codes_are_those_of_the_command() -> None:
    assert run("show", "no-such-release").returncode == 1
    assert run("no-such-command").returncode == 2


def test_the_next_step_is_one_that_works_here(tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    table.write_text("town,job\n" + "".join(f"t{i % 3},{'abc'[i % 3]}\n" for i in range(90)))
    release = str(tmp_path / "release")
    words = ("publish", str(table), "-s", "job:2", "--keep", "town", "--keep", "job", "--to")
    done = run(*words, release, PATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert f"Next: python -m countveil show {release}" in done.stdout
