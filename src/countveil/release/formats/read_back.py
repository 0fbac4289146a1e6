"""Data files read back before they become a release.

Enters: a file that was just written, and what was to be in it. Leaves: nothing, or an OSError. Must
not know: what rows say.

A library may lose an error of the disk and go on. So every file is opened again, by what will read
it later, and its rows are counted; those of Stata and SPSS, which have no end that can be told from
a lost part, are compared with what was written, labels included.
"""

from __future__ import annotations

import errno
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from countveil.release.formats import stata_spss
from countveil.release.formats.csv_rows import count_csv
from countveil.release.formats.data_files import STATISTICAL
from countveil.release.values import ARROW, PARQUET, format_of

if TYPE_CHECKING:
    import pyarrow as pa

    from countveil.release.formats.stata_spss import StoredLabels

# The table of contents of a file of Stata, which stands near its beginning.
_CONTENTS, _HEAD_BYTES = b"<map>", 1 << 12


def check_rows(path: Path, rows: int, schema: pa.Schema) -> None:
    """OSError unless the file can be read with these columns and has so many rows."""
    import pyarrow as pa

    try:
        there = _counted(path, schema)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _not_there(path) from error
    if there != rows:
        raise _not_there(path)


def check_dataset(path: Path, table: pa.Table, program: str, labels: StoredLabels) -> None:
    """OSError unless a file of Stata or SPSS holds this table and these labels."""
    kinds = [(field.name, field.type) for field in table.schema]
    try:
        same_rows = stata_spss.read_dataset(path, kinds, program).equals(table)
        more = stata_spss.metadata_beside_rows(path, program, labels)
        more += [] if program != stata_spss.STATA or _ends_where_it_says(path) else ["no end"]
    except Exception:  # noqa: BLE001 - whatever a library says of a broken file; it may quote it
        raise _not_there(path) from None
    if more or not same_rows:
        raise _not_there(path)


def _ends_where_it_says(path: Path) -> bool:
    """Whether a file of Stata is as long as its table of contents says: nothing in it was lost."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    at = head.find(_CONTENTS) + len(_CONTENTS)
    places = struct.unpack_from("<14Q", head, at)
    return bool(places[-1] == path.stat().st_size)


def _counted(path: Path, schema: pa.Schema) -> int:
    import pyarrow.parquet as pq

    kind = format_of(path.name)
    if kind == PARQUET:
        return int(pq.read_metadata(path).num_rows)
    if kind == ARROW:
        return _counted_arrow(path)
    assert kind not in STATISTICAL  # noqa: S101 - they are compared, which is more
    return count_csv(path, [(field.name, field.type) for field in schema])


def _counted_arrow(path: Path) -> int:
    """The rows of an Arrow file, read batch by batch."""
    import pyarrow as pa

    with pa.OSFile(str(path), "rb") as raw, pa.ipc.open_file(raw) as reader:
        numbers = range(reader.num_record_batches)
        return sum(reader.get_batch(number).num_rows for number in numbers)


def _not_there(path: Path) -> OSError:
    return OSError(
        errno.EIO, f"{path.name} cannot be read back as it was written; the disk may be failing"
    )
