"""The made-up census as an Arrow table or a file, chunk by chunk.

Enters: a number of rows, a target, perhaps a seed. Leaves: a table in memory, or a complete file.
Must not know: how people are drawn. Memory does not grow with the number of rows of a file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from countveil.errors import SettingsError, TargetError
from countveil.randomness import Randomness
from countveil.release.formats.read_back import check_rows
from countveil.report.whole_file import check_file
from countveil.synthetic.people import people
from countveil.system.whole_files import pending_place, sync_path

if TYPE_CHECKING:
    import pyarrow as pa

_WHAT = "the made-up table"
_CHUNK = 1 << 17
_ENDINGS = (".csv", ".csv.gz", ".csv.zst", ".parquet")


@overload
def generate(
    rows: int,
    to: None = None,
    *,
    seed: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> pa.Table: ...
@overload
def generate(
    rows: int,
    to: str | os.PathLike[str],
    *,
    seed: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> None: ...
def generate(
    rows: int,
    to: str | os.PathLike[str] | None = None,
    *,
    seed: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> pa.Table | None:
    """Make a census of people who do not exist, to try things on.

    The same seed gives the same people, whatever the format. docs/reference/census.md has the
    shares of all values.

    Args:
        rows: How many people.
        to: A file, CSV or Parquet by its ending; without one, a table comes back.
        seed: Which people; others every time without it.
        force: Replace a file that is there.
        progress: Called with the rows done and the rows in all.

    Returns:
        An Arrow table, or nothing if a file was written.

    Raises:
        SettingsError: The number of rows is not a positive whole number.
        TargetError: The file exists already, or cannot be written.

    Example:
        >>> people = cv.generate(1_000, seed=1)
        >>> people.num_rows, people.column_names[:3]
        (1000, ['age', 'gender', 'education'])
        >>> cv.generate(1_000, "census.csv", seed=1)
    """
    import pyarrow as pa

    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise SettingsError(f"rows must be a positive whole number, got {rows!r}.")
    report = progress or (lambda _done, _total: None)
    randomness = Randomness(seed)
    batches = _batches(randomness, rows)
    if to is None:
        return pa.Table.from_batches(list(batches))
    path = Path(to)
    if not path.name.lower().endswith(_ENDINGS):
        raise SettingsError(
            f"Cannot tell the format of {path} from its ending. What works: {', '.join(_ENDINGS)}."
        )
    check_file(path, _WHAT, force=force, again=False)
    with pending_place(path, _WHAT, apart=True) as pending:
        try:
            with _writer(pending.path, path.name.lower()) as write:
                done = 0
                for batch in batches:
                    write(batch)
                    done += batch.num_rows
                    report(done, rows)
            check_rows(pending.path, rows, people_schema())
            sync_path(pending.path)
        except OSError as error:
            raise TargetError(f"Writing {path} failed: {error.strerror or error}.") from error
        pending.put_in_place()
    return None


def people_schema() -> pa.Schema:
    """The columns of the census."""
    return next(_batches(Randomness(0), 1)).schema


def _batches(randomness: Randomness, rows: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for number, first in enumerate(range(0, rows, _CHUNK)):
        stream = randomness.stream("census", str(number))
        columns = people(stream, min(_CHUNK, rows - first))
        arrays = {
            name: pa.array(codes) if names is None else pa.array(names).take(pa.array(codes))
            for name, (codes, names) in columns.items()
        }
        yield pa.RecordBatch.from_pydict(arrays)


@contextlib.contextmanager
def _writer(path: Path, name: str) -> Iterator[Callable[[Any], None]]:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    open_writer: Any = None
    with contextlib.ExitStack() as stack:
        sink: pa.NativeFile = stack.enter_context(pa.OSFile(str(path), "wb"))
        if name.endswith((".gz", ".zst")):
            method: Literal["gzip", "zstd"] = "gzip" if name.endswith(".gz") else "zstd"
            sink = stack.enter_context(pa.CompressedOutputStream(sink, method))

        def write(batch: pa.RecordBatch) -> None:
            nonlocal open_writer
            if open_writer is None:
                make = pq.ParquetWriter if name.endswith(".parquet") else pyarrow.csv.CSVWriter
                options = {"compression": "zstd"} if name.endswith(".parquet") else {}
                open_writer = stack.enter_context(make(sink, batch.schema, **options))
            open_writer.write_batch(batch)

        yield write
