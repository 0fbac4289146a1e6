"""`countveil recipe new`, and the commands that take a recipe."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path

import pytest
import typer

import countveil as cv
from countveil.cli.app import app
from countveil.cli.options.recipe import known_options
from countveil.cli.options.table_options import GROUPS
from countveil.tables.recipe import COMMANDS, OF_A_RUN
from tests.robustness.conftest import Quick
from tests.robustness.tools import assert_refused, unchanged

PEOPLE = 240


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A table with names that try to leave their quotes."""
    jobs = ("baker", "clerk", "driver", "nurse")
    lines = [
        f"P{row:05d},{row % 7},{row * row % 11},{jobs[row % 4]},SECRET-{row % 3}\n"
        for row in range(PEOPLE)
    ]
    (tmp_path / "in.csv").write_text('id,"a=b","x"".y",diagnosis,note\n' + "".join(lines))
    return tmp_path


def test_a_new_recipe_has_every_option_and_publishes(place: Path, quick: Quick) -> None:
    outcome = quick("recipe", "new", "in.csv", "--to", "in.toml", cwd=place)
    assert (outcome.code, outcome.err) == (0, "")
    text = (place / "in.toml").read_text()
    content = tomllib.loads(text)
    assert content["table"] == "in.csv"
    assert content["sensitive"] == {"diagnosis": 4}
    assert "id" in content["drop"]
    assert "SECRET" not in text
    assert "baker" not in text
    for options in known_options().values():
        for name in options:
            assert any(
                line.removeprefix("# ").startswith((f"{name} = ", f"{name}."))
                for line in text.splitlines()
            ), name
    dry = quick(*shlex.split(outcome.out.splitlines()[1])[1:], cwd=place)
    assert (dry.code, dry.err) == (0, "")
    assert quick("publish", "--recipe", "in.toml", cwd=place).code == 0
    assert cv.open(place / "release").ell == {"diagnosis": 4}


def test_without_a_file_it_is_printed(place: Path, quick: Quick) -> None:
    outcome = quick("recipe", "new", "in.csv", "-s", "note", "--missing", "-", cwd=place)
    assert outcome.code == 0
    content = tomllib.loads(outcome.out)
    assert content["sensitive"] == {"note": 3}
    assert content["missing"][0] == "-"


def test_a_recipe_replaces_nothing_without_force(place: Path, quick: Quick) -> None:
    (place / "mine.toml").write_text("mine")
    with unchanged(place):
        words = ("recipe", "new", "in.csv", "--to")
        assert_refused(quick(*words, "mine.toml", cwd=place), "exists", "--force")
        assert_refused(quick(*words, "in.csv", "--force", cwd=place), "read here")
    assert quick(*words, "mine.toml", "--force", cwd=place).code == 0


def test_a_colleague_s_option_is_known_without_being_listed() -> None:
    known = known_options()
    assert set(known) == set(COMMANDS)
    for group, commands in {
        "source": COMMANDS, "shaping": ("publish", "audit"), "recoding": ("advise", "compare"),
    }.items():  # fmt: skip
        for command in commands:
            assert set(GROUPS[group]) <= set(known[command])
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for command in COMMANDS:
        names = {parameter.name for parameter in commands[command].params} - {"help"}
        assert names - OF_A_RUN == set(known[command])


@pytest.mark.slow
def test_flags_go_before_and_the_run_is_written_back(place: Path, quick: Quick) -> None:
    (place / "levels.txt").write_text("baker\nclerk\ndriver\nnurse\n")
    (place / "deep").mkdir()
    (place / "deep" / "r.toml").write_text(
        'table = "../in.csv"\nsensitive.diagnosis = 4\ndrop = ["id", "note"]\n'
        'bins."a=b" = [2, 5]\ndomain.diagnosis = "../levels.txt"\nkeep = ["x\\".y", "a=b"]\n'
        '[publish]\nto = "../first"\n[audit]\nattacks = "linkage"\n'
    )
    words = ("publish", "--recipe", "deep/r.toml", "--format", "json")
    first = quick(*words, cwd=place)
    assert json.loads(first.out)["ell"] == {"diagnosis": 4}, first.err
    names = [column.name for column in cv.open(place / "first").columns]
    assert names == ["a=b", 'x".y', "diagnosis"]
    changed = (*words, "-s", "diagnosis:2", "--to", "second", "--again", "--drop", "id")
    used = quick(*changed, "--write-recipe", "deep/used.toml", "--keep", "note", cwd=place)
    assert json.loads(used.out)["ell"] == {"diagnosis": 2}, used.err
    content = tomllib.loads((place / "deep" / "used.toml").read_text())
    assert content.pop("compare") == content.pop("advise") == {}
    assert content == {
        "table": "../in.csv", "sensitive": {"diagnosis": 2}, "drop": ["id"], "keep": ["note"],
        "bins": {"a=b": "2,5"}, "domain": {"diagnosis": "../levels.txt"},
        "publish": {"to": "../second"}, "audit": {"attacks": "linkage"},
    }  # fmt: skip
    again = ("publish", "--recipe", "deep/used.toml", "--to", "third", "--again")
    assert quick(*again, cwd=place).code == 0
    third, second = (cv.open(place / name).manifest for name in ("third", "second"))
    assert third.columns == second.columns


@pytest.mark.slow
@pytest.mark.parametrize("command", ["inspect", "advise", "audit", "compare"])
def test_every_command_takes_it(command: str, place: Path, quick: Quick) -> None:
    (place / "r.toml").write_text(
        'table = "in.csv"\nsensitive.diagnosis = 3\ndrop = ["id", "note"]\nell = 2\n'
        '[audit]\nattacks = ["linkage"]\n[compare]\nreleases = 1\n[advise]\nseed = 3\n'
    )
    words = (command, "--recipe", "r.toml", "--format", "json", "--write-recipe", "used.toml")
    outcome = quick(*words, cwd=place)
    assert outcome.code == 0, outcome.err
    assert "diagnosis" in outcome.out
    used = tomllib.loads((place / "used.toml").read_text())
    assert used["table"] == "in.csv"
    assert "diagnosis" in used["sensitive"]


MISTAKES = {
    "unknown key": ("sensitiv.x = 2", ("no option 'sensitiv'", "Did you mean 'sensitive'")),
    "unknown column": ("sensitive.diagnosi = 2", ("no column 'diagnosi'", "Did you mean")),
    "wrong type": ("sensitive.diagnosis = 2\ndrop = 5", ("'drop' must be a list of texts",)),
    "a password": ('table = "postgresql://me:hunter2@h/d#t"', ("password",)),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str, place: Path, quick: Quick) -> None:
    text, words = MISTAKES[name]
    table = "" if text.startswith("table") else 'table = "in.csv"\n'
    (place / "r.toml").write_text(f'{table}{text}\n[publish]\nto = "r"\n')
    with unchanged(place):
        outcome = quick("publish", "--recipe", "r.toml", cwd=place)
        assert_refused(outcome, *words)
        assert "hunter2" not in outcome.err


@pytest.mark.slow
def test_the_recipe_is_an_input_too(place: Path, quick: Quick) -> None:
    quick("recipe", "new", "in.csv", "--to", "r.toml", cwd=place)
    with unchanged(place):
        for option in ("--write-recipe", "--private-report"):
            words = ("publish", "--recipe", "r.toml", option, "r.toml", "--force")
            assert_refused(quick(*words, cwd=place), "r.toml", "read here")
