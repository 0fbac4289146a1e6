"""Recipes: what is written is read back equal, and every mistake gets one clear message."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import countveil as cv
from countveil.errors import CountveilError, InputError, SettingsError
from countveil.tables.recipe import (
    COLUMNS,
    COMMANDS,
    FLAG,
    NUMBER,
    TEXT,
    TEXTS,
    WHOLE,
    RecipeOption,
    read_recipe,
    recipe_text,
    relative,
    resolved,
    toml_key,
    toml_value,
)
from tests.strategies import examples

TEXT_OF_ANY_KIND = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PLAIN = TEXT_OF_ANY_KIND | st.integers(-(2**62), 2**62) | st.booleans() | st.floats(allow_nan=False)


@given(st.dictionaries(TEXT_OF_ANY_KIND, PLAIN | st.lists(TEXT_OF_ANY_KIND), max_size=5))
@examples(200)
def test_what_is_written_is_read_back_equal(content: dict[str, Any]) -> None:
    text = "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in content.items())
    assert tomllib.loads(text) == content


OPTIONS = {
    "table": RecipeOption(frozenset({TEXT}), names_files=True, explanation="The table."),
    "sensitive": RecipeOption(frozenset({TEXT, TEXTS, COLUMNS})),
    "drop": RecipeOption(frozenset({TEXTS}), explanation="Leave out.\nAnd more."),
    "header": RecipeOption(frozenset({FLAG}), default=True),
    "labels": RecipeOption(frozenset({COLUMNS}), names_files=True, metavar="COL=FILE"),
    "levels": RecipeOption(frozenset({COLUMNS}), metavar="COL=SPEC"),
}
KNOWN = {
    "publish": {**OPTIONS, "to": RecipeOption(frozenset({TEXT}), names_files=True)},
    "compare": {**OPTIONS, "epsilon": RecipeOption(frozenset({NUMBER}), default=0.05)},
    "audit": {**OPTIONS, "seed": RecipeOption(frozenset({WHOLE}))},
    "advise": {**OPTIONS, "seed": RecipeOption(frozenset({WHOLE}))},
}


@given(
    st.dictionaries(TEXT_OF_ANY_KIND, st.integers(2, 50), min_size=1, max_size=4),
    st.lists(TEXT_OF_ANY_KIND, min_size=1, max_size=4),
    st.dictionaries(TEXT_OF_ANY_KIND, TEXT_OF_ANY_KIND, min_size=1, max_size=4),
)
@examples(100)
def test_choices_survive_a_recipe(
    sensitive: dict[str, int], drop: list[str], levels: dict[str, str]
) -> None:
    chosen = {"sensitive": sensitive, "drop": drop, "levels": levels}
    text = recipe_text(KNOWN, {"": chosen, "compare": {"epsilon": 0.5}}, Path(), ["A # recipe", ""])
    content = tomllib.loads(text)
    assert content.pop("compare") == {"epsilon": 0.5}
    assert {name: section for name, section in content.items() if section != {}} == chosen


def recipe(folder: Path, text: str) -> Path:
    path = folder / "recipe.toml"
    path.write_text(text)
    return path


def test_sections_go_before_what_is_shared(tmp_path: Path) -> None:
    text = 'drop = ["a"]\nheader = false\n[audit]\ndrop = ["b"]\nseed = 1\n[publish]\nto = "r"\n'
    path = recipe(tmp_path, text)
    assert read_recipe(path, "audit", KNOWN) == {"drop": ["b"], "header": False, "seed": 1}
    assert read_recipe(path, "publish", KNOWN)["drop"] == ["a"]


def test_paths_are_relative_to_the_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "tree.csv").write_text("x,y")
    monkeypatch.chdir(tmp_path)
    text = (
        'table = "sqlite:../in.db#people"\nlabels.sex = "sex.csv"\n'
        'levels.job = "tree.csv"\nlevels.icd = "prefix:3"\n'
    )
    found = read_recipe(recipe(tmp_path / "deep", text), "publish", KNOWN)
    base = tmp_path / "deep"
    assert found["table"] == f"sqlite:{base}/../in.db#people"
    assert found["labels"] == {"sex": str(base / "sex.csv")}
    assert found["levels"] == {"job": str(base / "tree.csv"), "icd": "prefix:3"}


@pytest.mark.parametrize("text", ["in.csv", "data/*.csv", "sqlite:in.db#t", "book.xlsx#sheet 1"])
def test_a_path_that_is_written_leads_back(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = relative(text, Path("recipes"))
    assert ".." in written
    place = resolved(written, Path("recipes"))
    assert os.path.normpath(place.removeprefix("sqlite:")) == text.removeprefix("sqlite:")
    assert relative("/in.csv", Path("recipes")) == resolved("/in.csv", Path("recipes")) == "/in.csv"
    address = "postgresql://me@host/db#t"
    assert relative(address, Path("recipes")) == resolved(address, Path("recipes")) == address


WRONG = {
    "misspelt": ('drp = ["a"]', "no option 'drp'. Did you mean 'drop'"),
    "misspelt in a section": ('[publish]\nt = "a"', "[publish]: there is no option 't'"),
    "a misspelt section": ('[publsh]\nto = "a"', "no option 'publsh'. Did you mean 'publish'"),
    "of one command": ("epsilon = 1", "'epsilon' belongs into the section [compare]"),
    "of each command": ("seed = 1", "belongs into the section [audit] or [advise]"),
    "of a run": ("force = true", "'force' is decided for every run"),
    "of a run, in a section": ("[publish]\nagain = true", "'again' is decided for every run"),
    "a number for a list": ("drop = 1", "'drop' must be a list of texts"),
    "a list of numbers": ("drop = [1]", "'drop' must be a list of texts"),
    "a text for a truth value": ('header = "no"', "'header' must be true or false"),
    "a text for columns": ('levels = "x"', "must be a table of columns (levels.COLUMN = ...)"),
    "a table in a table": ("levels.a.b = 1", "'levels' must be"),
    "no section": ("publish = 1", "'publish' must be a section, [publish]"),
    "no TOML": ("drop = [", "not readable TOML"),
    "a password": ('table = "postgresql://me:hunter2@h/d#t"', "password"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_gets_one_clear_message(name: str, tmp_path: Path) -> None:
    text, words = WRONG[name]
    with pytest.raises(CountveilError) as refused:
        read_recipe(recipe(tmp_path, text), "publish", KNOWN)
    assert words in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_files_that_are_no_recipes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no recipe"):
        read_recipe(tmp_path / "none.toml", "publish", KNOWN)
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        read_recipe(tmp_path / "bad.toml", "publish", KNOWN)
    with pytest.raises(InputError, match="cannot be read"):
        read_recipe(tmp_path, "publish", KNOWN)


@pytest.mark.slow
def test_every_public_function_takes_one(tmp_path: Path) -> None:
    cv.generate(600, tmp_path / "census.csv", seed=1)
    path = recipe(
        tmp_path,
        'table = "census.csv"\nsensitive.salary = 3\ndrop = ["country"]\n'
        'bins.age = [30, 50]\n[publish]\nto = "release"\n[advise]\naccuracy = "5%:50%"\n'
        '[audit]\nattacks = ["linkage"]\nreport = "audit.html"\n[compare]\nreleases = 1\n',
    )
    release = cv.publish(recipe=path)
    assert release.folder == tmp_path / "release"
    assert release.ell == {"salary": 3}
    assert "country" not in [column.name for column in release.columns]
    (tmp_path / "elsewhere").mkdir()
    other = cv.publish(recipe=path, sensitive={"salary": 2}, to=tmp_path / "elsewhere" / "r")
    assert other.ell == {"salary": 2}, "what the call says goes before the recipe"
    assert cv.inspect(recipe=path).sensitive == ("salary",)
    assert list(cv.advise(recipe=path, seed=1).columns) == ["salary"]
    assert cv.audit(recipe=path, seed=1).findings
    assert cv.compare(recipe=path, seed=1).methods
    assert set(COMMANDS) <= set(cv.__all__)
    with pytest.raises(CountveilError, match="force=True does not replace an input"):
        cv.publish(recipe=path, to=tmp_path / "r", private_report=path, force=True, again=True)


def test_python_is_told_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="to='release'"):
        cv.publish("in.csv", {"job": 2})
    with pytest.raises(SettingsError, match="at least one sensitive column"):
        cv.publish("in.csv", to=tmp_path / "r")
    with pytest.raises(SettingsError, match=r"no option 'sensitve'\. Did you mean 'sensitive'"):
        cv.publish(recipe=recipe(tmp_path, "sensitve.job = 2"))
