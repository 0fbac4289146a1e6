"""`countveil generate`: a census-like table to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from countveil.cli.output import progress_shown


def command(
    rows: Annotated[int, typer.Option("--rows", help="How many people.")],
    to: Annotated[Path, typer.Option("--to", help="File to write: .csv, .csv.gz or .parquet.")],
    seed: Annotated[
        int | None, typer.Option("--seed", help="The same seed gives the same people.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a census-like table of made-up people.

    Nine columns: age, gender, education, marital, race, workclass, country, salary and occupation
    (50 values), depending on each other the way they do in a census. Needs little memory however
    many rows are asked for.
    """
    from countveil.synthetic import generate

    with progress_shown() as progress:
        generate(
            rows,
            to,
            seed=seed,
            force=force,
            progress=lambda done, total: progress("writing", done, total),
        )
    print(f"Wrote {rows:,} made-up people to {to}.")
