"""The pins in requirements/: complete, one version of each package, no address, one set a target.

What is locked is compared with pyproject.toml, with the metadata of what is installed here, and
with the commands that make would run in a clone without an environment.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
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

PIN = re.compile(r"([a-z0-9-]+)==([0-9][a-z0-9.!+]*)(?: ; ([a-zA-Z0-9_.<>=!*'() ]+))? \\\n")
HASH = re.compile(r" {4}--hash=sha256:[0-9a-f]{64}( \\)?\n")

# What each target installs beside the runtime; whatever is not named here needs the runtime alone.
TARGETS = {
    "setup": "dev", "app": "app", "test": "dev", "test-slow": "dev", "test-long": "dev",
    "test-browser": "browser", "test-faults": "dev", "mutants": "dev", "screens": "browser",
    "lint": "lint", "format": "format", "site": "site",
    "bench": "bench", "bench-app": "app", "bench-spark": "bench-spark",
    "study": "study", "study-quick": "study",
}  # fmt: skip
WITHOUT_PINS = {"help", "install", "lock", "clean"}


@dataclass(frozen=True)
class Pin:
    name: str
    version: str
    marker: str

    def applies(self) -> bool:
        return not self.marker or applies_here(self.marker)


@functools.cache
def applies_here(marker: str) -> bool:
    return bool(Requirement(f"x ; {marker}").marker.evaluate())  # type: ignore[union-attr]


@functools.cache
def pins_of(name: str) -> frozenset[Pin]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    return frozenset(Pin(*(part or "" for part in match.groups())) for match in PIN.finditer(text))


def versions_of(name: str) -> set[tuple[str, str]]:
    return {(pin.name, pin.version) for pin in pins_of(name)}


def available(name: str) -> frozenset[Pin]:
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


@pytest.mark.few(5)
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


@functools.cache
def required(text: str) -> Requirement:
    return Requirement(text)


@functools.cache
def requires(name: str) -> list[str]:
    return metadata.requires(name) or []


def requirements_of(name: str, extras: set[str]) -> Iterator[Requirement]:
    try:
        texts = requires(name)
    except metadata.PackageNotFoundError:
        assert name not in {pin.name for pin in pins_of("dev")}, f"{name} is not installed"
        return
    for requirement in map(required, texts):
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


def make(folder: Path, *words: str) -> str:
    """What make prints there; it may have started these tests itself, and is to forget that."""
    env = {key: text for key, text in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL")}
    return subprocess.run(
        ["make", *words], cwd=folder, env=env, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("target", sorted({*targets(), *TARGETS} - WITHOUT_PINS))
def test_a_target_installs_what_it_needs_and_nothing_else(clone: Path, target: str) -> None:
    commands = make(clone, "--dry-run", target, "PYTHON=true")
    installed = re.findall(r"-r requirements/([a-z-]+)\.txt", commands)
    expected = ["runtime", "build", *([TARGETS[target]] if target in TARGETS else [])]
    assert installed == expected
    assert commands.count("--require-hashes") == len(expected) - 1


@pytest.fixture
def python(clone: Path) -> Iterator[Callable[[str], str]]:
    """An interpreter of a version: its environments write down what they are called with."""

    def of_version(version: str) -> str:
        script = clone / f"python-{version}"
        script.write_text(
            f"""#!/bin/sh
case "$1 $2" in
  -c*) echo {version};;
  "-m venv") rm -rf .venv; mkdir -p .venv/bin; cp "$0" .venv/bin/python
    touch -d 2001-01-01 .venv/bin/python{version}; chmod +x .venv/bin/python{version}
    echo made {version};;
  *) echo "called $*";;
esac
"""
        )
        script.chmod(0o755)
        return f"PYTHON=./{script.name}"

    yield of_version
    shutil.rmtree(clone / ".venv")


def test_nothing_is_installed_twice_unless_python_is_another_one(
    clone: Path, python: Callable[[str], str]
) -> None:
    runtime = "called -m pip --quiet --disable-pip-version-check install --no-deps --require-hashes"
    ours, other = python("3.98"), python("3.99")
    done = make(clone, "setup", ours)
    assert done.count("made 3.98") == 1
    assert done.count(runtime) == 2
    assert "called" not in make(clone, "setup", ours)
    assert make(clone, ".venv/.study", ours).count(runtime) == 1
    done = make(clone, "setup", other)
    assert done.count("made 3.99") == 1
    assert done.count(runtime) == 2
    assert make(clone, ".venv/.study", other).count(runtime) == 1
    (clone / "requirements/dev.txt").touch()
    assert make(clone, "setup", other).count(runtime) == 1


def test_a_python_that_cannot_start_is_an_error(clone: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        make(clone, "setup", "PYTHON=./nowhere")
    assert not (clone / ".venv").exists()


@pytest.mark.slow
def test_the_guide_lists_every_extra_with_its_size() -> None:
    """Within a quarter, as installed here; wheels of other systems have other sizes."""
    page = (ROOT / "docs/guides/installing.md").read_text()
    listed = dict(re.findall(r"^\| `([a-z]+)` \| .* \| (\d+) MB \|$", page, flags=re.MULTILINE))
    extras = PROJECT["project"]["optional-dependencies"]
    assert set(listed) == {name for name, needs in extras.items() if needs}
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        pytest.skip("the sizes are those of Linux on x86-64")
    for name, size in listed.items():
        installed = sum(megabytes(pin.name) for pin in pins_of(name) if pin.applies())
        assert float(size) == pytest.approx(installed, rel=0.25, abs=1), name


def megabytes(name: str) -> float:
    files = metadata.files(name) or []
    paths = [Path(str(file.locate())) for file in files if "__pycache__" not in file.parts]
    return sum(path.stat().st_size for path in paths if path.exists()) / 1e6


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
