"""Values and tables for people: terminals and notebooks.

Enters: rows, some of their text from data that may be hostile. Leaves: text and HTML that cannot
control a terminal, Rich or a browser. Must not know: what is shown.
"""

from __future__ import annotations

import contextlib
import html
import os
import unicodedata
from collections.abc import Iterable, Sequence
from operator import le
from typing import Any

# Controls, formats (bidirectional marks among them), surrogates, private use, line separators.
_CONTROLLING = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
_LONGEST_CELL = 200
# A notebook keeps what it shows, and nobody reads the thousandth line of it.
MOST_ROWS = 30

Table = tuple[Sequence[str], Sequence[Sequence[Any]]]
Part = str | Table


def visible(text: str, most: int | None = None) -> str:
    """The text with everything that could control a terminal made visible; newlines stay."""
    if text.isprintable():
        # Characters of the kinds below are not printable.
        return text if most is None or len(text) <= most else text[: most - 1] + "…"
    escaped = "".join(
        char
        if char == "\n" or unicodedata.category(char) not in _CONTROLLING
        else char.encode("unicode_escape").decode()
        for char in text
    )
    return escaped if most is None or len(escaped) <= most else escaped[: most - 1] + "…"


def readable(value: Any) -> str:
    """A value for people: numbers with as many digits as are useful."""
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2g}"


def text_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    width: int | None = None,
    widths: Sequence[int | None] | None = None,
) -> str:
    """A table that fits the width (the terminal's if None); numbers are aligned right."""
    listed = [list(row) for row in rows]
    width = width or terminal_width()
    right = [
        any(isinstance(row[place], int | float) for row in listed) for place in range(len(columns))
    ]
    lines = [[_cell(name) for name in columns], *([_cell(v) for v in row] for row in listed)]
    needed = [max(map(len, column)) for column in zip(*lines, strict=True)]
    if _fits(lines, needed, width, widths):
        return _simple_table(lines, needed, right)
    return _folded_table(lines, right, width, widths)


def _fits(
    lines: list[list[str]], needed: list[int], width: int, widths: Sequence[int | None] | None
) -> bool:
    """Whether every cell fits on one line and is as wide as it has characters."""
    most = [most or width for most in widths] if widths else [width] * len(needed)
    narrow = sum(needed) + 3 * len(needed) - 1 <= width and all(map(le, needed, most))
    return narrow and all(needed) and all(cell.isascii() for line in lines for cell in line)


def _simple_table(lines: list[list[str]], needed: list[int], right: list[bool]) -> str:
    """A table that fits as it is, laid out as Rich would; loading Rich would take longer."""
    laid = [
        "   ".join(
            cell.rjust(size) if to_right else cell.ljust(size)
            for cell, size, to_right in zip(line, needed, right, strict=True)
        )
        for line in lines
    ]
    rule = "─" * (sum(needed) + 3 * len(needed) - 3)
    body = "".join(f" {line}".rstrip() + "\n" for line in laid[1:])
    return "\n" + f" {laid[0]}".rstrip() + f"\n {rule}\n{body}\n"


def _folded_table(
    lines: list[list[str]],
    right: list[bool],
    width: int,
    widths: Sequence[int | None] | None,
) -> str:
    """Cells that do not fit are folded, and characters may be wide: Rich does both.

    A number is never folded: half of one is another number.
    """
    import io

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(lines[0]):
        table.add_column(
            Text(name),
            justify="right" if right[place] else "left",
            overflow="fold",
            no_wrap=right[place],
            max_width=widths[place] if widths else None,
        )
    for line in lines[1:]:
        table.add_row(*(Text(cell) for cell in line))
    sink = io.StringIO()
    Console(file=sink, width=width).print(table)
    return "\n".join(line.rstrip() for line in sink.getvalue().splitlines()) + "\n"


def table_width(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
    """How wide the table is if nothing in it is folded."""
    lines = [columns, *rows]
    widest = (max(len(_cell(line[place])) for line in lines) for place in range(len(columns)))
    return sum(widest) + 3 * len(columns) - 1


def terminal_width() -> int:
    """The columns of the terminal; without one, 80."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and int(wanted) > 0:
        return int(wanted)
    for stream in range(3):
        with contextlib.suppress(OSError, ValueError):
            return os.get_terminal_size(stream).columns or 80
    return 80


def html_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], most: int = MOST_ROWS) -> str:
    """A table for a notebook, everything escaped, numbers to the right; the first rows of many."""
    listed = list(rows)
    left_out = f"<p>{remainder(len(listed), most)}</p>" if len(listed) > most else ""
    head = "".join(f"<th>{html.escape(_cell(name))}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(_html_cell(value) for value in row) + "</tr>" for row in listed[:most]
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return table + left_out


def _html_cell(value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    style = ' style="text-align:right"' if number else ""
    return f"<td{style}>{html.escape(_cell(value))}</td>"


def remainder(total: int, most: int) -> str:
    """How many rows are not shown."""
    left = total - most
    return f"… and {left:,} more row{'' if left == 1 else 's'}"


def text_of(parts: Iterable[Part], between: str = "\n", *, width: int | None = None) -> str:
    """Paragraphs and tables as text for a terminal."""
    shown = (
        visible(part) if isinstance(part, str) else text_table(*part, width=width) for part in parts
    )
    return between.join(shown)


def html_of(parts: Iterable[Part]) -> str:
    """The same for a notebook, everything escaped."""
    shown = (
        f"<p>{html.escape(visible(part.strip()))}</p>"
        if isinstance(part, str)
        else html_table(*part)
        for part in parts
        if not isinstance(part, str) or part.strip()
    )
    return "".join(shown)


def _cell(value: Any) -> str:
    return visible(readable(value), _LONGEST_CELL).replace("\n", "\\n")
