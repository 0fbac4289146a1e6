"""Types in signatures: those of the package are links, those of other libraries are text.

Enters: the modules of the package. Leaves: their annotations, resolvable. Must not know: pages.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

import countveil

# Nothing is loaded from their sites, so their names have nowhere to lead.
_LIBRARIES = "pyarrow|pa|pandas|pd|polars|pl|numpy|np|collections|typing|os|pathlib"
_BUILT_IN = "Any|Callable|Iterator|Iterable|Mapping|NDArray|Path|Sequence|Unpack|None|[a-z]+"
# Ours, but made up of plain values that the pages on the format and the reports explain.
_EXPLAINED_ELSEWHERE = (
    r"countveil\.(release\.manifest\.(About|OddsBound)|report\.(chart\.Chart|board\.CodebookEntry)"
    r"|tables\.levels\.RareMerge)|Places?"
)
OTHERS_TYPES = [
    (r"py:.*", rf"({_LIBRARIES})\..*"),
    (r"py:.*", _BUILT_IN),
    (r"py:class", _EXPLAINED_ELSEWHERE),
]
# They need a library that a site is built without, or run a command.
_LEFT_OUT = ("countveil.engines.spark", "countveil.__main__")


def resolve_guarded_imports() -> None:
    """Do the imports that modules keep for type checkers, so that annotations can be evaluated."""
    for name in sorted(m.name for m in pkgutil.walk_packages(countveil.__path__, "countveil.")):
        if not name.startswith(_LEFT_OUT) and (module := imported(name)) is not None:
            _resolve(module)


def imported(name: str) -> ModuleType | None:
    """A module of the package; None if it needs an extra that a site is built without."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as lacking:
        if (lacking.name or "").partition(".")[0] == countveil.__name__:
            raise
        return None


def _resolve(module: ModuleType) -> None:
    source = Path(module.__file__ or "").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in node.body:
                if isinstance(line, ast.Import | ast.ImportFrom):
                    _import(line, vars(module))


def _import(line: ast.Import | ast.ImportFrom, names: dict[str, object]) -> None:
    try:
        exec(compile(ast.Module([line], []), "annotations", "exec"), names)  # noqa: S102 - our own
    except ImportError:
        # An extra that is not installed; its types stay text.
        return
