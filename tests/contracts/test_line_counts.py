"""Lines are counted as a tracer counts them, and what runs is the same program."""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
import threading
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, cast

import pytest
from coverage.parser import PythonParser

from tests.kept_statements import Kept
from tests.line_counts import NOTES, REACHED, WANTED, Loader, with_notes

PROGRAM = '''\
"""A module."""

from __future__ import annotations

import functools
from dataclasses import dataclass


@functools.cache
@functools.wraps(len)
def decorated(number: int) -> str:
    """A function."""
    if number > 2:
        return "large"
    elif number == 2:
        return "two"
    else:
        return "small"


@dataclass
class Pair:
    """A class."""

    one: int
    two: str = "2"

    def loop(self) -> int:
        total = 0
        for number in range(self.one):
            if number == 1:
                continue
            total += number
        else:
            total += 100
        while total < 0:
            total += 1
        return total


def caught(text: str) -> object:
    try:
        number = int(text)
    except ValueError as error:
        return type(error)
    except TypeError:
        return None
    else:
        number += 1
    finally:
        text = ""
    match number:
        case 1:
            return "one"
        case 5:
            return [
                number,
                text,
            ]
        case _:
            pass
    with open(__file__) if number < 0 else functools.lru_cache.__class__ and _Nothing() as it:
        return it


class _Nothing:
    def __enter__(self) -> str:
        return "it"

    def __exit__(self, *_: object) -> None:
        return


RESULTS = [decorated(3), decorated(1), Pair(3).loop(), caught("x"), caught("4"), caught("7")]
'''


def statements_of(text: str) -> set[int]:
    """First lines of what a tracer reports: nothing inside of a statement."""
    nodes = list(ast.walk(ast.parse(text)))
    lines = {node.lineno for node in nodes if isinstance(node, ast.stmt)}
    return lines | {d.lineno for node in nodes for d in getattr(node, "decorator_list", [])}


def clauses_of(text: str) -> set[int]:
    """Lines of `except` and `case`: a tracer also reports those that then do not apply."""
    nodes = list(ast.walk(ast.parse(text)))
    cases = {node.pattern.lineno for node in nodes if isinstance(node, ast.match_case)}
    return cases | {node.lineno for node in nodes if isinstance(node, ast.ExceptHandler)}


def traced(text: str, path: Path) -> tuple[set[int], dict[str, Any]]:
    reached: set[int] = set()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != str(path):
            return None
        if event == "line":
            reached.add(frame.f_lineno)
        return trace

    names: dict[str, Any] = {"__name__": "sample", "__file__": str(path)}
    code, before = compile(text, str(path), "exec"), sys.gettrace()
    sys.settrace(trace)
    try:
        exec(code, names)
    finally:
        sys.settrace(before)
    return reached, names


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_loader("sample", Loader("sample", str(path)))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The module, for whom dataclasses look in the modules that are loaded."""
    monkeypatch.setitem(sys.modules, "sample", ModuleType("sample"))
    path = tmp_path / "sample.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def test_the_lines_are_those_of_a_tracer(path: Path) -> None:
    expected, names = traced(PROGRAM, path)
    module = loaded(path)
    noted, docstrings = set(REACHED.pop(str(path))), {1, 12, 24}
    statements, clauses = statements_of(PROGRAM) - docstrings, clauses_of(PROGRAM)
    assert noted & statements == expected & statements
    assert noted & clauses <= expected & clauses
    assert {PROGRAM.splitlines()[line - 1].strip() for line in noted & clauses} == {
        "except ValueError as error:", "case 5:", "case _:"
    }  # fmt: skip
    assert [str(result) for result in names["RESULTS"]] == [str(r) for r in module.RESULTS]
    missed = statements - noted
    assert {PROGRAM.splitlines()[line - 1].strip() for line in missed} >= {
        'return "two"', "return None", 'return "one"', "total += 1"
    }  # fmt: skip


def test_docstrings_stay_and_the_module_is_kept_apart(path: Path) -> None:
    module = loaded(path)
    REACHED.pop(str(path))
    assert module.__doc__ == "A module."
    assert module.decorated.__wrapped__.__doc__ == len.__doc__
    assert module.Pair.__doc__ == "A class."
    kept = [file.name for file in (path.parent / "__pycache__").glob("*.pyc")]
    assert sys.dont_write_bytecode or [".lines-" in name for name in kept] == [True]


def test_a_second_import_goes_on_with_the_notes(path: Path) -> None:
    first = loaded(path)
    notes = REACHED[str(path)]
    second = loaded(path)
    assert getattr(first, NOTES) is getattr(second, NOTES) is notes
    REACHED.pop(str(path))


def test_what_only_has_a_docstring_is_left_alone() -> None:
    tree = with_notes(ast.parse('def nothing():\n    """Only this."""\n'))
    names: dict[str, Any] = {NOTES: {}}
    exec(compile(tree, "nowhere", "exec"), names)
    assert names["nothing"].__doc__ == "Only this."
    assert names["nothing"]() is None
    assert names[NOTES] == {1: True, 2: True}


@pytest.mark.skipif(not WANTED, reason="lines are not counted in this run")
def test_while_lines_are_noted_no_tracer_is_called() -> None:
    assert sys.gettrace() is None
    assert threading.gettrace() is None


class Cache:
    """Holds what pytest would write to a file."""

    def __init__(self) -> None:
        self.held: dict[str, Any] = {}

    def get(self, place: str, default: Any) -> Any:
        return json.loads(json.dumps(self.held.get(place, default)))

    def set(self, place: str, value: Any) -> None:
        self.held[place] = value


def read(cache: Cache, text: str, exclude: str = "two") -> list[Any]:
    """What is read of a module in a run of the tests."""
    parser = PythonParser(text=text, exclude=exclude)
    run = Kept(cast("pytest.Cache", cache)).pytest_runtestloop()
    next(run)
    parser.parse_source()
    with pytest.raises(StopIteration):
        next(run)
    return [parser.statements, parser.excluded, parser.first_lines(range(80))]


def test_a_module_is_read_once_while_it_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    cache, parser = Cache(), PythonParser(text=PROGRAM, exclude="two")
    parser.parse_source()
    expected = [parser.statements, parser.excluded, parser.first_lines(range(80))]
    assert all(expected)
    assert read(cache, PROGRAM) == expected
    monkeypatch.setattr(PythonParser, "_raw_parse", None)
    assert read(cache, PROGRAM) == expected
    for text, exclude in ((PROGRAM + "\n", "two"), (PROGRAM, "one")):
        with pytest.raises(TypeError):
            read(cache, text, exclude)
