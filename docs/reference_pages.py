"""The reference pages that are made from the code: `make docs` writes them, a test compares them.

The command line comes from the commands' own --help, the census from its model, the overview of the
Python names from their docstrings.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from countveil.cli.app import app
from countveil.synthetic import expected_shares


def _commands(group: Any, before: str = "") -> dict[str, Any]:
    """All commands by name; those of a group by its name and theirs."""
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        inner = hasattr(command, "commands")
        found.update(_commands(command, f"{name} ") if inner else {before + name: command})
    return found


_BY_NAME = _commands(typer.main.get_command(app))
COMMANDS: tuple[str, ...] = tuple(_BY_NAME)
_WIDTH = 88
_MOST_LISTED = 60
_COMMAND_LINE = """# Command line

This page is made from the commands' own `--help` by `make docs`.

Exit codes: 0 done; 1 the data or the request cannot be served, and everything is as it was; 2 wrong
usage; 3 what was asked for is in place and complete, but something failed after that, such as the
last sync of the folder or printing; 130 interrupted, 143 terminated. Where something is in place,
or could not be removed, the message says so.
"""
_CENSUS = """# The made-up census

`countveil generate` and `countveil demo` use it. Nobody in it exists, and none of its numbers were
taken from a real census. This page is made from the model by `make docs`.

Gender, age and country are drawn on their own; race depends on country, education on age, marital
on age and gender, occupation on gender and education, workclass on occupation, salary on
occupation, education and age. The shares below are exact, summed over the model.
"""


_PYTHON = """# Python

`import countveil as cv`. The names below, and what their methods give, are everything that
programs can rely on. This page is made from the docstrings by `make docs`; in a session
`help(cv.publish)` shows the rest: arguments, results, errors and examples. The site has all of it.

Results print well, display as HTML in a notebook and convert to Arrow, pandas and Polars where they
are tables. Everything that countveil refuses is a `CountveilError`, whose message says what would
work.
"""
_SHOWN = re.compile(r"^\.\. auto(?:function|class|exception):: ([\w.]+)", re.MULTILINE)


def help_text(command: str) -> str:
    """What `countveil COMMAND --help` prints, at a fixed width."""
    found = _BY_NAME[command]
    context = found.make_context(
        f"countveil {command}", [], resilient_parsing=True, terminal_width=_WIDTH
    )
    return str(found.get_help(context)).rstrip() + "\n"


def command_line_page() -> str:
    """All commands."""
    commands = [f"## countveil {name}\n\n```\n{help_text(name)}```\n" for name in COMMANDS]
    return "\n".join([_COMMAND_LINE, *commands])


def census_page() -> str:
    """The shares of the made-up census."""
    parts = [_CENSUS]
    for name, shares in expected_shares().items():
        if len(shares) > _MOST_LISTED:
            ages = [value for value in shares if isinstance(value, int)]
            bands = [(first, first + 9) for first in range(10, 100, 10)]
            listed: dict[Any, float] = {
                f"{max(first, min(ages))}-{min(last, max(ages))}": share
                for first, last in bands
                if (share := sum(shares[age] for age in ages if first <= age <= last)) > 0
            }
        else:
            listed = dict(sorted(shares.items(), key=lambda item: -item[1]))
        rows = "\n".join(f"| {value} | {100 * share:.2f}% |" for value, share in listed.items())
        parts.append(f"## {name}\n\n| value | share |\n|---|---|\n{rows}\n")
    return "\n".join(parts)


def python_page() -> str:
    """All names of the Python reference, with the first line of each docstring."""
    parts = [_PYTHON]
    for name in ("publishing", "checking", "asking", "results", "errors"):
        text = (Path(__file__).parent / "reference" / "python" / f"{name}.rst").read_text()
        title, rows = text.split("\n", 1)[0], []
        for path in _SHOWN.findall(text):
            module, _, short = path.rpartition(".")
            first = (inspect.getdoc(getattr(importlib.import_module(module), short)) or "").split(
                "\n"
            )
            shown = f"cv.{short}" if module == "countveil" else short
            rows.append(f"| `{shown}` | {first[0]} |")
        parts.append(
            f"## [{title}](python/{name}.rst)\n\n| name | |\n|---|---|\n" + "\n".join(rows) + "\n"
        )
    return "\n".join(parts)


PAGES: dict[str, Callable[[], str]] = {
    "command-line.md": command_line_page,
    "census.md": census_page,
    "python.md": python_page,
}


def main() -> None:
    """Write all pages."""
    for name, page in PAGES.items():
        (Path(__file__).parent / "reference" / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
