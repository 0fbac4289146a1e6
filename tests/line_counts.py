"""Counts the lines of the package that tests reach, at hardly any cost.

Enters: the source of every module of the package, as it is imported. Leaves: the same module, which
also notes each of its statements when it is executed; and, at the end of a test process, what it
noted, in the data of pytest-cov, which adds the processes up, reports and compares with the floor.
It must not know what is tested. A tracer is called for every line of Python, those of libraries
as well, and makes the tests take half as long again; a note is one assignment to a dictionary.

It is at work when COUNTVEIL_LINES is set and lines are asked for with --cov. What it adds to a
module: in front of each statement, `__lines__[its number] = True`. The compiled modules are kept
beside those of every day, under another name.
"""

from __future__ import annotations

import ast
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

PACKAGE = "countveil"
NOTES = "__lines__"
WANTED = bool(os.environ.get("COUNTVEIL_LINES"))
# By file, the lines that were reached.
REACHED: dict[str, dict[int, bool]] = {}
# Whoever changes this module changes what is kept of it.
_KEPT = f".lines-{zlib.crc32(Path(__file__).read_bytes()):08x}.pyc"


class Loader(SourceFileLoader):
    """Loads a module that notes its lines."""

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        """The code of the module, with the notes in it."""
        tree = with_notes(ast.parse(data, path))
        code: CodeType = compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)
        return code

    def get_data(self, path: str) -> bytes:
        return super().get_data(_kept(path))

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        super().set_data(_kept(path), data, _mode=_mode)

    def exec_module(self, module: ModuleType) -> None:
        """A module that is imported anew goes on with its notes."""
        module.__dict__[NOTES] = REACHED.setdefault(self.path, {})
        super().exec_module(module)


def _kept(path: str) -> str:
    return path.removesuffix(".pyc") + _KEPT if path.endswith(".pyc") else path


class Finder(MetaPathFinder):
    """Finds the modules of the package before anybody else does."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The usual place, with another loader."""
        if fullname.partition(".")[0] != PACKAGE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


def with_notes(tree: ast.Module) -> ast.Module:
    """The same program, which notes the first line of each statement it reaches.

    Lines of `except` and `case` are noted when what stands below them is reached. Docstrings stay
    first, and so do imports from the future.
    """
    for node in list(ast.walk(tree)):
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                setattr(node, name, list(_noted(node, statements)))
    return ast.fix_missing_locations(tree)


def _noted(parent: ast.AST, statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    first = [parent.lineno] if isinstance(parent, ast.ExceptHandler) else []
    first += [parent.pattern.lineno] if isinstance(parent, ast.match_case) else []
    waiting = [_note(line, statements[0]) for line in first]
    head = True
    for statement in statements:
        lines = [d.lineno for d in getattr(statement, "decorator_list", [])]
        waiting += [_note(line, statement) for line in (*lines, statement.lineno)]
        head = head and _stays_first(statement)
        if head:
            yield statement
            continue
        yield from waiting
        waiting.clear()
        yield statement
    yield from waiting


def _stays_first(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__"
    text = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(text, ast.Constant) and isinstance(text.value, str)


def _note(line: int, beside: ast.stmt) -> ast.stmt:
    target = ast.Subscript(ast.Name(NOTES, ast.Load()), ast.Constant(line), ast.Store())
    return ast.copy_location(ast.Assign([target], ast.Constant(True)), beside)


class Lines:
    """Gives the lines to pytest-cov, whose tracer rests."""

    def __init__(self, coverage: Any) -> None:
        self._coverage = coverage
        # In a process of pytest-xdist pytest-cov starts twice: when the last one stops, the tracer
        # of the first goes on.
        while (running := type(coverage).current()) is not None:
            running.stop()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self) -> Iterator[None]:
        result = yield
        self._coverage.get_data().add_lines(
            {path: list(lines) for path, lines in REACHED.items() if lines}
        )
        return result


def hand_over_lines(config: pytest.Config) -> None:
    """Let pytest-cov have the lines of this process, if it asks for any."""
    controller = getattr(config.pluginmanager.getplugin("_cov"), "cov_controller", None)
    if WANTED and controller is not None:
        config.pluginmanager.register(Lines(controller.cov))
        if not hasattr(config, "workerinput") and config.cache is not None:
            from tests.kept_statements import Kept

            config.pluginmanager.register(Kept(config.cache))


if WANTED:
    sys.meta_path.insert(0, Finder())
