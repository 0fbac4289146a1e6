"""How much a Parquet file unpacks to, without unpacking it.

Enters: a Parquet file. Leaves: the bytes that its pages say they unpack to; ValueError if pages do
not fit what the end of the file says of them. Must not know: what is in them, how much is too much.

The end of a file may say anything, and whoever reads a page believes the page. So the head of every
page is read: a few bytes each, in the compact encoding of Thrift.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

_HEAD_BYTES, _LONGEST_HEAD = 128, 1 << 20
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_WHOLE = (4, 5, 6)
_DEEPEST = 8
# Fields of the head of a page.
_UNPACKED, _PACKED, _DATA, _DATA_2 = 2, 3, 5, 8


@dataclass(frozen=True, slots=True)
class Pages:
    """Bytes of all pages of a file, of the largest one, and of the largest dictionary's column."""

    unpacked: int
    largest: int


def pages_of(file: BinaryIO, metadata: Any) -> Pages:
    """The sizes of the pages of an open file with this metadata (of pyarrow)."""
    size = os.fstat(file.fileno()).st_size
    unpacked = largest = 0
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group)
        for place in range(rows.num_columns):
            chunk = rows.column(place)
            flat = metadata.schema.column(place).max_repetition_level == 0
            if flat and chunk.num_values != rows.num_rows:
                raise ValueError("a column has another number of values than rows")
            for one in _pages(file, chunk, size):
                unpacked, largest = unpacked + one, max(largest, one)
    return Pages(unpacked, largest)


def _pages(file: BinaryIO, chunk: Any, size: int) -> Iterator[int]:
    """What each page of a column chunk unpacks to; together they hold its values."""
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < (chunk.dictionary_page_offset or 0) < at:
        at = chunk.dictionary_page_offset
    end, values = at + chunk.total_compressed_size, 0
    if not 0 < at <= end <= size:
        raise ValueError("a column lies outside the file")
    while at < end:
        head, length = _head(file, at, end)
        packed, unpacked = _size(head.get(_PACKED)), _size(head.get(_UNPACKED))
        if at + length + packed > end:
            raise ValueError("a page lies outside its column")
        data = head.get(_DATA) or head.get(_DATA_2)
        count = _size(data.get(1)) if isinstance(data, dict) else 0
        values += count
        at += length + packed
        yield unpacked
    if values != chunk.num_values:
        raise ValueError("pages have another number of values than their column")


def _size(number: object) -> int:
    if isinstance(number, int) and number >= 0:
        return number
    raise ValueError("a page does not say how large it is")


def _head(file: BinaryIO, at: int, end: int) -> tuple[dict[int, Any], int]:
    """The head of the page that begins here, and its length."""
    wanted = _HEAD_BYTES
    while True:
        file.seek(at)
        content = file.read(min(wanted, end - at))
        try:
            return _struct(content, 0, 0)
        except IndexError:
            if wanted >= min(_LONGEST_HEAD, end - at):
                raise ValueError("the head of a page does not end") from None
            wanted *= 16


def _struct(content: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """The whole numbers and structs of a struct by field, and where it ends."""
    if depth > _DEEPEST:
        raise ValueError("the head of a page is nested too deeply")
    fields: dict[int, Any] = {}
    number = 0
    while content[at]:
        delta, kind = content[at] >> 4, content[at] & 15
        at += 1
        if delta:
            number += delta
        else:
            number, at = _whole(content, at)
        fields[number], at = _value(content, at, kind, depth)
    return fields, at + 1


def _value(content: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (_TRUE, _FALSE):
        return None, at
    if kind in _WHOLE:
        return _whole(content, at)
    if kind == _STRUCT:
        return _struct(content, at, depth + 1)
    if kind == _BINARY:
        length, at = _varint(content, at)
        return None, _within(content, at + length)
    if kind in (_BYTE, _DOUBLE):
        return None, _within(content, at + (1 if kind == _BYTE else 8))
    if kind in (_LIST, _SET):
        return None, _skip_list(content, at, depth)
    raise ValueError("the head of a page is not readable")


def _skip_list(content: bytes, at: int, depth: int) -> int:
    count, kind = content[at] >> 4, content[at] & 15
    at += 1
    if count == 15:
        count, at = _varint(content, at)
    for _ in range(count):
        # A truth value in a list takes a byte.
        at = at + 1 if kind in (_TRUE, _FALSE) else _value(content, at, kind, depth + 1)[1]
        _within(content, at)
    return at


def _within(content: bytes, at: int) -> int:
    if at > len(content):
        raise IndexError
    return at


def _varint(content: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = content[at]
        at += 1
        result |= (byte & 127) << shift
        if byte < 128:
            return result, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


def _whole(content: bytes, at: int) -> tuple[int, int]:
    number, at = _varint(content, at)
    return (number >> 1) ^ -(number & 1), at
