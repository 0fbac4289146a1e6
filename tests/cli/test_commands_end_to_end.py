"""The commands as a person uses them, one after the other, in an empty folder."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import countveil as cv
from countveil.cli.commands.demo import QUESTIONS, plant
from countveil.randomness import Randomness
from tests.robustness.conftest import Quick

COMMAND = Path(sys.executable).with_name("countveil")


Says = Callable[..., str]


def run(folder: Path, *words: object) -> str:
    done = subprocess.run(
        [COMMAND, *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"COLUMNS": "80", "PATH": f"{COMMAND.parent}:/usr/bin:/bin", "LANG": "C.UTF-8"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def says(quick: Quick, tmp_path: Path) -> Says:
    """What the command prints, without the time it takes to start."""

    def ask(*words: object, warns: str = "") -> str:
        done = quick(*map(str, words), cwd=tmp_path)
        assert done.code == 0, done.err
        assert (warns in done.err) if warns else (done.err == "")
        return done.out

    return ask


@pytest.mark.slow
def test_the_demo_fits_a_terminal_and_hides_the_tiny_group(tmp_path: Path) -> None:
    out = run(tmp_path, "demo", "--rows", 20_000)
    too_wide = [line for line in out.splitlines() if len(line) > 80]
    assert not too_wide, "countveil is on the PATH, so no line depends on where it is installed"
    for words, _ in QUESTIONS:
        assert words.split()[0] in out
    planted = next(line for line in out.splitlines() if "Iceland" in line)
    assert planted.split()[-1] == "hidden"
    assert " 5 " in planted
    assert "countveil-demo/release" in out
    assert cv.verify(tmp_path / "countveil-demo" / "release") == []
    assert "Try next" in run(tmp_path, "demo", "--rows", 20_000), "a second time in the same place"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_tiny_group_is_hidden_whatever_is_drawn(tmp_path: Path, seed: int) -> None:
    """n is 5, so every possible estimate has an error of at least 89% of what is possible."""
    census = plant(cv.generate(5_000, seed=seed), Randomness(seed).stream("plant"))
    for number in range(6):
        release = cv.publish(census, {"occupation": 5}, tmp_path / str(number), again=True)
        found = release.count(QUESTIONS[-1][1])
        assert found.verdict == "hidden"


@pytest.mark.slow
def test_planting_makes_exactly_five(tmp_path: Path) -> None:
    census = plant(cv.generate(30_000, seed=1), Randomness(1).stream("plant"))
    release = cv.publish(census, {"salary": 2}, tmp_path / "release")
    women = "gender = 'F' AND age = 70 AND country = 'Iceland'"
    assert release.count(women).estimate == 5
    assert release.count(women + " AND occupation = 'watchmaker'").estimate == 5


def test_from_a_table_to_an_answer(says: Says) -> None:
    says("generate", "--rows", 3_000, "--to", "census.csv", "--seed", 1)
    told = json.loads(
        says("publish", "census.csv", "-s", "occupation:5", "-s", "salary", "--ell", 3,
             "--to", "release", "--residue", "drop", "--format", "json",
             warns="'occupation' and 'salary' are associated")
    )  # fmt: skip
    assert set(told) == {"release", "rows", "ell", "dropped", "seconds"}
    assert told["release"] == "release"
    assert told["ell"] == {"occupation": 5, "salary": 3}
    assert told["rows"] + told["dropped"] == 3_000
    assert told["rows"] % 15 == 0
    query = "SELECT gender, count(*) FROM release WHERE occupation = 'nurse' GROUP BY gender"
    answer = json.loads(says("query", "release", query, "--format", "json"))
    keys = ["gender", "estimate", "std_error", "low", "high", "verdict"]
    assert [list(row) for row in answer] == [keys, keys]
    rows = list(csv.reader(io.StringIO(says("query", "release", query, "--format", "csv"))))
    assert rows[0] == keys
    assert len(rows) == 3
    several = "SELECT count(*) AS n, avg(age) AS mean FROM release"
    (both,) = json.loads(says("query", "release", several, "--format", "json"))
    assert list(both) == [f"{name}_{key}" for name in ("n", "mean") for key in keys[1:]]
    assert "occupation" in says("show", "release")
    assert json.loads(says("show", "release", "--format", "json"))["rows"] == told["rows"]
    assert "sound" in says("verify", "release")
    assert json.loads(says("verify", "release", "--format", "json")) == []


@pytest.mark.slow
def test_a_seeded_release_says_so_on_the_screen(says: Says) -> None:
    says("generate", "--rows", 500, "--to", "census.parquet")
    words = ("publish", "census.parquet", "-s", "occupation:3", "--to", "release")
    assert "SEEDED" in says(*words, "--seed", 987_654)
    shown = says("show", "release")
    assert "SEEDED" in shown
    assert "987" not in shown
    assert "SEEDED" not in says(*words, "--force", "--again")
