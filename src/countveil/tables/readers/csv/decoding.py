"""The bytes of a CSV file, decompressed and in UTF-8.

Enters: a path, and perhaps an encoding. Leaves: a stream of UTF-8 bytes, and the file under it,
whose position shows the progress. Must not know: what a record is.

Plain, gzip and Zstandard files in UTF-8 are read by Arrow. A ZIP archive and any other encoding go
through Python, a block at a time; nothing is written anywhere. An error names the position of the
first byte that does not fit and never the byte.
"""

from __future__ import annotations

import codecs
import contextlib
import threading
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from countveil.errors import InputError, option

_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_UTF8 = ("utf-8", "ascii")
_BLOCK = 1 << 20
_CSV_ENDINGS = (".csv", ".tsv", ".txt", ".tab")


@contextlib.contextmanager
def csv_bytes(path: Path, encoding: str | None = None) -> Iterator[tuple[Any, Any]]:
    """The content of a file in UTF-8, and the file itself.

    Without `encoding` it is UTF-8, unless the file begins with the byte order mark of UTF-16.
    """
    with contextlib.ExitStack() as stack:
        stream, raw = stack.enter_context(_decompressed(path))
        if encoding in _UTF8:
            yield stream, raw
            return
        if encoding is None or encoding.startswith("utf-16"):
            marked = _marked_encoding(path)
            if marked is None and encoding is None:
                yield stream, raw
                return
            # Without a mark, the byte order of nearly all machines.
            encoding = marked or ("utf-16-le" if encoding == "utf-16" else encoding)
        transcoded = Transcoded(stream, encoding or "", path)
        stack.callback(transcoded.stop)
        yield transcoded, raw


def native(stream: Any) -> Any:
    """A stream that Arrow can read from its own threads."""
    if isinstance(stream, Transcoded | _Unzipped):
        # They have all that Arrow asks for, without being an IOBase.
        return pa.PythonFile(stream, mode="r")  # type: ignore[arg-type]
    return stream


def not_the_encoding(path: Path, encoding: str, byte: int, line: int) -> InputError:
    """The error for a byte that no text of this encoding has."""
    hint = (
        f"Name its encoding, such as {option('encoding', 'latin-1')}, windows-1252 or utf-16."
        if encoding.startswith("utf")
        else f"Name another one with {option('encoding')}."
    )
    return InputError(
        f"{path} is not {encoding.upper()} text: line {line:,}, byte {byte:,} of the file, does "
        f"not fit. {hint}"
    )


class _Stoppable(ABC):
    """A stream whose reads end at once when it was stopped.

    Arrow reads ahead in another thread; after an interrupt nothing must wait for that thread.
    """

    def __init__(self) -> None:
        self.closed = False
        self._lock = threading.Lock()

    def read(self, size: int = _BLOCK) -> bytes:
        """At most this many bytes; fewer only at the end."""
        with self._lock:
            return b"" if self.closed else self._read(size)

    def stop(self) -> None:
        """Read nothing more; a read in progress is waited for."""
        with self._lock:
            self.closed = True

    close = stop

    @abstractmethod
    def _read(self, size: int) -> bytes:
        """The same, for a stream that was not stopped."""


class Transcoded(_Stoppable):
    """The text of a stream in another encoding, as UTF-8."""

    def __init__(self, stream: Any, encoding: str, path: Path) -> None:
        super().__init__()
        self._stream, self._encoding, self._path = stream, encoding, path
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._rest = b""
        self._passed, self._lines, self._ended = 0, 1, False

    def _read(self, size: int) -> bytes:
        texts, got = [self._rest], len(self._rest)
        while got < size and not self._ended:
            block = self._stream.read(min(max(size - got, 1 << 12), _BLOCK))
            self._ended = not block
            text = self._decoded(block).encode()
            self._passed += len(block)
            texts.append(text)
            got += len(text)
        content = b"".join(texts)
        self._rest = content[size:]
        return content[:size]

    def _decoded(self, block: bytes) -> str:
        # The bytes of an incomplete character, which the decoder kept from the last block.
        incomplete = self._decoder.getstate()[0]
        try:
            text = self._decoder.decode(block, final=self._ended)
        except UnicodeDecodeError as error:
            before = bytes(error.object[: error.start]).decode(self._encoding, "ignore")
            byte = self._passed - len(incomplete) + error.start + 1
            # Not chained: the cause quotes the bytes, which may be about a person.
            raise not_the_encoding(
                self._path, self._encoding, byte, self._lines + before.count("\n")
            ) from None
        self._lines += text.count("\n")
        return text


class _Unzipped(_Stoppable):
    """The content of the one file in an archive."""

    def __init__(self, member: Any, path: Path) -> None:
        super().__init__()
        self._member, self._path = member, path

    def _read(self, size: int) -> bytes:
        try:
            blocks, got = [], 0
            while got < size and (block := self._member.read(size - got)):
                blocks.append(block)
                got += len(block)
            return b"".join(blocks)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise _damaged(self._path) from error


@contextlib.contextmanager
def _decompressed(path: Path) -> Iterator[tuple[Any, Any]]:
    ending = path.suffix.lower()
    if ending == ".zip":
        with _unzipped(path) as stream_and_file:
            yield stream_and_file
        return
    methods: dict[str, Literal["gzip", "zstd"]] = {".gz": "gzip", ".zst": "zstd"}
    method = methods.get(ending)
    # Not Python objects: Arrow's thread would wait forever for an interpreter that has ended.
    with pa.OSFile(str(path), "r") as raw:
        if method is None:
            yield raw, raw
        else:
            with pa.CompressedInputStream(raw, method) as stream:
                yield stream, raw


@contextlib.contextmanager
def _unzipped(path: Path) -> Iterator[tuple[Any, Any]]:
    with contextlib.ExitStack() as stack:
        raw = stack.enter_context(path.open("rb"))
        try:
            archive = stack.enter_context(zipfile.ZipFile(raw))
            names = [entry for entry in archive.infolist() if _is_data(entry)]
            if len(names) != 1:
                raise InputError(
                    f"{path} contains {len(names)} files. An archive with one CSV file can be "
                    f"read; unpack this one and name its files or their folder."
                )
            if not names[0].filename.lower().endswith(_CSV_ENDINGS):
                raise InputError(
                    f"The name of the file in {path} is not that of a CSV file "
                    f"({', '.join(_CSV_ENDINGS)}). Unpack it first."
                )
            if names[0].flag_bits & 1:
                raise InputError(f"{path} is encrypted. Unpack it first.")
            member = stack.enter_context(archive.open(names[0]))
        except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
            raise _damaged(path) from error
        stream = _Unzipped(member, path)
        stack.callback(stream.stop)
        yield stream, raw


def _is_data(entry: zipfile.ZipInfo) -> bool:
    return not entry.is_dir() and not entry.filename.startswith("__MACOSX/")


def _damaged(path: Path) -> InputError:
    return InputError(f"{path}: the compressed file is damaged or cut off.")


def _marked_encoding(path: Path) -> str | None:
    """The encoding that the byte order mark of a file stands for."""
    with _decompressed(path) as (stream, _):
        start = bytes(stream.read(4))
    if start.startswith(_UTF32) and start[2:] != b"":
        return "utf-32-le" if start.startswith(codecs.BOM_UTF32_LE) else "utf-32-be"
    return _UTF16.get(start[:2])
