"""The architecture, checked: who may import whom, and where engine libraries may appear."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import countveil

SOURCE = Path(countveil.__file__).parent

# A room imports only from rooms that stand before it.
LAYERS = [
    "errors",
    "version",
    "randomness",
    "channel",
    "estimate",
    "guarantees",
    "source",
    "decoys",
    "mechanism",
    "baselines",
    "release",
    "query",
    "engines",
    "inspection",
    "preparation",
    "display",
    "report",
    "advice",
    "measuring",
    "publisher",
    "exporter",
    "guarantee_figures",
    "inspector",
    "adviser",
    "result",
    "crosstab",
    "arranging",
    "answering",
    "counting",
    "portable",
    "analyst",
    "synthetic",
    "adversaries",
    "auditor",
    "comparison",
    "comparer",
    "cli",
]
ENGINE_LIBRARIES = {"duckdb", "pyspark"}
PUBLISHER_ROOMS = {
    "source", "decoys", "mechanism", "baselines", "inspection", "preparation", "advice",
    "measuring",
}  # fmt: skip
ANALYST_ROOMS = {
    "query", "estimate", "channel", "display", "result", "crosstab", "arranging", "answering",
    "counting", "portable", "analyst",
}  # fmt: skip


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """Every module that the file imports, wherever in the file the import stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


def rooms_imported(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imported(path) if name.startswith("countveil.")}


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_room_imports_only_from_rooms_before_it(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return
    assert room in LAYERS, f"{room} has no place in the order of layers"
    allowed = set(LAYERS[: LAYERS.index(room) + 1])
    assert rooms_imported(path) <= allowed


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_engine_libraries_stay_inside_engines(path: Path) -> None:
    libraries = {name.split(".")[0] for name in imported(path)}
    assert room_of(path) == "engines" or not libraries & ENGINE_LIBRARIES


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_the_analysts_rooms_never_reach_into_the_publishers(path: Path) -> None:
    assert room_of(path) not in ANALYST_ROOMS or not rooms_imported(path) & PUBLISHER_ROOMS


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_only_the_randomness_room_makes_randomness(path: Path) -> None:
    makers = {"random", "secrets", "numpy.random"}
    assert room_of(path) == "randomness" or not set(imported(path)) & makers
    assert room_of(path) == "randomness" or "np.random" not in path.read_text()


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_module_says_what_it_is_and_stays_small(path: Path) -> None:
    text = path.read_text()
    assert ast.get_docstring(ast.parse(text)), "no module docstring"
    assert text.count("\n") <= 400


def test_every_room_is_in_the_architecture_page() -> None:
    page = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text()
    rooms = {room_of(path) for path in modules()} - {"__init__", "version"}
    assert not {room for room in rooms if f"`{room}" not in page}
