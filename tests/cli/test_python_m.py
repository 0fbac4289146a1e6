"""`python -m countveil` is the command line, for environments whose scripts are not on the path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import countveil as cv
from tests.robustness.tools import PATIENCE


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


@pytest.mark.slow
def test_the_next_step_is_one_that_works_here(tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    table.write_text("town,job\n" + "".join(f"t{i % 3},{'abc'[i % 3]}\n" for i in range(90)))
    release = str(tmp_path / "release")
    words = ("publish", str(table), "-s", "job:2", "--keep", "town", "--keep", "job", "--to")
    done = run(*words, release, PATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert f"Next: python -m countveil show {release}" in done.stdout


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("words", "code"), [(["--version"], 0), (["show", "nowhere"], 1), (["--nothing"], 2)]
)
def test_what_was_registered_for_the_end_is_done(words: list[str], code: int) -> None:
    """The command leaves without unloading libraries, after everything else that an exit does."""
    text = (
        "import atexit, sys\n"
        "atexit.register(print, 'registered')\n"
        f"sys.argv = ['countveil', *{words!r}]\n"
        "from countveil.cli.entry import command\n"
        "command()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == code
    assert done.stdout.endswith("registered\n")
    assert bool(done.stderr) == (code != 0)
