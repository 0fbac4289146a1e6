"""`countveil inspect`: look at a table before publishing it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from countveil.cli.options import FormatOption, InputArgument, choices_of
from countveil.cli.output import (
    Format,
    as_json,
    own_command,
    print_paragraph,
    print_rows,
    print_table,
    progress_shown,
)
from countveil.cli.source_options import NOTHING_SAID, with_source_options, words
from countveil.display import visible

_MOST_LINES = 200


@with_source_options
def command(
    table: InputArgument,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(
            "-s", "--sensitive", metavar="COL", help="A column to protect. May be repeated."
        ),
    ] = None,
    source: dict[str, Any] = NOTHING_SAID,
    style: FormatOption = Format.TABLE,
) -> None:
    """Look at a table: who could be recognised, what gives sensitive values away.

    For every column: what it holds, how many different values, how many rows without one, the
    largest ell it is eligible for, a little histogram, and a role. Then, in words, columns that
    look like direct identifiers, columns or pairs of columns from which a sensitive value is known,
    and how many rows are alone with their combination of values. Ends with a command to copy.
    Nothing is written.

    Example: countveil inspect census.csv -s occupation
    """
    from countveil.publishing.inspect import run_inspect

    with progress_shown() as report:
        report("looking", 0, 0)
        found = run_inspect(table, sensitive or (), choices_of(source=source), report)
    line = found.publish_line(table, own_command(), words(source))
    if style is Format.JSON:
        print(as_json({**found.as_dict(), "publish": line}))
        return
    if style is Format.CSV:
        rows = [tuple(column.values()) for column in found.as_dict()["columns"]]
        print_rows(tuple(found.as_dict()["columns"][0]), rows, style)
        return
    print(visible(f"{table}: {found.rows:,} rows, {len(found.columns):,} columns"))
    names, lines = found.table()
    print_table(names, lines[:_MOST_LINES], widths=(24, 12, 12, 10, 6, 8, 10))
    if len(lines) > _MOST_LINES:
        print(f"... and {len(lines) - _MOST_LINES:,} more columns; --format csv lists them all.")
    for sentence in found.sentences():
        print_paragraph(sentence, bullet="- ")
    print("\nTo publish it, check the roles and adapt:")
    print(visible(f"  {line}"))
