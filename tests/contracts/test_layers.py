"""The architecture, checked: who may import whom, and where engine libraries may appear."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import countveil

SOURCE = Path(countveil.__file__).parent

# What the file says holds for every module; benchmarks/walks.py reads it too.
ROOMS = Path(__file__).with_name("rooms.txt").read_text(encoding="utf-8")
LAYERS = [line for line in ROOMS.splitlines() if line and not line.startswith("#")]
ENGINE_LIBRARIES = {"duckdb", "pyspark"}
# DuckDB also reads its own files, and decides which rows meet a condition.
WITH_ENGINE_LIBRARIES = ("engines", "sql", "tables.readers")
PUBLISHER_ROOMS = (
    "maths.groups",
    "maths.mechanism",
    "maths.adversary",
    "tables",
    "publishing",
    "auditing",
    "comparing",
)
ANALYST_ROOMS = ("maths.channel", "maths.paper", "maths.estimate", "display", "sql", "asking")


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    """The module's dotted name below the package."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def within(name: str, rooms: Iterable[str]) -> bool:
    return any(name == room or name.startswith(f"{room}.") for room in rooms)


def layer_of(name: str) -> int:
    fitting = [layer for layer in LAYERS if within(name, [layer])]
    # A package that only has listed rooms in it may say what they are.
    inside = [layer for layer in LAYERS if layer.startswith(f"{name}.")]
    assert fitting or inside, f"{name} has no place in the order of layers"
    return LAYERS.index(max(fitting, key=len)) if fitting else LAYERS.index(inside[0])


def imported(path: Path) -> Iterator[str]:
    """Every module that the file imports, wherever in the file the import stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


def ours_imported(path: Path) -> set[str]:
    names = (name for name in imported(path) if name.startswith("countveil."))
    return {name.removeprefix("countveil.") for name in names}


IDS = [name_of(path) for path in modules()]


@pytest.mark.parametrize("path", modules(), ids=IDS)
def test_a_room_imports_only_from_rooms_before_it(path: Path) -> None:
    name = name_of(path)
    later = {other for other in ours_imported(path) if layer_of(other) > layer_of(name)}
    assert not later


@pytest.mark.parametrize("path", modules(), ids=IDS)
def test_engine_libraries_stay_inside_engines(path: Path) -> None:
    libraries = {name.split(".")[0] for name in imported(path)}
    allowed = within(name_of(path), WITH_ENGINE_LIBRARIES)
    assert allowed or not libraries & ENGINE_LIBRARIES


@pytest.mark.parametrize("path", modules(), ids=IDS)
def test_the_analysts_rooms_never_reach_into_the_publishers(path: Path) -> None:
    if within(name_of(path), ANALYST_ROOMS):
        assert not {name for name in ours_imported(path) if within(name, PUBLISHER_ROOMS)}


@pytest.mark.parametrize("path", modules(), ids=IDS)
def test_only_the_randomness_room_makes_randomness(path: Path) -> None:
    makers = {"random", "secrets", "numpy.random"}
    if name_of(path) != "randomness":
        assert not set(imported(path)) & makers
        assert "np.random" not in path.read_text()


@pytest.mark.parametrize("path", modules(), ids=IDS)
def test_every_module_says_what_it_is_and_stays_small(path: Path) -> None:
    text = path.read_text()
    assert ast.get_docstring(ast.parse(text)), "no module docstring"
    assert text.count("\n") <= 400


def test_every_room_is_in_the_architecture_page() -> None:
    page = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text()
    rooms = {name_of(path).split(".")[0] for path in modules()} - {"__init__", "__main__"}
    assert not {room for room in rooms if f"`{room}" not in page}
