"""How things are printed.

Enters: rows and texts, some of them from data that may be hostile. Leaves: tables that fit a
terminal, JSON, CSV. Must not know: what is printed. Text from data never reaches the terminal as a
control sequence, nor Rich as markup.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from countveil.display import progress_shown, text_table, visible

__all__ = [
    "Format",
    "as_json",
    "command_name",
    "escaped_json",
    "print_paragraph",
    "print_rows",
    "print_table",
    "progress_shown",
    "warn",
]


class Format(StrEnum):
    """How to print a table."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], style: Format) -> None:
    """Print rows in the chosen format. JSON and CSV hold the values, the table a readable form."""
    if style is Format.JSON:
        print(as_json([dict(zip(columns, row, strict=True)) for row in rows]))
    elif style is Format.CSV:
        # A file or a pipe gets the values unchanged; a screen gets no control characters.
        on_screen = sys.stdout.isatty()
        writer = csv.writer(sys.stdout, lineterminator="\n")
        for row in (columns, *rows):
            writer.writerow([visible(v) if on_screen and isinstance(v, str) else v for v in row])
    else:
        print_table(columns, rows)


def as_json(value: Any) -> str:
    """JSON for people and programs: readable text without control characters."""
    # What the output's encoding lacks is escaped as JSON does it, so that programs can read it.
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    text = json.dumps(value, indent=2, default=str, ensure_ascii=not encoding.startswith("utf"))
    return escaped_json(text)


def escaped_json(text: str) -> str:
    """Replace control characters by JSON's escapes; the meaning stays the same."""
    return "".join(
        char if char == "\n" or visible(char) == char else json.dumps(char)[1:-1] for char in text
    )


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    widths: Sequence[int | None] | None = None,
) -> None:
    """Print a table that fits the terminal; numbers to the right."""
    print(text_table(columns, rows, widths=widths), end="")


def print_paragraph(text: str, *, bullet: str = "") -> None:
    """Print a paragraph, wrapped to the terminal and indented after its bullet."""
    import shutil
    import textwrap

    width = min(shutil.get_terminal_size((80, 24)).columns, 100)
    indent = " " * len(bullet)
    print(textwrap.fill(visible(text), width, initial_indent=bullet, subsequent_indent=indent))


def command_name() -> str:
    """How to call countveil from here: by name if the shell finds it, else by its path."""
    import shutil
    from pathlib import Path

    from countveil.system.address import relative_path

    if shutil.which("countveil"):
        return "countveil"
    name = Path(sys.argv[0]).stem
    if name == "__main__":
        return "python -m countveil"
    return relative_path(sys.argv[0]) if name == "countveil" else "countveil"


def warn(text: str) -> None:
    """A remark on standard error."""
    if sys.stderr is not None:
        print(visible(text), file=sys.stderr)
