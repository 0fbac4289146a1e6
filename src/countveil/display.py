"""Values, tables and progress for people: terminals and notebooks.

Enters: rows, some of their text from data that may be hostile; stages of long work. Leaves: text
and HTML that cannot control a terminal, Rich or a browser. Must not know: what is shown. In a
notebook nothing has a colour of its own, so that it is read in light and dark ones alike.
"""

from __future__ import annotations

import contextlib
import html
import os
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from operator import le
from typing import Any

# Controls, formats (bidirectional marks among them), surrogates, private use, line separators.
_CONTROLLING = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
_LONGEST_CELL = 200
# Folding takes milliseconds for each row: minutes for a long table, which nobody reads whole.
_MOST_FOLDED = 1_000
# A notebook keeps what it shows, and nobody reads the thousandth line of it.
MOST_ROWS = 30

# Notebooks put their text in their own colours. Lines are grey, which shows on any ground; styles
# are attributes, because what cleans the pages of a notebook takes stylesheets away.
_FRAME = "overflow-x:auto;margin:0.5em 0"
_WHOLE = "border-collapse:collapse;margin:0;font-variant-numeric:tabular-nums"
_SPACE = "padding:0.3em 1.1em 0.3em 0"
_CELL = f"{_SPACE};vertical-align:top;border-bottom:1px solid rgba(128,128,128,.3)"
_HEAD = f"{_SPACE};vertical-align:bottom;border-bottom:2px solid rgba(128,128,128,.8)"
_PARAGRAPH = "max-width:46em;margin:0.5em 0;white-space:pre-line"
# Seconds: work that is done before is not worth a bar; how often a notebook draws one anew; from
# when on a speed is worth saying.
_WORTH_A_BAR, _BETWEEN_DRAWINGS, _SPEED_AFTER = 0.4, 0.2, 0.5

# Stage, rows done, rows in all.
Progress = Callable[[str, int, int], None]
Table = tuple[Sequence[str], Sequence[Sequence[Any]]]
Part = str | Table


def visible(text: str, most: int | None = None) -> str:
    """The text with everything that could control a terminal made visible; newlines stay."""
    if text.replace("\n", "").isprintable():
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
    """A table that fits the width (the terminal's if None); numbers are aligned right.

    A very long table has one line for each row, even if it is wider then.
    """
    listed = [list(row) for row in rows]
    width = width or terminal_width()
    right = [
        any(isinstance(row[place], int | float) for row in listed) for place in range(len(columns))
    ]
    lines = [[_cell(name) for name in columns], *([_cell(v) for v in row] for row in listed)]
    needed = [max(map(_places_of, column)) for column in zip(*lines, strict=True)]
    if len(listed) > _MOST_FOLDED or _fits(lines, needed, width, widths):
        return _simple_table(lines, needed, right)
    return _folded_table(lines, right, width, widths)


def _fits(
    lines: list[list[str]], needed: list[int], width: int, widths: Sequence[int | None] | None
) -> bool:
    """Whether every cell fits on one line and is as wide as it has characters."""
    most = [most or width for most in widths] if widths else [width] * len(needed)
    narrow = sum(needed) + 3 * len(needed) - 1 <= width and all(map(le, needed, most))
    return narrow and all(needed) and all(cell.isascii() for line in lines for cell in line)


