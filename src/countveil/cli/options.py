"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from countveil.cli.output import Format

FormatOption = Annotated[Format, typer.Option("--format", help="How to print the result.")]

InputArgument = Annotated[
    str,
    typer.Argument(
        metavar="INPUT", help="CSV (also .gz, .zst), Parquet or Arrow; a file or a pattern."
    ),
]

MissingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--missing", metavar="TEXT", help="A text that stands for a missing value. Repeatable."
    ),
]

DropOption = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COL", help="Leave a column out. May be repeated."),
]

BinsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--bins",
        metavar="COL=SPEC",
        help="Put numbers into classes: COL=10 (rounded edges), COL=q10 (equally many rows in "
        "each) or edges such as COL=18,30,45,65.",
    ),
]

DomainOption = Annotated[
    list[str] | None,
    typer.Option(
        "--domain",
        metavar="COL=FILE",
        help="The values that a column may have, one per line; another one stops.",
    ),
]

MergeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--merge",
        metavar="COL:FILE",
        help="Give values a common label first; the file has lines of value,label.",
    ),
]


def pairs(given: list[str] | None, mark: str, option: str) -> dict[str, str]:
    """COL=SPEC, COL=FILE or COL:FILE. A name may hold the mark too: a file that exists decides."""
    found: dict[str, str] = {}
    for text in given or ():
        parts = text.split(mark)
        splits = [(mark.join(parts[:i]), mark.join(parts[i:])) for i in range(1, len(parts))]
        sound = [(name, value) for name, value in splits if name and value]
        if not sound:
            raise typer.BadParameter(f"{text!r} is not of the form COL{mark}...", param_hint=option)
        files = [(name, value) for name, value in sound if Path(value).is_file()]
        # The bins hold no mark, so what stands before the last one is the name.
        name, value = (files or sound)[0] if option != "--bins" else sound[-1]
        if name in found:
            raise typer.BadParameter(f"column {name!r} is named twice", param_hint=option)
        found[name] = value
    return found
