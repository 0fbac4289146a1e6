"""A column that is not eligible: the error ends with commands, and every one of them publishes."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import countveil as cv
from countveil import errors
from countveil.cli.app import app, with_optional_values
from countveil.errors import CountveilError

HOME, NEAR = "United States", 'O\'Land "x" $5'


@pytest.fixture(autouse=True)
def read_on_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(errors, "reader", "command line")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    rows = 3_000
    shares = np.array([0.55, 0.2, *[0.25 / 20] * 20])
    with Path("people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sex", "my country", "flag", "job"])
        countries = rng.choice([HOME, NEAR, *(f"c{n}" for n in range(20))], rows, p=shares)
        flags = rng.choice(["", "yes", "no", "often", "never"], rows, p=[0.6, *[0.1] * 4])
        jobs = rng.choice(list("abcdefgh"), rows)
        writer.writerows(zip(rng.choice(["F", "M"], rows), countries, flags, jobs, strict=True))


def refused(words: list[str]) -> str:
    done = CliRunner().invoke(app, with_optional_values(words))
    assert isinstance(done.exception, CountveilError), done.output
    return str(done.exception)


def commands(message: str) -> list[list[str]]:
    lines = message.partition("Commands that publish it:\n")[2].splitlines()
    split = [shlex.split(line) for line in lines]
    return [words[words.index("publish") :] for words in split]


CASES: dict[str, tuple[list[str], int]] = {
    "a text": (["-s", "my country:5"], 3),
    "with a smaller ell": (
        ["-s", "my country:5", "--where", f"\"my country\" <> '{HOME}'", "--keep", "my country"],
        4,
    ),
    "a missing value": (["-s", "flag:3", "--seed", "3"], 3),
    "too few values": (["-s", "flag", "--ell", "20"], 2),
    "beside others": (
        ["-s", "my country", "-s", "job:3", "--ell", "5", "--common", "job=auto", "--title", "It"],
        3,
    ),
    "one common value": (["-s", "my country:5", "--common", f"my country={HOME}"], 3),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_command_publishes(case: str) -> None:
    options, number = CASES[case]
    listed = commands(refused(["publish", "people.csv", *options, "--to", "release"]))
    assert len(listed) == number
    for place, line in enumerate(listed):
        line[line.index("--to") + 1] = f"release-{place}"
        done = CliRunner().invoke(app, with_optional_values([*line, "--again"]))
        assert done.exit_code == 0, (line, done.output, done.exception)
        assert cv.verify(Path(f"release-{place}")) == []


def test_the_four_ways_with_what_each_promises() -> None:
    message = refused(["publish", "people.csv", "-s", "my country:5", "--to", "release"])
    for said in (
        r"--common auto lets .* believed at 1/5, the most frequent one at 0\.6\d, and by someone",
        r"--groups random puts .* the most frequent one at 0\.6\d",
        r"leaving out all rows with 2 values \([\d,]+ rows, 7\d\.\d%\).* above 1/5",
        r"merging values does not help",
    ):
        assert re.search(said, message), said
    ways = ["--common auto", "--groups random", '--keep "my country"']
    lines = message.partition("Commands that publish it:\n")[2].splitlines()
    for way, line in zip(ways, lines, strict=True):
        assert way.replace('"', "'") in line
        assert line.split("publish", 1)[1].startswith(" people.csv -s 'my country:5' --to release")


@pytest.mark.slow
def test_a_recipe_stays_a_recipe() -> None:
    Path("recipe.toml").write_text(
        'table = "people.csv"\nsensitive = ["my country"]\nell = 5\n[publish]\nto = "release"\n'
    )
    message = refused(["publish", "--recipe", "recipe.toml"])
    listed = commands(message)
    assert len(listed) == 3
    for place, line in enumerate(listed):
        assert "--recipe" in line
        done = CliRunner().invoke(app, [*line, "--to", f"r{place}", "--again"])
        assert done.exit_code == 0, (line, done.output, done.exception)


@pytest.mark.slow
def test_python_has_the_same_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "reader", "Python")
    options: dict[str, Any] = {"sensitive": {"my country": 5}, "seed": 1}
    with pytest.raises(CountveilError) as caught:
        cv.publish("people.csv", to=tmp_path / "r", **options)
    assert "Commands" not in str(caught.value)
    ways = caught.value.ways
    assert len(ways) == 3
    for place, way in enumerate(ways):
        cv.publish("people.csv", to=tmp_path / f"r{place}", **{**options, **way})


def test_values_that_were_changed_have_no_condition() -> None:
    words = ["publish", "people.csv", "-s", "my country:5", "--to", "release"]
    message = refused([*words, "--merge", "my country=rare:60"])
    assert len(commands(message)) == 2


@pytest.mark.slow
def test_a_residue_that_is_in_the_way() -> None:
    """199 rows, of which 9 would go: 98 of the 190 that stay may have the same value."""
    jobs = ["a"] * 98 + [f"b{n % 4}" for n in range(101)]
    lines = [f"{job},{n % 10}" for n, job in enumerate(jobs)]
    Path("small.csv").write_text("\n".join(["job,town", *lines]))
    words = ["publish", "small.csv", "-s", "job:2", "-s", "town:5", "--residue", "drop"]
    (line,) = commands(refused([*words, "--to", "release"]))
    assert "--residue" not in line
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, (line, done.output, done.exception)
