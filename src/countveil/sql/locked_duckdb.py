"""DuckDB connections that can do little: the one place where DuckDB is locked down.

Enters: the database file, or the folders that may be read. Leaves: a connection that can reach
these and nothing else: no other file, no extension, no setting, no variable of this process. Must
not know: what will be asked. Readers of DuckDB files, releases in DuckDB files and the local engine
all connect here.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

# Behind a checksum of eight bytes.
# What DuckDB says of it would quote the query.
UNREADABLE_PATTERN = (
    "A pattern of the query is not a readable regular expression, or an argument of a function is "
    "not one that it takes. Check brackets and backslashes, and positions and lengths."
)

_MARK, _MARK_END = b"DUCK", 12


def connect(folders: Sequence[Path] = ()) -> duckdb.DuckDBPyConnection:
    """A database in memory that can read these folders."""
    return _locked(duckdb.connect(":memory:", config=_settings(spills=False)), folders)


def connect_to_file(
    path: Path, *, read_only: bool = True, most_bytes: int | None = None
) -> duckdb.DuckDBPyConnection:
    """A database file, to be read within a limit of memory, or to be written.

    One that is read does not spill to disk: it may hold the publisher's table. One that is written
    holds a release, which is public.
    """
    settings = _settings(spills=not read_only)
    if most_bytes is not None:
        settings["memory_limit"] = f"{most_bytes}B"
    # Absolute, so that a name such as :memory: is that of a file.
    return _locked(duckdb.connect(str(path.absolute()), read_only=read_only, config=settings))


def is_duckdb_file(path: Path) -> bool:
    """Whether a file is DuckDB's own. It would open others too, as views in memory."""
    try:
        with path.open("rb") as file:
            return file.read(_MARK_END)[-len(_MARK) :] == _MARK
    except OSError:
        # DuckDB explains best what is wrong.
        return True


def quoted(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def without_pattern(path: Path) -> str:
    """A path for DuckDB, with characters that would be a pattern taken literally."""
    return glob.escape(os.path.realpath(path))


def _settings(*, spills: bool) -> dict[str, Any]:
    settings = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",
    }
    if not spills:
        # DuckDB would put plain values of the table on the disk.
        settings["temp_directory"] = ""
    return settings


def _locked(
    connection: duckdb.DuckDBPyConnection, folders: Sequence[Path] = ()
) -> duckdb.DuckDBPyConnection:
    # Each folder also as it is written where a pattern could be: DuckDB checks both.
    spelled = [text for f in folders for text in (os.path.realpath(f), without_pattern(f))]
    allowed = ", ".join(quoted(text + "/") for text in dict.fromkeys(spelled))
    connection.execute(f"SET allowed_directories = [{allowed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection
