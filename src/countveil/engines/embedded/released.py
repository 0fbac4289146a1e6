"""The rows of a release, part by part.

Enters: the folder and files of a release. Leaves: Arrow tables in the stored order. Must not know:
what is done with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from countveil.engines.embedded.release_rows import opened


def released_schema(folder: Path, files: Sequence[str]) -> Any:
    """The columns, without what files note beside them."""
    return opened(folder / files[0]).schema_arrow.remove_metadata()


def released_rows(folder: Path, files: Sequence[str]) -> Iterator[Any]:
    """The rows, one row group at a time."""
    for file in files:
        data = opened(folder / file)
        for number in range(data.num_row_groups):
            yield data.read_row_group(number).replace_schema_metadata(None)
