"""How things are printed.

Enters: rows and texts, some of them from data that may be hostile. Leaves: tables that fit a
terminal, JSON, CSV. Must not know: what is printed. Text from data never reaches the terminal as a
control sequence, nor Rich as markup.
"""

from __future__ import annotations

import contextlib
import csv
import json
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from countveil.engines.contract import Progress


class Format(StrEnum):
    """How to print a table."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


FormatOption = Annotated[Format, typer.Option("--format", help="How to print the result.")]


def visible(text: str, most: int | None = None) -> str:
    """The text with everything that could steer a terminal made visible; newlines stay."""
    shown = "".join(
        char
        if char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
        else char.encode("unicode_escape").decode()
        for char in text
    )
    return shown if most is None or len(shown) <= most else shown[: most - 1] + "…"


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], style: Format) -> None:
    """Print rows in the wished format. JSON and CSV hold the values, the table a readable form."""
    if style is Format.JSON:
        listed = [dict(zip(columns, row, strict=True)) for row in rows]
        print(json.dumps(listed, indent=2, default=str, ensure_ascii=False))
    elif style is Format.CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    else:
        print_table(columns, rows)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    widths: Sequence[int | None] | None = None,
) -> None:
    """Print a table that fits the terminal; numbers to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    listed = [list(row) for row in rows]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(columns):
        numeric = any(isinstance(row[place], int | float) for row in listed)
        table.add_column(
            Text(visible(str(name))),
            justify="right" if numeric else "left",
            overflow="fold",
            max_width=widths[place] if widths else None,
        )
    for row in listed:
        table.add_row(*(Text(visible(shown(value), 200)) for value in row))
    Console().print(table)


def shown(value: Any) -> str:
    """A value for people: numbers with as many digits as they deserve."""
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2f}"


def print_paragraph(text: str, *, indent: str = "") -> None:
    """A paragraph, wrapped to the terminal."""
    import shutil
    import textwrap

    width = min(shutil.get_terminal_size((80, 24)).columns, 100)
    print(textwrap.fill(visible(text), width, initial_indent=indent, subsequent_indent=indent))


def own_command() -> str:
    """How to call countveil again from here: by name if the shell finds it, else by its path."""
    import os
    import shutil

    called = sys.argv[0] if os.path.basename(sys.argv[0]) == "countveil" else "countveil"  # noqa: PTH119
    return "countveil" if shutil.which("countveil") else os.path.relpath(called)


def warn(text: str) -> None:
    """A remark on standard error."""
    print(visible(text), file=sys.stderr)


@contextlib.contextmanager
def progress_shown() -> Iterator[Progress]:
    """A progress line on a terminal; nothing anywhere else."""
    if not sys.stderr.isatty():
        yield lambda _stage, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    console = Console(stderr=True)
    columns = (
        SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(),
        TextColumn("{task.fields[rows]}", markup=False), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, rows="")

        def report(stage: str, done: int, total: int) -> None:
            rows = f"{done:,} of {total:,} rows" if total else ""
            label = Text(visible(stage, 40)).plain
            bar.update(task, description=label, completed=done, total=total or None, rows=rows)

        yield report
