"""Arguments and options that several commands share."""

from __future__ import annotations

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
