"""The rows of a release, part by part, whatever its format.

Enters: the folder and manifest of a release. Leaves: Arrow tables in the stored order. Must not
know: what is done with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from countveil.engines.local.release_codes import opened
from countveil.release import Manifest
from countveil.release.formats.data_files import read_rows
from countveil.release.values import PARQUET, format_of


def released_schema(folder: Path, manifest: Manifest) -> Any:
    """The columns, without what files note beside them."""
    first = folder / manifest.files[0].path
    if format_of(first.name) == PARQUET:
        return opened(first).schema_arrow.remove_metadata()
    return read_rows(first, manifest.columns).schema.remove_metadata()


def released_rows(folder: Path, manifest: Manifest) -> Iterator[Any]:
    """The rows, in parts that fit into memory."""
    for file in manifest.files:
        path = folder / file.path
        if format_of(path.name) == PARQUET:
            yield from parquet_rows([path])
        else:
            yield read_rows(path, manifest.columns).replace_schema_metadata(None)


def parquet_rows(paths: Sequence[Path]) -> Iterator[Any]:
    """The rows of Parquet files, one row group at a time."""
    for path in paths:
        data = opened(path)
        for number in range(data.num_row_groups):
            yield data.read_row_group(number).replace_schema_metadata(None)
