"""`countveil ledger`: the private ledger of a series of releases."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from countveil.cli.options import FormatOption
from countveil.cli.output import Format, as_json, print_paragraph, print_rows
from countveil.display import visible

app = typer.Typer(
    help="The private ledger of a series of releases: what was published about whom.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

LedgerArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="The ledger.", show_default=False)
]
KeyOption = Annotated[
    Path | None,
    typer.Option(
        "--key", metavar="KEYFILE", help="The key of the ledger; by default FILE.key beside it."
    ),
]


@app.command("init")
def init(file: LedgerArgument, key: KeyOption = None) -> None:
    """Make a private ledger, and its key in a file of its own.

    A ledger lets you publish again: next month's rows, corrections, the same people with new rows.
    publish --ledger FILE publishes known cases as before and draws only new ones. Neither file
    holds an identifier or a true value in the clear, but whoever has both can try out which value a
    person has. Keep both, keep them apart from each other and from the releases, and back up the
    ledger after every release.

    Example: countveil ledger init hospital.ledger
    """
    from countveil.publishing.ledger.ledger import Ledger
    from countveil.system.files import about_readers

    ledger = Ledger.init(file, key=key)
    print(visible(f"Made the ledger {ledger.path} and its key {ledger.key}."))
    print_paragraph(
        "Keep both: without them, nobody who was published is recognised, and publishing again is "
        "not safe. Keep the key apart from the ledger and its copies: together, they tell who has "
        "which value to anybody who can guess both."
    )
    if note := about_readers(ledger.path, ledger.key):
        print_paragraph(note)


@app.command("show")
def show(file: LedgerArgument, key: KeyOption = None, style: FormatOption = Format.TABLE) -> None:
    """Say what a ledger holds: releases, batches, cases, days. No person and no value.

    With --format json all of it is printed, with --format csv the batches.
    """
    from countveil.publishing.ledger.ledger import Ledger

    summary = Ledger(file, key=key).show()
    columns = ("columns", "batch", "cases", "groups", "ell", "release", "day")
    if style is Format.CSV:
        rows = [(", ".join(b.columns), *list(asdict(b).values())[1:]) for b in summary.batches]
        print_rows(columns, rows, style)
    elif style is Format.JSON:
        releases = [
            {"number": r.number, "day": r.day, "rows": r.rows, "state": r.state}
            for r in summary.releases
        ]
        batches = [asdict(batch) for batch in summary.batches]
        print(as_json({
            "id": summary.id, "created": summary.created, "cases": summary.cases,
            "releases": releases, "batches": batches,
        }))  # fmt: skip
    else:
        print(summary)


@app.command("verify")
def verify(
    file: LedgerArgument,
    release: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="A release of it.", show_default=False)
    ] = None,
    key: KeyOption = None,
    style: FormatOption = Format.TABLE,
) -> None:
    """Is a ledger sound, and is a release one of it, and what it was?

    Exit code 0 when everything agrees, 1 when anything differs; each difference is named.
    """
    from countveil.publishing.ledger.ledger import Ledger

    differences = Ledger(file, key=key).verify(release)
    if style is not Format.TABLE:
        rows = [(each.file, each.problem) for each in differences]
        print_rows(("file", "problem"), rows, style)
    elif differences:
        print(visible(f"{release or file} does not agree with the ledger:"))
        print_rows(("file", "problem"), [(d.file, d.problem) for d in differences], style)
    elif release is None:
        print(visible(f"{file} is sound."))
    else:
        print(visible(f"{release} is a release of {file}, as it was published."))
    if differences:
        raise typer.Exit(1)
