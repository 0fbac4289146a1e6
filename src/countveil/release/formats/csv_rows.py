"""The rows of a CSV file of a release, also of one that somebody made to fill our memory.

Enters: a file, the names and Arrow types of its columns, what is expected of it. Leaves: its rows;
ValueError or an error of Arrow if it is not such a file. Must not know: what rows are for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from countveil.errors import ReleaseError
from countveil.release.limits import most_unpacked, too_much_unpacked
from countveil.system.regular import open_regular

if TYPE_CHECKING:
    import pyarrow as pa

    from countveil.release.manifest import DataFile

Result = TypeVar("Result")

_CODECS: dict[str, Literal["gzip", "zstd"]] = {".gz": "gzip", ".zst": "zstd"}

# A row larger than a block is rare; then larger ones are tried, at last the whole file as one.
_BLOCKS = (1 << 20, 1 << 24, 1 << 28, (1 << 31) - 1)


@dataclass(frozen=True, slots=True)
class ExpectedRows:
    """Rows of a file, the bytes that it may unpack to, and how much larger than usual that is."""

    rows: int
    most: int
    larger: float

    @classmethod
    def of(cls, file: DataFile, columns: int, larger: float) -> ExpectedRows:
        """What the manifest says of a file with so many columns."""
        most = most_unpacked(file.rows, columns, file.bytes, larger)
        return cls(file.rows, most, larger)


def read_csv(
    path: Path, columns: Sequence[tuple[str, pa.DataType]], expected: ExpectedRows | None
) -> pa.Table:
    """All rows, with exactly these names and types."""
    import pyarrow as pa

    def read(block: int) -> pa.Table:
        if block > _BLOCKS[0] and expected is not None:
            _count(path, expected)
        batches = list(_batches(path, columns, block, expected))
        return pa.Table.from_batches(batches, pa.schema(columns))

    return _in_blocks(read)


def count_csv(path: Path, columns: Sequence[tuple[str, pa.DataType]]) -> int:
    """How many rows a file of ours has, with exactly these names and types."""
    return _in_blocks(lambda block: sum(b.num_rows for b in _batches(path, columns, block, None)))


def _in_blocks(work: Callable[[int], Result]) -> Result:
    """Work with blocks of a size that holds the largest row."""
    import pyarrow as pa

    for block in _BLOCKS:
        try:
            return work(block)
        except pa.ArrowInvalid as error:
            if block == _BLOCKS[-1] or "block" not in str(error):
                raise
    raise AssertionError("the last block was tried")


def _batches(
    path: Path,
    columns: Sequence[tuple[str, pa.DataType]],
    block: int,
    expected: ExpectedRows | None,
) -> Iterator[pa.RecordBatch]:
    from pyarrow import csv

    rows = 0
    with (
        open_regular(path) as raw,
        csv.open_csv(
            _Counted(path, raw, expected),
            # In this thread only: Arrow's threads may outlive the file object.
            read_options=csv.ReadOptions(use_threads=False, block_size=block),
            parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                column_types=dict(columns),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=["true"],
                false_values=["false"],
            ),
        ) as reader,
    ):
        if reader.schema.names != [name for name, _ in columns]:
            raise ValueError("other columns")
        for batch in reader:
            rows += batch.num_rows
            if expected is not None and rows > expected.rows:
                raise ValueError("more rows than the manifest says")
            yield batch


class _Counted:
    """The unpacked bytes of a file, and not more than are expected."""

    closed = False

    def __init__(self, path: Path, raw: Any, expected: ExpectedRows | None) -> None:
        import pyarrow as pa

        self._path, self._expected = path, expected
        codec = _CODECS.get(path.suffix)
        self._stream: Any = raw if codec is None else pa.CompressedInputStream(raw, codec)
        self._read = 0

    def read(self, size: int = -1) -> bytes:
        content: bytes = self._stream.read(size)
        self._read += len(content)
        if self._expected is not None and self._read > self._expected.most:
            raise ReleaseError(
                f"{self._path.name} of the release {too_much_unpacked(self._expected.larger)}."
            )
        return content

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


def _count(path: Path, expected: ExpectedRows) -> None:
    """Refuse more lines than rows: in one large block each would take memory."""
    lines, quoted = 0, False
    with open_regular(path) as raw:
        counted = _Counted(path, raw, expected)
        while content := counted.read(_BLOCKS[0]):
            parts = content.split(b'"')
            lines += sum(part.count(b"\n") for part in parts[quoted::2])
            quoted ^= len(parts) % 2 == 0
    if lines > expected.rows + 1:
        raise ValueError("more rows than the manifest says")
