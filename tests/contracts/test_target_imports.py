"""What a target's modules import is in the pins that the target installs, or in the runtime.

Modules are read, not run: a target that needs more would otherwise fail only in a new environment.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
OURS = ("benchmarks", "docs", "study", "tests", "tools")
MAKEFILE = (ROOT / "Makefile").read_text()
MYPY = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
# Stubs that are installed under a name of their own.
STUBS = {"pandas": "pandas-stubs", "pyarrow": "pyarrow-stubs"}


def modules_of_targets() -> Iterator[tuple[str, str]]:
    """Each set of pins beside a module that is run with it."""
    for needs, recipe in re.findall(
        r"^[a-z-]+: (\S+)  ##.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE
    ):
        name = "runtime" if needs == "$(RUNTIME)" else needs.removeprefix("$(VENV)/.")
        for module in re.findall(r"python -m ([a-z_.]+)", recipe):
            if module.split(".")[0] in OURS:
                yield name, module


def file_of(module: str) -> Path | None:
    place = ROOT / module.replace(".", "/")
    candidates = (place.with_suffix(".py"), place / "__main__.py", place / "__init__.py")
    return next((path for path in candidates if path.exists()), None)


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Modules by their full names; `from a import b` may mean the module a.b."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


def outside(module: str, known: set[Path]) -> set[str]:
    """The packages that a module and those of ours that it leads to import from elsewhere."""
    path = file_of(module)
    if path is None or path in known:
        return set()
    known.add(path)
    found = set()
    for name in imports_of(path):
        if name.split(".")[0] in OURS:
            found |= outside(name, known)
        elif name.split(".")[0] not in {"countveil", *sys.stdlib_module_names}:
            found.add(name.split(".")[0])
    return found


@cache
def distributions() -> dict[str, set[str]]:
    """Which packages can be imported from which distributions, as they are installed here."""
    found: dict[str, set[str]] = {}
    for package, names in metadata.packages_distributions().items():
        found[package] = {str(canonicalize_name(name)) for name in names}
    return found


def pinned(*names: str) -> set[str]:
    texts = ((ROOT / "requirements" / f"{name}.txt").read_text() for name in names)
    return {name for text in texts for name in re.findall(r"^(\S+)==", text, re.MULTILINE)}


@pytest.mark.few(2)
@pytest.mark.parametrize(("name", "module"), sorted(set(modules_of_targets())))
def test_a_target_installs_what_its_modules_import(name: str, module: str) -> None:
    needed = outside(module, set())
    pins = pinned("runtime", "build", name)
    assert {package for package in needed if not distributions()[package] & pins} == set()


def test_modules_are_found_where_they_should_be() -> None:
    found = dict.fromkeys(name for name, _ in modules_of_targets())
    assert {"runtime", "bench", "bench-spark", "study"} <= set(found)
    assert "pyspark" in outside("benchmarks.spark", set())
    # By way of a module of the tests.
    assert "pytest" in outside("benchmarks.database", set())


@pytest.mark.slow
def test_mypy_finds_every_library() -> None:
    """In an environment of `make lint` alone; what has no types is named in pyproject.toml."""
    untyped = {
        pattern.removesuffix(".*")
        for override in MYPY["overrides"]
        if override.get("ignore_missing_imports")
        for pattern in override["module"]
    }
    paths = [path for folder in MYPY["files"] for path in (ROOT / folder).rglob("*.py")]
    names = {name.split(".")[0] for path in paths for name in imports_of(path)}
    needed = names - untyped - {"countveil", *OURS, *sys.stdlib_module_names}
    pins = pinned("runtime", "build", "lint")
    missing = {
        package
        for package in needed
        if not (distributions().get(package, set()) | {STUBS.get(package)}) & pins
    }
    assert missing == set()
