"""`countveil publish`: turn a table into a release."""

from __future__ import annotations

import json
import re
import shlex
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from countveil.cli.entry import ignore_interrupts
from countveil.cli.output import (
    Format,
    FormatOption,
    as_json,
    own_command,
    print_paragraph,
    progress_shown,
)
from countveil.display import visible


class Groups(StrEnum):
    """How decoy groups are formed."""

    MIXED = "mixed"
    ANATOMY = "anatomy"


class Residue(StrEnum):
    """What happens to the rows left over when N is no multiple of ell."""

    ABSORB = "absorb"
    DROP = "drop"


def command(
    table: Annotated[
        str,
        typer.Argument(
            metavar="INPUT", help="CSV (also .gz, .zst), Parquet or Arrow; a file or a pattern."
        ),
    ],
    sensitive: Annotated[
        list[str],
        typer.Option(
            "-s",
            "--sensitive",
            metavar="COL[:ELL]",
            help="A column to protect, with its own ell or that of --ell. May be repeated.",
        ),
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Folder for the release.")],
    ell: Annotated[
        int | None,
        typer.Option("--ell", help="How many different values a row hides among (2 or more)."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", metavar="COL", help="Leave a column out. May be repeated."),
    ] = None,
    groups: Annotated[
        Groups, typer.Option(help="How decoy groups are formed; anatomy is the paper's rule.")
    ] = Groups.MIXED,
    residue: Annotated[
        Residue,
        typer.Option(help="Rows left over by ell: absorb them (none is lost) or drop them."),
    ] = Residue.ABSORB,
    seed: Annotated[
        int | None,
        typer.Option(help="For experiments only: who knows the seed can undo the protection."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the release that is in DIR.")
    ] = False,
    style: FormatOption = Format.TABLE,
) -> None:
    """Publish a table so that large counts stay right and small counts stay hidden.

    Every row's sensitive value is put into a secret group of at least ELL rows with different
    values; each row publishes one of its group's values, all with the same probability. The other
    columns are published unchanged, the rows in random order. The release is a folder with Parquet
    files and a manifest; it appears when it is complete.

    Example: countveil publish census.csv -s occupation:5 --to census-release
    """
    from countveil.publisher import column_settings, run_publish

    started = time.monotonic()
    settings = column_settings(_with_ell(sensitive, ell), None, groups, residue)
    with progress_shown() as report:
        done = run_publish(
            table,
            settings,
            to,
            drop=drop or (),
            seed=seed,
            force=force,
            progress=report,
            before_commit=ignore_interrupts,
        )
    seconds = round(time.monotonic() - started, 3)
    if style is not Format.TABLE:
        summary = {
            "release": str(to),
            "rows": done.rows,
            "ell": dict(done.ell),
            "dropped": done.dropped,
            "seconds": seconds,
        }
        print(_as_text(summary, style))
        return
    protected = ", ".join(f"{name} (ell {ell})" for name, ell in done.ell.items())
    print(visible(f"Published {done.rows:,} rows to {to} in {seconds:.1f} s."))
    print(f"Protected: {visible(protected)}.")
    if done.dropped:
        print(f"Dropped: {done.dropped} rows, so that the rest divides by ell.")
    if done.seeded:
        print_paragraph(
            "SEEDED: this release was drawn with a seed and is for experiments only. Who knows or "
            "guesses the seed can undo the protection."
        )
    print(visible(f"Next: {own_command()} show {shlex.quote(str(to))}"))


def _with_ell(sensitive: list[str], common: int | None) -> dict[str, int]:
    """COL:ELL or COL, by the last colon if a whole number follows it."""
    chosen: dict[str, int] = {}
    for text in sensitive:
        name, _, number = text.rpartition(":")
        own = re.fullmatch(r"-?[0-9]+", number) is not None and bool(name)
        if own and len(number) > 9:
            raise typer.BadParameter("ell is far too large", param_hint="-s")
        column = name if own else text
        if column in chosen:
            raise typer.BadParameter(f"column {column!r} is named twice", param_hint="-s")
        if not own and common is None:
            raise typer.BadParameter(
                f"{text!r} has no ell: write -s {text}:5, or add --ell 5", param_hint="-s"
            )
        chosen[column] = int(number) if own else int(common or 0)
    return chosen


def _as_text(summary: dict[str, object], style: Format) -> str:
    if style is Format.JSON:
        return as_json(summary)
    import csv
    import io

    flat = {**summary, "ell": json.dumps(summary["ell"], ensure_ascii=False)}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([flat.keys(), flat.values()])
    return text.getvalue().rstrip("\n")
