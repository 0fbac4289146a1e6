"""DuckDB connections that can do little.

Enters: the folders that may be read. Leaves: a connection in memory with extensions, settings and
every other path locked. Must not know: what will be asked.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

import duckdb


def connect(folders: Sequence[Path] = ()) -> duckdb.DuckDBPyConnection:
    """A fresh connection that can read these folders, and reach nothing else."""
    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            # DuckDB would spill plain values of the table to disk.
            "temp_directory": "",
        },
    )
    # Each folder also as it is spelled where a pattern could stand: both spellings are checked.
    spelled = [text for f in folders for text in (str(f.resolve()), without_pattern(f))]
    allowed = ", ".join(quoted(text + "/") for text in dict.fromkeys(spelled))
    connection.execute(f"SET allowed_directories = [{allowed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def quoted(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def without_pattern(path: Path) -> str:
    """A path for DuckDB, with characters that would be a pattern taken literally."""
    return glob.escape(str(path.resolve()))
