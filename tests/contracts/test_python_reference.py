"""The Python reference: every public name is on it, and every docstring is complete and true."""

from __future__ import annotations

import builtins
import dataclasses
import doctest
import importlib
import inspect
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import countveil as cv
from countveil import errors
from countveil.tables import SourceOptions

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs/reference/python").glob("*.rst"))
# What makes a release or a figure inside the package; nobody else has need of it.
FOR_OTHER_ROOMS = {"of", "over", "planned", "table", "view_of"}
# Trial publications and attacks take seconds.
LONG_EXAMPLES = {
    "advise", "Advice", "audit", "Audit", "compare", "Comparison", "ReleaseSeries",
}  # fmt: skip
STARS = {"VAR_KEYWORD": "**", "VAR_POSITIONAL": "*"}
SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Example")


def documented() -> dict[str, Any]:
    """What the pages show: functions, classes and exceptions by their names."""
    text = "".join(page.read_text() for page in PAGES)
    names = re.findall(r"^\.\. auto(?:function|class|exception):: ([\w.]+)", text, re.MULTILINE)
    return {name: _named(name) for name in names}


def _named(path: str) -> Any:
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)


OBJECTS = documented()
CLASSES = {name: value for name, value in OBJECTS.items() if inspect.isclass(value)}


def methods_of(owner: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that are ours, as functions."""
    for name in dir(owner):
        at = next((base for base in owner.__mro__ if name in vars(base)), object)
        if name.startswith("_") or name in FOR_OTHER_ROOMS or "countveil" not in at.__module__:
            continue
        member = inspect.getattr_static(owner, name)
        function = getattr(member, "fget", getattr(member, "func", member))
        function = getattr(function, "__func__", function)
        if inspect.isfunction(function):
            yield name, member if isinstance(member, property | cached_property) else function


FUNCTIONS = {name: value for name, value in OBJECTS.items() if inspect.isfunction(value)}
METHODS = {
    f"{path}.{name}": member
    for path, owner in CLASSES.items()
    for name, member in methods_of(owner)
    if inspect.isfunction(member)
}
CALLABLES: dict[str, Any] = {**FUNCTIONS, **METHODS}


def sections(value: Any) -> dict[str, str]:
    """The sections of a docstring by their headings; what comes before them has none."""
    text = inspect.getdoc(value) or ""
    parts = re.split(rf"^({'|'.join(SECTIONS)}):$", text, flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def entries(section: str) -> Mapping[str, str]:
    """What a section says, by the name that each of its lines begins with."""
    return dict(re.findall(r"^    (\*{0,2}\w+)(?: \([^)]*\))?: (\S.*)$", section, re.MULTILINE))


def test_every_public_name_has_a_place() -> None:
    shown = {name.rsplit(".", 1)[1] for name in OBJECTS if name.count(".") == 1}
    assert shown == set(cv.__all__) - {"__version__"}


def test_every_error_has_a_place() -> None:
    every = {
        value
        for value in vars(errors).values()
        if inspect.isclass(value) and issubclass(value, cv.CountveilError)
    }
    assert every <= set(OBJECTS.values())


def test_there_is_something_to_check() -> None:
    assert len(PAGES) == 5
    assert len(CLASSES) > 50
    assert len(CALLABLES) > 80


@pytest.mark.few(20)
@pytest.mark.parametrize("name", CALLABLES)
def test_every_parameter_is_explained(name: str) -> None:
    function = CALLABLES[name]
    taken = [
        f"{STARS.get(parameter.kind.name, '')}{parameter.name}"
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    assert list(entries(sections(function).get("Args", ""))) == taken


@pytest.mark.few(20)
@pytest.mark.parametrize("name", CALLABLES)
def test_what_comes_back_is_said(name: str) -> None:
    function = CALLABLES[name]
    said = sections(function)
    assert said[""].strip().endswith((".", "?"))
    returns_nothing = inspect.signature(function).return_annotation in ("None", None)
    # Of a method that takes nothing, the first line says what it gives.
    if not returns_nothing and "Args" in said:
        assert said.get("Returns", "").strip().endswith(".")


@pytest.mark.few(20)
@pytest.mark.parametrize("name", OBJECTS)
def test_errors_that_are_named_exist(name: str) -> None:
    value = OBJECTS[name]
    members = [member for _, member in methods_of(value)] if inspect.isclass(value) else []
    for each in (value, *members):
        for error in entries(sections(each).get("Raises", "")):
            assert hasattr(errors, error) or hasattr(builtins, error)


def _raises(function: Callable[..., Any]) -> set[str]:
    """The errors that its own lines raise."""
    return set(re.findall(r"^\s+raise (\w+Error)\(", inspect.getsource(function), re.MULTILINE))


@pytest.mark.few(20)
@pytest.mark.parametrize("name", CALLABLES)
def test_an_error_that_is_raised_is_named(name: str) -> None:
    function = CALLABLES[name]
    assert _raises(inspect.unwrap(function)) <= set(entries(sections(function).get("Raises", "")))


@pytest.mark.parametrize("name", [n for n in OBJECTS if n.count(".") == 1])
def test_a_public_name_shows_an_example_and_its_errors(name: str) -> None:
    said = sections(OBJECTS[name])
    assert ">>> " in said["Example"]
    if inspect.isfunction(OBJECTS[name]):
        assert entries(said["Raises"])


@pytest.mark.parametrize("owner", ["Release", "maths.guarantees.guarantee.Guarantee"])
def test_the_verbs_of_a_release_and_of_a_guarantee_show_examples(owner: str) -> None:
    for name, method in CALLABLES.items():
        if name.startswith(f"countveil.{owner}."):
            assert ">>> " in sections(method)["Example"], name
            assert entries(sections(method)["Raises"]), name


@pytest.mark.few(20)
@pytest.mark.parametrize("name", CLASSES)
def test_every_field_is_explained(name: str) -> None:
    owner = CLASSES[name]
    said = set(entries(sections(owner).get("Attributes", "")))
    fields = set()
    if dataclasses.is_dataclass(owner):
        fields = {field.name for field in dataclasses.fields(owner)}
        assert said == fields
    assert inspect.getdoc(owner)


def test_every_way_to_read_a_table_is_explained() -> None:
    said = entries(sections(SourceOptions)["Attributes"])
    assert list(said) == list(SourceOptions.__annotations__)


@pytest.mark.parametrize("name", CLASSES)
def test_what_a_class_is_made_with_is_explained(name: str) -> None:
    owner = CLASSES[name]
    if "__init__" in vars(owner) and not dataclasses.is_dataclass(owner):
        taken = [p for p in inspect.signature(owner.__init__).parameters if p != "self"]
        said = list(entries(sections(owner).get("Args", "")))
        # What only other functions make says what it holds instead.
        assert said == taken or name.startswith("countveil.release.verify.")


def _examples() -> Iterator[Any]:
    finder = doctest.DocTestParser()
    for name, value in (OBJECTS | CALLABLES).items():
        text = inspect.getdoc(value) or ""
        test = finder.get_doctest(text, {}, name, name, 0)
        if test.examples:
            slow = bool(LONG_EXAMPLES & set(name.split(".")))
            yield pytest.param(test, id=name, marks=[pytest.mark.slow] if slow else [])


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """The table of the examples, and the folder with its release."""
    folder = tmp_path_factory.mktemp("examples")
    table = cv.generate(5_000, seed=1)
    cv.publish(table, {"occupation": 5}, folder / "census-release", seed=1, record=False)
    return table, folder


@pytest.mark.few(8)
@pytest.mark.parametrize("test", list(_examples()))
def test_an_example_shows_what_comes_out(
    test: doctest.DocTest, census: tuple[Any, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, folder = census
    (tmp_path / "census-release").symlink_to(folder / "census-release")
    monkeypatch.chdir(tmp_path)
    test.globs = {"cv": cv, "table": table, "release": cv.open("census-release")}
    said: list[str] = []
    with warnings.catch_warnings():
        # A seeded release warns; an example need not show it.
        warnings.simplefilter("ignore", UserWarning)
        outcome = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert outcome.attempted > 0
    assert not outcome.failed, "".join(said)
