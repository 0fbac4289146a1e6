"""A release into a database, with its manifest beside it.

Enters: the folder of a sound release and an address. Leaves: two tables, or nothing. Must not know:
the publisher's side.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from countveil.address import DUCKDB, FORMS, POSTGRES, Address, parse_address
from countveil.errors import ReleaseError, SettingsError, TargetError
from countveil.release import MANIFEST_NAME, Manifest, read_manifest, verify_release

# What PostgreSQL and SQLite hold exactly.
_COMMON = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float", "double",
    "string", "large_string", "date32[day]", "timestamp[s]", "timestamp[ms]", "timestamp[us]",
}  # fmt: skip
# DuckDB refuses itself what it does not have, but these it would cut to microseconds.
_NOT_IN_DUCKDB = "duration[ns]"
_NAMES = {POSTGRES: "PostgreSQL", "sqlite": "SQLite"}


def run_export(folder: Path, to: str, *, force: bool = False) -> Manifest:
    """Load a release into a database; a release that is there is replaced with `force` alone."""
    address = parse_address(to)
    if address is None:
        raise SettingsError(f"A release is exported to {FORMS}.")
    manifest = read_manifest(folder)
    findings = verify_release(folder)
    if findings:
        raise ReleaseError(
            f"{folder} is not what was published: {findings[0].file} {findings[0].problem}. "
            f"Nothing was exported."
        )
    _check_types(manifest, address)
    _load(folder, manifest, address, force=force)
    return manifest


def _check_types(manifest: Manifest, address: Address) -> None:
    if address.kind == DUCKDB:
        for column in manifest.columns:
            if column.type == _NOT_IN_DUCKDB:
                raise TargetError(
                    f"Column {column.name!r} has the type {column.type}, which DuckDB would cut to "
                    f"microseconds."
                )
        return
    for column in manifest.columns:
        if column.type not in _COMMON:
            raise TargetError(
                f"Column {column.name!r} has the type {column.type}, which {_NAMES[address.kind]} "
                f"would not keep exactly. DuckDB does (duckdb:FILE#table)."
            )
    names = [column.name.lower() for column in manifest.columns]
    if address.kind != POSTGRES and len(set(names)) < len(names):
        raise TargetError("Two columns differ in upper and lower case alone; SQLite mixes them up.")


def _load(folder: Path, manifest: Manifest, address: Address, *, force: bool) -> None:
    import pyarrow as pa

    from countveil.engines.databases.links import open_for_writing
    from countveil.engines.local.release_rows import released_rows, released_schema

    text = (folder / MANIFEST_NAME).read_text(encoding="utf-8")
    side = pa.table({"manifest": [text]})
    with open_for_writing(address) as link:
        there = [_exists(link, address, t) for t in (address.table, address.manifest_table)]
        if any(there) and not (force and all(there)):
            hint = "replace it with --force" if all(there) else "it is not a release"
            raise TargetError(f"{address} exists already: {hint}, or name another table.")
        if all(there):
            link.drop(address.table)
            link.drop(address.manifest_table)
        link.write(
            address.table, released_schema(folder, manifest), released_rows(folder, manifest)
        )
        link.write(address.manifest_table, side.schema, [side])


def _exists(link: Any, address: Address, table: tuple[str, ...]) -> bool:
    from countveil.sql.dialects.portable import DUCKDB as WORDS
    from countveil.sql.dialects.portable import words_for

    literal = words_for(WORDS, ()).literal
    name = literal(table[-1])
    if address.kind == "sqlite":
        asked = f"SELECT count(*) AS n FROM sqlite_master WHERE lower(name) = lower({name})"
    else:
        own = literal(table[0]) if len(table) > 1 else "current_schema()"
        asked = (
            f"SELECT count(*) AS n FROM information_schema.tables WHERE table_name = {name} "
            f"AND table_schema = {own}"
        )
    return bool(link.fetch(asked).column(0)[0].as_py())