def _places_of(text: str) -> int:
    """How many places of a terminal's line a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(char) in "FW" else not unicodedata.combining(char)
        for char in text
    )


def _simple_table(lines: list[list[str]], needed: list[int], right: list[bool]) -> str:
    """A table as it is, laid out as Rich would if it fits; loading Rich would take longer."""
    laid = [
        "   ".join(
            " " * (size - _places_of(cell)) + cell
            if to_right
            else cell + " " * (size - _places_of(cell))
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
    left_out = html_paragraph(remainder(len(listed), most)) if len(listed) > most else ""
    right = [any(_is_number(row[place]) for row in listed[:most]) for place in range(len(columns))]
    head = "".join(
        f'<th scope="col" style="{_aligned(to_right)};{_HEAD}">{html.escape(_cell(name))}</th>'
        for name, to_right in zip(columns, right, strict=True)
    )
    body = "".join("<tr>" + "".join(map(_html_cell, row, right)) + "</tr>" for row in listed[:most])
    return (
        f'<div style="{_FRAME}"><table style="{_WHOLE}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{left_out}"
    )


def html_paragraph(text: str) -> str:
    """A paragraph for a notebook, escaped."""
    return f'<p style="{_PARAGRAPH}">{html.escape(visible(text))}</p>'


def _html_cell(value: Any, to_right: bool) -> str:
    return f'<td style="{_aligned(to_right)};{_CELL}">{html.escape(_cell(value))}</td>'


def _aligned(to_right: bool) -> str:
    return f"text-align:{'right' if to_right else 'left'}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


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
        html_paragraph(part.strip()) if isinstance(part, str) else html_table(*part)
        for part in parts
        if not isinstance(part, str) or part.strip()
    )
    return "".join(shown)


def _cell(value: Any) -> str:
    return visible(readable(value), _LONGEST_CELL).replace("\n", "\\n")


@contextlib.contextmanager
def progress_shown(wanted: Progress | bool | None = None) -> Iterator[Progress]:
    """Where long work reports to: what is `wanted`, or a bar where somebody looks at it.

    That is a terminal or a notebook; elsewhere, and if False is wanted, nothing is shown.
    """
    if callable(wanted):
        yield wanted
    elif wanted is not False and _in_notebook():
        bar = _NotebookBar()
        try:
            yield bar.show
        finally:
            bar.close()
    elif wanted is not False and sys.stderr is not None and sys.stderr.isatty():
        with _terminal_bar() as show:
            yield show
    else:
        yield lambda _stage, _done, _total: None


def _in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook; asks nobody who is not loaded."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


def _rows_text(done: int, total: int, took: float) -> str:
    rows = f"{done:,} of {total:,} rows" if total else ""
    return f"{rows}, {done / took:,.0f} a second" if done and took > _SPEED_AFTER else rows


@contextlib.contextmanager
def _terminal_bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    columns = (
        SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(),
        TextColumn("{task.fields[rows]}", markup=False), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, rows="")
        current, started = "", 0.0

        def show(stage: str, done: int, total: int) -> None:
            nonlocal current, started
            if stage != current:
                # Speed and time left are those of the stage alone.
                current, started = stage, time.monotonic()
                bar.reset(task)
            rows = _rows_text(done, total, time.monotonic() - started)
            label = Text(visible(stage, 40)).plain
            bar.update(task, description=label, completed=done, total=total or None, rows=rows)

        yield show


class _NotebookBar:
    """A bar of HTML that is drawn anew where it stands, and taken away at the end.

    Rich could do so too, with a package of widgets that need not be there.
    """

    def __init__(self) -> None:
        self._handle: Any = None
        self._stage, self._started = "", time.monotonic()
        self._drawn = self._started + _WORTH_A_BAR - _BETWEEN_DRAWINGS

    def show(self, stage: str, done: int, total: int) -> None:
        """Draw it, unless that was done a moment ago."""
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._started = stage, now
        if now - self._drawn >= _BETWEEN_DRAWINGS:
            self._drawn = now
            rows = _rows_text(done, total, now - self._started)
            text = html.escape(f"{visible(stage, 60)} {rows}")
            amount = f' value="{done}" max="{total}"' if total else ""
            self._draw(f"<div><progress{amount}></progress> {text}</div>")

    def close(self) -> None:
        """Leave nothing behind."""
        if self._handle is not None:
            self._draw("")

    def _draw(self, text: str) -> None:
        # It is there, since this is a notebook; it has no types to check.
        notebook = import_module("IPython.display")
        if self._handle is None:
            self._handle = notebook.display(notebook.HTML(text), display_id=True)
        else:
            self._handle.update(notebook.HTML(text))
