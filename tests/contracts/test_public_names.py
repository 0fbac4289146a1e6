"""What users may rely on: the public names, the map in the docstring, what start-up costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import countveil

PUBLIC = [
    "CountveilError",
    "Estimate",
    "Ledger",
    "Release",
    "ReleaseSeries",
    "__version__",
    "advise",
    "audit",
    "compare",
    "export",
    "generate",
    "guarantee",
    "inspect",
    "open",
    "publish",
    "verify",
]


def test_the_public_names_are_pinned() -> None:
    assert countveil.__all__ == PUBLIC


def test_every_public_name_can_be_used_and_is_on_the_map() -> None:
    for name in PUBLIC:
        assert getattr(countveil, name) is not None
        assert name.startswith("__") or f"`{name}`" in (countveil.__doc__ or "")


def test_every_function_is_documented_where_it_lives() -> None:
    for name in PUBLIC:
        value = getattr(countveil, name)
        if callable(value):
            assert value.__name__ == name
            assert value.__doc__
            assert name in dir(countveil)


def test_no_module_shares_its_name_with_a_public_function() -> None:
    """Importing such a module would put it in the function's place."""
    rooms = {path.stem for path in Path(countveil.__file__).parent.iterdir()}
    assert not rooms & set(PUBLIC)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(countveil, "publsh")


def test_importing_countveil_imports_nothing_heavy() -> None:
    program = "import sys, countveil; print(*sys.modules)"
    loaded = set(_run(program).split())
    assert not loaded & {"numpy", "pyarrow", "duckdb", "sqlglot", "typer", "rich", "cryptography"}


def test_an_analyst_loads_nothing_of_the_publishers_side() -> None:
    program = (
        "import sys, countveil.asking.release, countveil.engines.local.release_table; "
        "print(*sys.modules)"
    )
    loaded = set(_run(program).split())
    rooms = (
        "countveil.tables", "countveil.publishing", "countveil.maths.groups",
        "countveil.maths.mechanism", "countveil.auditing", "countveil.comparing",
        "countveil.randomness",
    )  # fmt: skip
    assert "countveil.sql.query" in loaded
    assert not {name for name in loaded if f"{name}.".startswith(tuple(f"{r}." for r in rooms))}


def _run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout
