"""The architecture, checked: who may import whom, and where engine libraries may appear."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import countveil
from tests.contracts.parsed import parsed

SOURCE = Path(countveil.__file__).parent

# What the file says holds for every module; benchmarks/walks.py reads it too.
ROOMS = Path(__file__).with_name("rooms.txt").read_text(encoding="utf-8")
LAYERS = [line for line in ROOMS.splitlines() if line and not line.startswith("#")]
ENGINE_LIBRARIES = {"dask", "distributed", "duckdb", "pyspark"}
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


@functools.cache
def layer_of(name: str) -> int:
    fitting = [layer for layer in LAYERS if within(name, [layer])]
    # A package that only has listed rooms in it may say what they are.
    inside = [layer for layer in LAYERS if layer.startswith(f"{name}.")]
    assert fitting or inside, f"{name} has no place in the order of layers"
    return LAYERS.index(max(fitting, key=len)) if fitting else LAYERS.index(inside[0])


def imported(path: Path) -> frozenset[str]:
    """Every module that the file imports, wherever in the file the import stands."""
    return parsed(path).imported


def ours_imported(path: Path) -> set[str]:
    names = (name for name in imported(path) if name.startswith("countveil."))
    return {name.removeprefix("countveil.") for name in names}


def offending(breaks: Callable[[Path], object]) -> dict[str, object]:
    """The modules that break a law, each with what it does; one test asks all of them."""
    wrong = {name_of(path): breaks(path) for path in modules()}
    return {name: what for name, what in wrong.items() if what}


def test_a_room_imports_only_from_rooms_before_it() -> None:
    def later(path: Path) -> set[str]:
        layer = layer_of(name_of(path))
        return {other for other in ours_imported(path) if layer_of(other) > layer}

    assert not offending(later)


def test_engine_libraries_stay_inside_engines() -> None:
    def engine_libraries(path: Path) -> set[str]:
        if within(name_of(path), WITH_ENGINE_LIBRARIES):
            return set()
        return {name.split(".")[0] for name in imported(path)} & ENGINE_LIBRARIES

    assert not offending(engine_libraries)


def test_the_analysts_rooms_never_reach_into_the_publishers() -> None:
    def reached(path: Path) -> set[str]:
        if not within(name_of(path), ANALYST_ROOMS):
            return set()
        return {name for name in ours_imported(path) if within(name, PUBLISHER_ROOMS)}

    assert not offending(reached)


def test_only_the_randomness_room_makes_randomness() -> None:
    makers = {"random", "secrets", "numpy.random"}

    def made(path: Path) -> set[str]:
        if within(name_of(path), ["randomness"]):
            return set()
        spelt = {"np.random"} if "np.random" in path.read_text() else set()
        return set(imported(path) & makers) | spelt

    assert not offending(made)


def test_every_module_says_what_it_is_and_stays_small() -> None:
    def missing(path: Path) -> str:
        if not parsed(path).documented:
            return "no module docstring"
        return f"{lines} lines" if (lines := parsed(path).lines) > 400 else ""

    assert not offending(missing)


@pytest.mark.parametrize(
    ("law", "text"),
    [
        (test_a_room_imports_only_from_rooms_before_it, "from countveil.publishing import publish"),
        (test_engine_libraries_stay_inside_engines, "def f():\n    import duckdb.typing"),
        (test_the_analysts_rooms_never_reach_into_the_publishers, "import countveil.tables.cells"),
        (test_only_the_randomness_room_makes_randomness, "'np.random'"),
        (test_only_the_randomness_room_makes_randomness, "from secrets import token_bytes"),
        (test_every_module_says_what_it_is_and_stays_small, "x = 1"),
        (test_every_module_says_what_it_is_and_stays_small, "'Long.'" + "\n" * 401),
    ],
)
def test_each_law_is_noticed_when_broken(
    law: Callable[[], None], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "display.py"
    module.write_text(text)
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    with pytest.raises(AssertionError, match="display"):
        law()


def test_every_room_is_in_the_architecture_page() -> None:
    page = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text()
    rooms = {name_of(path).split(".")[0] for path in modules()} - {"__init__", "__main__"}
    assert not {room for room in rooms if f"`{room}" not in page}
