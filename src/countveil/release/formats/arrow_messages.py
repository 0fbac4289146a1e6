"""How much an Arrow file unpacks to, and how many rows it has, without unpacking it.

Enters: an Arrow file. Leaves: rows, and the bytes that its buffers say they unpack to; ValueError
if it is not such a file. Must not know: what is in it, how much is too much.

The messages of a file are tables of FlatBuffers; a compressed buffer begins with its real length.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

_MAGIC = b"ARROW1"
_END = struct.Struct("<i6s")
_BLOCK = struct.Struct("<qi4xq")
_BUFFER = struct.Struct("<qq")
_LONGEST_FOOTER = 64 << 20
# The kinds of messages in a file.
_DICTIONARY, _ROWS = 2, 3


@dataclass(frozen=True, slots=True)
class Messages:
    """Rows of a file, and the bytes that all its buffers unpack to."""

    rows: int
    unpacked: int


def messages_of(file: BinaryIO) -> Messages:
    """The sizes of the messages of an open file."""
    try:
        return _messages(file)
    except (struct.error, IndexError):
        raise ValueError("not a readable Arrow file") from None


def _messages(file: BinaryIO) -> Messages:
    size = os.fstat(file.fileno()).st_size
    file.seek(max(0, size - _END.size))
    length, magic = _END.unpack(file.read(_END.size))
    if magic != _MAGIC or not 0 < length <= min(size, _LONGEST_FOOTER):
        raise ValueError("not an Arrow file")
    footer = _Table.root(_read(file, size - _END.size - length, length, size))
    rows = unpacked = 0
    for field, kind in ((2, _DICTIONARY), (3, _ROWS)):
        for place in footer.vector(field, _BLOCK.size):
            offset, head, body = _BLOCK.unpack_from(footer.content, place)
            batch = _batch(_read(file, offset, head, size), kind)
            unpacked += sum(_unpacked(file, batch, offset + head, body, size))
            if kind == _ROWS:
                count = batch.number(0, "<q")
                if count < 0:
                    raise ValueError("a batch has less than no rows")
                rows += count
    return Messages(rows, unpacked)


def _batch(head: bytes, kind: int) -> _Table:
    """The record batch of a message, whose head may begin with a mark."""
    marked = head[:4] == b"\xff\xff\xff\xff"
    message = _Table.root(head[8 if marked else 4 :])
    if message.number(1, "<B") != kind:
        raise ValueError("a message is of another kind than the end of the file says")
    batch = message.table(2)
    return batch if kind == _ROWS else batch.table(1)


def _unpacked(file: BinaryIO, batch: _Table, start: int, body: int, size: int) -> Iterator[int]:
    """What each buffer of a batch unpacks to."""
    compressed = batch.place(3) is not None
    for place in batch.vector(2, _BUFFER.size):
        offset, length = _BUFFER.unpack_from(batch.content, place)
        if offset < 0 or length < 0 or offset + length > body or start + body > size:
            raise ValueError("a buffer lies outside its message")
        if not compressed or length < 8:
            yield length
            continue
        (real,) = struct.unpack("<q", _read(file, start + offset, 8, size))
        # -1 says that the buffer is stored as it is.
        yield length if real < 0 else real


def _read(file: BinaryIO, at: int, length: int, size: int) -> bytes:
    if not 0 <= at <= at + length <= size or length > _LONGEST_FOOTER:
        raise ValueError("a part lies outside the file")
    file.seek(at)
    return file.read(length)


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of FlatBuffers: fields by number, at places in the content."""

    content: bytes
    start: int

    @classmethod
    def root(cls, content: bytes) -> _Table:
        return cls(content, struct.unpack_from("<I", content, 0)[0])

    def place(self, field: int) -> int | None:
        """Where a field is; None if it is not there."""
        (back,) = struct.unpack_from("<i", self.content, self.start)
        fields = self.start - back
        if fields < 0:
            raise IndexError
        (length,) = struct.unpack_from("<H", self.content, fields)
        if 6 + 2 * field > length:
            return None
        (offset,) = struct.unpack_from("<H", self.content, fields + 4 + 2 * field)
        return self.start + offset if offset else None

    def number(self, field: int, kind: str) -> int:
        place = self.place(field)
        return 0 if place is None else int(struct.unpack_from(kind, self.content, place)[0])

    def table(self, field: int) -> _Table:
        place = self.place(field)
        if place is None:
            raise IndexError
        return _Table(self.content, place + struct.unpack_from("<I", self.content, place)[0])

    def vector(self, field: int, width: int) -> range:
        """The places of the structs in a vector."""
        place = self.place(field)
        if place is None:
            return range(0)
        start = place + struct.unpack_from("<I", self.content, place)[0]
        (count,) = struct.unpack_from("<I", self.content, start)
        if start + 4 + count * width > len(self.content):
            raise IndexError
        return range(start + 4, start + 4 + count * width, width)
