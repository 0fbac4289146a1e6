"""The shape of the code, checked: how many rooms, how large, how long a walk, which names."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import countveil
from tests.contracts.parsed import Function, branches_of, lines_of, parsed, statements

SOURCE = Path(countveil.__file__).parent
ROOT = Path(__file__).parents[2]
MODULES = sorted(SOURCE.rglob("*.py"))

MOST_NAMES_AT_THE_TOP = 17
MOST_MODULES_OF_A_PACKAGE = 15
MOST_LINES, MOST_BRANCHES = 60, 15
MOST_MODULES_OF_A_WALK = {"publish": 63, "query": 34}

# Words that only those who wrote the code would understand.
LOST_WORDS = {
    "telling", "tell", "told", "held", "hold", "seen", "ticket", "tickets", "parcel", "parcels",
    "piece", "pieces", "glance", "wording", "waiting", "arranging", "found", "own",
}  # fmt: skip

VAGUE = {"found", "own"}


def test_the_top_level_fits_on_a_screen() -> None:
    entries = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or path.is_dir()}
    names = entries - {"__init__", "__main__", "__pycache__"}
    assert len(names) <= MOST_NAMES_AT_THE_TOP, sorted(names)


def test_no_package_has_too_many_modules() -> None:
    packages = {path.parent for path in MODULES}
    sizes = {folder: len(list(folder.glob("*.py"))) - 1 for folder in packages}
    assert not {f.name: size for f, size in sizes.items() if size > MOST_MODULES_OF_A_PACKAGE}


def test_no_function_is_too_long() -> None:
    too_long = {
        f"{path.relative_to(SOURCE)}: {function.name}"
        for path in MODULES
        for function in parsed(path).definitions
        if function.lines > MOST_LINES or function.branches > MOST_BRANCHES
    }
    assert not too_long


def test_names_are_words_of_the_field() -> None:
    names = {(path, node.name) for path in MODULES for node in parsed(path).definitions}
    names |= {(path, part) for path in MODULES for part in path.relative_to(SOURCE).parts}
    lost = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path, name in names
        if LOST_WORDS & set(words_of(name))
    }
    assert not lost


@pytest.mark.slow
def test_local_names_are_the_nouns_they_hold() -> None:
    vague = {
        f"{path.relative_to(SOURCE)}: {function.name}"
        for path in MODULES
        for function in functions(path)
        for node in ast.walk(function)
        if (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE)
        or (isinstance(node, ast.arg) and node.arg in VAGUE)
    }
    assert not vague


@pytest.mark.slow
def test_the_walks_go_through_few_modules() -> None:
    """`python -m benchmarks.walks --list` shows which."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.walks", "--json"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    lengths = {walk["command"]: len(walk["modules"]) for walk in json.loads(done.stdout)}
    assert lengths.keys() == MOST_MODULES_OF_A_WALK.keys()
    too_long = {c: n for c, n in lengths.items() if n > MOST_MODULES_OF_A_WALK[c]}
    assert not too_long
    page = (ROOT / "ARCHITECTURE.md").read_text()
    for command, length in lengths.items():
        assert f"\n| {command} | {length} | " in page


def functions(path: Path) -> Iterator[Function]:
    tree = ast.parse(path.read_text())
    return (node for node in statements(tree) if isinstance(node, Function))


def words_of(name: str) -> list[str]:
    """`_HeldColumn` and `held_column` are the same words."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]


def test_words_are_told_apart() -> None:
    assert words_of("_HeldColumn") == words_of("held_column") == ["held", "column"]


def test_lines_and_branches_are_counted() -> None:
    """The words for branches say how many there are at most; if they are many, the tree does."""
    text = "def f(x):\n    'One. Two if three.'\n    y = [a for a in x if a]\n    return y or x\n"
    (function,) = ast.parse(text).body
    assert isinstance(function, Function)
    assert lines_of(function) == 2
    assert branches_of(function, text.splitlines()) == 4
    assert branches_of(function, text.splitlines(), few=0) == 2
