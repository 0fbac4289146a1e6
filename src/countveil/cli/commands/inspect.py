"""`countveil inspect`: look at a table before publishing it."""

from __future__ import annotations

from countveil.cli.options import (
    NOTHING_GIVEN,
    FormatOption,
    Given,
    InputArgument,
    KOption,
    SensitiveIfAnyOption,
    as_typed,
    reading_and_shaping,
    with_table_options,
)
from countveil.cli.output import (
    Format,
    as_json,
    command_name,
    print_paragraph,
    print_rows,
    print_table,
    progress_shown,
)
from countveil.display import visible

_MOST_LINES = 200


@with_table_options
def command(
    table: InputArgument,
    sensitive: SensitiveIfAnyOption = None,
    k: KOption = None,
    shaping: Given = NOTHING_GIVEN,
    source: Given = NOTHING_GIVEN,
    style: FormatOption = Format.TABLE,
) -> None:
    """Look at a table: who could be recognised, what gives sensitive values away.

    For every column: what it holds, how many different values, how many rows without one, the
    largest ell it is eligible for, a small histogram, and a role. Then follow, in words, columns
    that look like identifiers (of which kind, and why), columns or pairs of columns that reveal a
    sensitive value, everywhere or in a part of the table, what seeing a sensitive value published
    is worth, and how many rows have a unique combination of values. The last line is a command to
    copy; it publishes no column that looks dangerous. Nothing is written. The
    options that prepare a table are those of publish, so that all of it can be rehearsed.

    Example: countveil inspect census.csv -s occupation
    """
    from countveil.publishing.advise.inspecting.inspect import run_inspect

    with progress_shown() as progress:
        progress("looking", 0, 0)
        reading, shape = reading_and_shaping(source, shaping, progress)
        inspection = run_inspect(table, sensitive or (), reading=reading, shaping=shape, k=k)
    options = [*as_typed(source), *as_typed(shaping)]
    line = inspection.publish_line(table, command_name(), options)
    if style is Format.JSON:
        print(as_json({**inspection.as_dict(), "publish": line}))
        return
    if style is Format.CSV:
        rows = [tuple(column.values()) for column in inspection.as_dict()["columns"]]
        print_rows(tuple(inspection.as_dict()["columns"][0]), rows, style)
        return
    print(visible(f"{table}: {inspection.rows:,} rows, {len(inspection.columns):,} columns"))
    names, lines = inspection.table()
    print_table(names, lines[:_MOST_LINES], widths=(24, 12, 12, 10, 6, 8, 10))
    if len(lines) > _MOST_LINES:
        print(f"... and {len(lines) - _MOST_LINES:,} more columns; --format csv lists them all.")
    for sentence in inspection.sentences():
        print_paragraph(sentence, bullet="- ")
    if line:
        print("\nTo publish it, check the roles and adapt:")
        print(visible(f"  {line}"))
    else:
        print("\nThere is no command to copy: no column can be protected as it is.")
