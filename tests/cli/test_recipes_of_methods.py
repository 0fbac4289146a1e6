"""Methods in recipes, and what a dry run promises of each: on the command line and in Python."""

from __future__ import annotations

import re
import tomllib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from typer.testing import CliRunner

import countveil as cv
from countveil.cli.app import app, with_optional_values

# The options, what the recipe says, and what a dry run promises.
METHODS: dict[str, tuple[list[str], dict[str, Any], list[str]]] = {
    "all together": (
        ["-s", "country:4", "-s", "job:4", "--together"], {"together": True},
        ["Columns together. country and job have the same groups and one draw",
         "with probability 1/ell = 0.25 its own", "grow by a factor of about"],
    ),
    "some together": (
        ["-s", "country:4", "-s", "job:4", "-s", "pay:3", "--together", "country,job"],
        {"together": ["country,job"]}, ["Columns together. country and job"],
    ),
    "frequent values": (
        ["-s", "skewed:4", "--common", "auto"], {"common": "auto"},
        ["believed with probability 1/ell = 0.25", "for 'home' (published by",
         "believes the published one, if it is not common, with probability"],
    ),
    "named values": (
        ["-s", "skewed:4", "--common", "skewed=home", "--common", "skewed="],
        {"common": {"skewed": ["home", ""]}}, ["the missing value"],
    ),
    "random groups": (
        ["-s", "skewed:4", "--groups", "random"], {"groups": "random"},
        ["chosen at random whatever their values", "1/ell + (1 - 1/ell) p"],
    ),
    "a bound": (
        ["-s", "job:4", "--odds", "15", "--domain", "job=public:occurring"],
        {"odds": 15.0, "domain": {"job": "public:occurring"}},
        ["gamma = 0.", "with epsilon = ", "by at most K = 15",
         "on condition that the list of declared values is public knowledge"],
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(11)
    skewed = rng.choice(["home", "", *"abcdef"], 900, p=[0.6, 0.16, *[0.04] * 6])
    people = pa.table({
        "sex": rng.choice(["F", "M"], 900).tolist(),
        "country": rng.choice(list("abcdefgh"), 900).tolist(),
        "job": rng.choice(list("pqrstuvw"), 900).tolist(),
        "pay": rng.choice(list("12345"), 900).tolist(),
        "skewed": [value or None for value in skewed.tolist()],
    })  # fmt: skip
    pc.write_csv(people, "in.csv")


def run(*words: str) -> str:
    done = CliRunner().invoke(app, with_optional_values(words))
    assert done.exit_code == 0, (words, done.output, done.exception)
    return re.sub(r"\s+", " ", done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_a_recipe_does_the_same_again(name: str) -> None:
    options, said, promises = METHODS[name]
    words = ["publish", "in.csv", *options, "--to", "release", "--dry-run"]
    first = run(*words, "--write-recipe", "recipe.toml")
    for promise in promises:
        assert promise in first, promise
    # What a mixed group makes of a rare value is not said of groups in which values repeat.
    assert ("the odds of a typical row by" in first) == (name == "some together")
    content = tomllib.loads(Path("recipe.toml").read_text())
    everything = {**content, **content.get("publish", {})}
    for key, value in said.items():
        assert everything[key] == value
    again = run("publish", "--recipe", "recipe.toml", "--dry-run")
    for promise in promises:
        assert promise in again
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        planned = cv.publish(recipe="recipe.toml", dry_run=True).manifest
        run("publish", "--recipe", "recipe.toml", "--seed", "1")
        published = cv.open("release").manifest
    assert planned.together == published.together
    for column, entry in published.sensitive.items():
        other = planned.sensitive[column]
        assert (entry.ell, entry.groups, entry.odds) == (other.ell, other.groups, other.odds)
        assert set(entry.common) == set(other.common)
    run("inspect", "--recipe", "recipe.toml")


@pytest.mark.parametrize("name", ["all together", "named values", "random groups", "a bound"])
@pytest.mark.slow
def test_advise_takes_the_same_recipe(name: str) -> None:
    options, _, _ = METHODS[name]
    words = ["publish", "in.csv", *options, "--to", "release", "--dry-run"]
    run(*words, "--write-recipe", "recipe.toml")
    line = run("advise", "--recipe", "recipe.toml", "--seed", "1").rpartition("adapt:")[2]
    expected = {
        "all together": "--together country,job",
        "named values": "--common auto",
        "random groups": "--groups random",
        "a bound": "--odds 15",
    }
    assert expected[name] in line


def test_a_new_recipe_shows_every_option() -> None:
    text = CliRunner().invoke(app, ["recipe", "new", "in.csv", "-s", "skewed"]).stdout
    assert 'common = "auto"' in text
    assert "# together = true" in text
    assert "# odds = K" in text
    Path("new.toml").write_text(text)
    run("publish", "--recipe", "new.toml", "--to", "release", "--dry-run")
