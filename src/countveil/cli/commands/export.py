"""`countveil export`: load a release into a database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from countveil.cli.options import LargerOption
from countveil.display import visible


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The release.", readable=False)],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="ADDRESS",
            help="postgresql://user@host/db#schema.table, duckdb:FILE#table or sqlite:FILE#table.",
        ),
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Replace a release that is there already.")
    ] = False,
    larger: LargerOption = 1,
) -> None:
    """Load a release into a database, its manifest into a side table.

    The release is verified first, and both tables appear together or not at all. The manifest is in
    TABLE_manifest. `countveil query` can query a release in PostgreSQL or DuckDB directly;
    `countveil sql` prints SQL for other databases. Passwords come from PGPASSWORD or .pgpass; an
    address with a password is refused. A type that the database would not keep exactly is refused.

    Example: countveil export census-release --to duckdb:census.duckdb#census
    """
    from countveil.asking.export import run_export

    manifest = run_export(folder, to, force=force, larger=larger)
    print(visible(f"Exported {manifest.rows:,} rows of {folder} to {to}."))
