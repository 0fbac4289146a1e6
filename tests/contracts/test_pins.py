"""The pins in requirements/: complete, one version of each package, no address, one set a target.

What is locked is compared with pyproject.toml, with the metadata of what is installed here, and
with the commands that make would run in a clone without an environment.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETS = sorted(path.stem for path in (ROOT / "requirements").iterdir())

PIN = re.compile(r"([a-z0-9-]+)==([0-9][a-z0-9.!+]*)(?: ; ([a-zA-Z0-9_.<>=!'() ]+))? \\\n")
HASH = re.compile(r" {4}--hash=sha256:[0-9a-f]{64}( \\)?\n")

# What each target installs beside the runtime; whatever is not named here needs the runtime alone.
TARGETS = {
    "setup": "dev", "test": "dev", "test-slow": "dev", "lint": "lint", "format": "format",
    "bench": "bench", "bench-spark": "bench-spark", "study": "study", "study-quick": "study",
}  # fmt: skip
WITHOUT_PINS = {"help", "install", "lock", "clean"}


@dataclass(frozen=True)
class Pin:
    name: str
    version: str
    marker: str

    def applies(self) -> bool:
        return not self.marker or bool(Requirement(f"x ; {self.marker}").marker.evaluate())  # type: ignore[union-attr]


def pins_of(name: str) -> set[Pin]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    return {Pin(*(part or "" for part in match.groups())) for match in PIN.finditer(text)}


def versions_of(name: str) -> set[tuple[str, str]]:
    return {(pin.name, pin.version) for pin in pins_of(name)}


def available(name: str) -> set[Pin]:
    """What is installed with a set: it comes on top of the runtime."""
    return pins_of(name) | pins_of("runtime")


def wanted(name: str) -> Iterator[Requirement]:
    """What pyproject.toml asks for under the name of a set."""
    tables: dict[str, list[Any]] = {
        "runtime": PROJECT["project"]["dependencies"],
        **PROJECT["project"]["optional-dependencies"],
        **PROJECT["dependency-groups"],
    }
    for entry in tables[name]:
        if isinstance(entry, dict):
            yield from wanted(entry["include-group"])
        else:
            yield Requirement(entry)


def targets() -> list[str]:
    return re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize("name", SETS)
def test_pins_are_versions_with_hashes_and_nothing_else(name: str) -> None:
    """So neither an index, nor a host, nor a path of whoever locked them is in a file."""
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines(keepends=True)
    hashed = True
    for line in lines:
        pin, checksum = PIN.fullmatch(line), HASH.fullmatch(line)
        assert pin or checksum, line
        assert hashed or checksum, f"no hash before {line}"
        hashed = checksum is not None
    assert hashed
    assert len(pins_of(name)) == sum(line[0] != " " for line in lines) > 0


def test_every_package_has_one_version() -> None:
    versions: dict[tuple[str, str], set[str]] = {}
    for name in SETS:
        for pin in pins_of(name):
            versions.setdefault((pin.name, pin.marker), set()).add(pin.version)
    assert not {key: found for key, found in versions.items() if len(found) > 1}
    for name in SETS:
        # The same version may be pinned under two conditions, one for each set that asks for it.
        here = {(pin.name, pin.version) for pin in available(name) if pin.applies()}
        packages = [package for package, _ in here]
        assert len(packages) == len(set(packages)), f"{name}: two versions of a package apply here"


def test_development_has_all_of_the_runtime_and_of_the_extras() -> None:
    for name in ("runtime", "build", *PROJECT["project"]["optional-dependencies"]):
        if name in SETS:
            # What more packages ask for is pinned under more conditions.
            assert versions_of(name) <= versions_of("dev"), name


def test_sets_do_not_repeat_the_runtime() -> None:
    repeated = {name: pins_of(name) & pins_of("runtime") for name in SETS}
    assert not {n for n, pins in repeated.items() if pins and n not in ("runtime", "dev")}


def test_every_extra_has_pins() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    assert {name for name, needs in extras.items() if needs} <= set(SETS)


@pytest.mark.parametrize("name", SETS)
def test_what_pyproject_asks_for_is_pinned(name: str) -> None:
    pins = available(name)
    requirements = list(wanted(name))
    assert requirements
    for requirement in requirements:
        matching = [pin for pin in pins if pin.name == canonicalize_name(requirement.name)]
        assert matching, requirement
        for pin in matching:
            assert requirement.specifier.contains(pin.version), (requirement, pin)


@pytest.mark.parametrize("name", SETS)
def test_a_set_is_complete(name: str) -> None:
    """What its packages require, as their metadata say here, is pinned too."""
    here = {pin.name for pin in available(name) if pin.applies()}
    extras = {
        (str(canonicalize_name(r.name)), extra) for r in requirements_in(here) for extra in r.extras
    }
    for package in here:
        for requirement in requirements_of(package, {e for p, e in extras if p == package}):
            assert canonicalize_name(requirement.name) in here, f"{package} needs {requirement}"


def requirements_in(names: set[str]) -> Iterator[Requirement]:
    for name in names:
        yield from requirements_of(name, set())


def requirements_of(name: str, extras: set[str]) -> Iterator[Requirement]:
    try:
        texts = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        assert name not in {pin.name for pin in pins_of("dev")}, f"{name} is not installed"
        return
    for requirement in map(Requirement, texts):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": e}) for e in extras | {""}):
            yield requirement


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What make looks at, in a folder without an environment."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "requirements", folder / "requirements")
    return folder


@pytest.mark.parametrize("target", sorted({*targets(), *TARGETS} - WITHOUT_PINS))
def test_a_target_installs_what_it_needs_and_nothing_else(clone: Path, target: str) -> None:
    env = {key: text for key, text in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL")}
    done = subprocess.run(
        ["make", "--dry-run", target, "PYTHON=true"],
        cwd=clone, env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    installed = re.findall(r"-r requirements/([a-z-]+)\.txt", done.stdout)
    expected = ["runtime", "build", *([TARGETS[target]] if target in TARGETS else [])]
    assert installed == expected
    assert done.stdout.count("--require-hashes") == len(expected) - 1


def test_make_lists_its_targets_and_locks_every_set() -> None:
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, flags=re.MULTILINE)
    assert sorted(phony.split()) == sorted(targets())
    locked = [
        name
        for names in re.findall(r"^(?:EXTRA|GROUP)_SETS := (.*)$", text, flags=re.MULTILINE)
        for name in names.split()
    ]
    assert sorted([*locked, "runtime", "dev"]) == SETS


def test_make_runs_modules_that_exist() -> None:
    text = (ROOT / "Makefile").read_text()
    modules = re.findall(r"python -m ((?:benchmarks|docs|study|tools)[a-z_.]*)", text)
    assert len(modules) > 10
    for module in modules:
        place = ROOT / module.replace(".", "/")
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), module
