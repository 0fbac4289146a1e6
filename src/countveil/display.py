"""Values and tables for people: terminals and notebooks.

Enters: rows, some of their text from data that may be hostile. Leaves: text and HTML in which
nothing of it can steer a terminal, Rich or a browser. Must not know: what is shown.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

# Controls, formats (bidirectional marks among them), surrogates, private use, line separators.
_STEERING = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
_LONGEST_CELL = 200


def visible(text: str, most: int | None = None) -> str:
    """The text with everything that could steer a terminal made visible; newlines stay."""
    shown = "".join(
        char
        if char == "\n" or unicodedata.category(char) not in _STEERING
        else char.encode("unicode_escape").decode()
        for char in text
    )
    return shown if most is None or len(shown) <= most else shown[: most - 1] + "…"


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
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2g}"


def text_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    width: int | None = None,
    widths: Sequence[int | None] | None = None,
) -> str:
    """A table that fits the width (that of the terminal if None); numbers to the right."""
    import io

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    listed = [list(row) for row in rows]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(columns):
        numeric = any(isinstance(row[place], int | float) for row in listed)
        table.add_column(
            Text(_cell(name)),
            justify="right" if numeric else "left",
            overflow="fold",
            max_width=widths[place] if widths else None,
        )
    for row in listed:
        table.add_row(*(Text(_cell(value)) for value in row))
    sink = io.StringIO()
    console = Console(file=sink, width=width or Console().width)
    console.print(table)
    return "\n".join(line.rstrip() for line in sink.getvalue().splitlines()) + "\n"


def html_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table for a notebook, everything escaped."""
    head = "".join(f"<th>{html.escape(_cell(name))}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    return visible(shown(value), _LONGEST_CELL).replace("\n", "\\n")
