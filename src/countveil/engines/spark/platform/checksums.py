"""SHA-256 of files, computed where they are.

Enters: addresses of files, or of a folder of them. Leaves: checksums by name. Must not know: what
the files are.
"""

from __future__ import annotations

from typing import Any


def checksums(session: Any, *places: str) -> dict[str, str]:
    """By the name of a file, its checksum; what would be a pattern in an address is one."""
    from pyspark.sql import functions as sql

    read = session.read.format("binaryFile").load(list(places))
    lines = read.select(sql.col("_metadata.file_name"), sql.sha2("content", 256)).toArrow()
    return dict(zip(*(column.to_pylist() for column in lines.columns), strict=True))
