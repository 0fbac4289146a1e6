"""Is a data file what its manifest says, and harmless to read?

Enters: a data file, what the manifest says of it, how much larger than usual it may be. Leaves:
what is wrong with it, as the end of a sentence that begins with its name; None if nothing is. Must
not know: what rows are for. Nothing is unpacked to find out: a few bytes can unpack to gigabytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countveil.errors import MissingExtraError, ReleaseError
from countveil.release.formats.data_files import STATISTICAL
from countveil.release.limits import PAGE_BYTES, most_unpacked, too_much_unpacked
from countveil.release.values import ARROW, PARQUET, format_of
from countveil.system.regular import open_regular

if TYPE_CHECKING:
    import pyarrow as pa

    from countveil.release.manifest import DataFile, PublishedColumn


def check_fit(
    path: Path, file: DataFile, columns: Sequence[PublishedColumn], larger: float
) -> None:
    """Refuse a file that is not what the manifest says, or that is dangerous to read."""
    problem = unfit(path, file, columns, larger)
    if problem is not None:
        raise ReleaseError(
            f"{path.name} of the release {problem}. 'countveil verify' says what is wrong."
        )


def unfit(
    path: Path, file: DataFile, columns: Sequence[PublishedColumn], larger: float
) -> str | None:
    """What is wrong with a file before its rows are read."""
    most = most_unpacked(file.rows, len(columns), file.bytes, larger)
    ending = format_of(path.name)
    if ending == PARQUET:
        return _unfit_parquet(path, file, columns, (most, PAGE_BYTES * larger), larger)
    if ending == ARROW:
        return _unfit_arrow(path, file, columns, most, larger)
    if ending in STATISTICAL:
        return _unfit_dataset(path, file, most, larger)
    # A CSV says nothing of itself: it is counted while it is read.
    return None


def _unfit_parquet(
    path: Path,
    file: DataFile,
    columns: Sequence[PublishedColumn],
    most: tuple[float, float],
    larger: float,
) -> str | None:
    import pyarrow as pa

    from countveil.release.formats.parquet_pages import pages_of

    # The core of the library: all of it would take as long to load as a question takes.
    core: Any = import_module("pyarrow._parquet")
    try:
        with open_regular(path) as raw:
            data = core.ParquetReader()
            data.open(raw)
            problem = different(data.metadata.num_rows, data.schema_arrow, file, columns)
            if problem is not None:
                return problem
            pages = pages_of(raw, data.metadata)
    except (pa.ArrowException, OSError, ValueError, OverflowError):
        return "is not a readable Parquet file"
    if pages.unpacked > most[0] or pages.largest > most[1]:
        return too_much_unpacked(larger)
    return None


def _unfit_arrow(
    path: Path, file: DataFile, columns: Sequence[PublishedColumn], most: int, larger: float
) -> str | None:
    import pyarrow as pa

    from countveil.release.formats.arrow_messages import messages_of

    try:
        with open_regular(path) as raw:
            messages = messages_of(raw)
        with pa.OSFile(str(path), "rb") as source, pa.ipc.open_file(source) as reader:
            schema = reader.schema
    except (pa.ArrowException, OSError, ValueError, OverflowError):
        return "is not a readable arrow file with the types of the manifest"
    if messages.unpacked > most:
        return too_much_unpacked(larger)
    return different(messages.rows, schema, file, columns)


def _unfit_dataset(path: Path, file: DataFile, most: int, larger: float) -> str | None:
    from countveil.release.formats.stata_spss import described_size

    ending = format_of(path.name)
    try:
        rows, width = described_size(path, STATISTICAL[ending])
    except MissingExtraError:
        raise
    except (ValueError, OSError):
        return f"is not a readable {ending} file with the types of the manifest"
    if rows != file.rows:
        return f"holds {rows} rows instead of {file.rows}"
    return too_much_unpacked(larger) if rows * width > most else None


def different(
    rows: int, schema: pa.Schema, file: DataFile, columns: Sequence[PublishedColumn]
) -> str | None:
    """What a file says of itself that the manifest says otherwise."""
    if rows != file.rows:
        return f"holds {rows} rows instead of {file.rows}"
    stored: list[tuple[str, Any]] = [(field.name, str(field.type)) for field in schema]
    if stored != [(column.name, column.type) for column in columns]:
        return "has other columns than the manifest lists"
    return None
