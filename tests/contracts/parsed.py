"""What tests of the code's shape ask about a module: each is parsed once for all of them.

Enters: the path of a module. Leaves: what it imports, whether it says what it is, and the functions
and classes in it with their lines and branches. Trees are not kept: they are large.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BRANCHES = (
    ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.BoolOp, ast.comprehension,
    ast.Match,
)  # fmt: skip
# Every branch is written with one of these words at least.
BRANCHING = re.compile(r"\b(?:if|elif|for|while|except|and|or|match)\b")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Definition:
    """A function or a class; a class has no lines and no branches."""

    name: str
    lines: int = 0
    branches: int = 0


@dataclass(frozen=True)
class Parsed:
    """What is asked about one module."""

    documented: bool
    lines: int
    imported: frozenset[str]
    definitions: tuple[Definition, ...]


@functools.cache
def parsed(path: Path) -> Parsed:
    """The module at this path."""
    text = path.read_text(encoding="utf-8")
    tree, rows = ast.parse(text), text.splitlines()
    imported, definitions = set[str](), []
    for node in statements(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            imported.add(node.module or "")
        elif isinstance(node, ast.ClassDef):
            definitions.append(Definition(node.name))
        elif isinstance(node, Function):
            definitions.append(Definition(node.name, lines_of(node), branches_of(node, rows)))
    documented = bool(ast.get_docstring(tree))
    return Parsed(documented, text.count("\n"), frozenset(imported), tuple(definitions))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below; most of a tree is expressions, which hold none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield child
            yield from statements(child)


def lines_of(function: Function) -> int:
    """The lines of the body, without signature (a command's options) and docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def branches_of(function: Function, rows: list[str], few: int = 15) -> int:
    """How many branches the body has, or at most has where that is few enough for any function.

    Only where the words for branches are more are all expressions looked at.
    """
    text = "\n".join(rows[function.body[0].lineno - 1 : function.end_lineno])
    most = len(BRANCHING.findall(text))
    if most <= few:
        return most
    return sum(isinstance(node, BRANCHES) for part in function.body for node in ast.walk(part))
