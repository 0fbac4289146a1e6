"""A release into a database, with its manifest beside it.

Enters: the folder of a sound release and an address. Leaves: two tables, or nothing. Must not know:
the publisher's side.
"""

from __future__ import annotations

import os
from pathlib import Path

from countveil.engines.databases.connections import (
    Connection,
    connection_class,
    manifest_table,
)
from countveil.errors import ReleaseError, SettingsError, TargetError, option
from countveil.release import MANIFEST_NAME, Expected, Manifest, read_manifest
from countveil.release.draft import check_not_input
from countveil.release.verify import verify_release
from countveil.system.address import DATABASES, POSTGRES, DatabaseAddress, parse_release_address
from countveil.system.regular import UnfitFileError, regular_size


def export(
    folder: str | os.PathLike[str], to: str, *, force: bool = False, larger: float = 1
) -> None:
    """Load a release into a database, with its manifest in a side table.

    Both tables appear together or not at all.

    Args:
        folder: The folder of a release.
        to: `postgresql://user@host/db#schema.table`, `duckdb:FILE#table` or `sqlite:FILE#table`.
        force: Replace a release that is there already.
        larger: How many times as large as usual the release may be.

    Raises:
        ReleaseError: The folder is not, or is no longer, what was published.
        SettingsError: `to` is not the address of a table.
        TargetError: The table exists already, or cannot be written.
        MissingExtraError: PostgreSQL needs the extra `postgres`.

    Example:
        >>> cv.export("census-release", "duckdb:census.duckdb#census")
        >>> cv.open("duckdb:census.duckdb#census").rows
        5000
    """
    run_export(Path(folder), to, force=force, larger=larger)


def run_export(folder: Path, to: str, *, force: bool = False, larger: float = 1) -> Manifest:
    """Load a release into a database; a release that is there is replaced with `force` alone."""
    address = parse_release_address(to)
    if address is None:
        raise SettingsError(f"A release is exported to {DATABASES}.")
    manifest = read_manifest(folder, Expected(larger=larger))
    if address.kind != POSTGRES:
        check_not_input(Path(address.place), "the database", [folder])
        _check_regular(Path(address.place))
    findings = verify_release(folder, larger=larger)
    if findings:
        raise ReleaseError(
            f"{folder} is not what was published: {findings[0].file} {findings[0].problem}. "
            f"Nothing was exported."
        )
    database = connection_class(address)
    database.check_columns(manifest.columns)
    with database.writing(address.place) as connection:
        _load(folder, manifest, address, connection, force=force, larger=larger)
    return manifest


def _check_regular(path: Path) -> None:
    """Refuse a pipe or a device: a database that opens one may wait for ever."""
    try:
        regular_size(path)
    except UnfitFileError as error:
        raise TargetError(f"{path} is no database: {error.strerror}. Name another file.") from error
    except OSError:
        # There is none yet, or the database says why it cannot be opened.
        return


def _load(
    folder: Path,
    manifest: Manifest,
    address: DatabaseAddress,
    connection: Connection,
    *,
    force: bool,
    larger: float,
) -> None:
    import pyarrow as pa

    from countveil.engines.local.release_rows import released_rows, released_schema

    names = [address.table, manifest_table(address.table)]
    existing = [connection.exists(name) for name in names]
    if any(existing) and not (force and all(existing)):
        hint = (
            f"replace it with {option('force', True)}" if all(existing) else "it is not a release"
        )
        raise TargetError(f"{address} exists already: {hint}, or name another table.")
    if all(existing):
        for name in names:
            connection.drop(name)
    text = (folder / MANIFEST_NAME).read_text(encoding="utf-8")
    beside = pa.table({"manifest": [text]})
    rows = released_rows(folder, manifest, larger)
    connection.write(names[0], released_schema(folder, manifest), rows)
    connection.write(names[1], beside.schema, [beside])
