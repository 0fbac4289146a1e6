"""Workbooks written by hand, with nothing but what they need: OOXML, OpenDocument, the old binary.

Enters: sheets by their names, as rows of values. Leaves: a file of that format.
"""

from __future__ import annotations

import datetime as dt
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest

from countveil.tables.readers import excel

_FIRST_DAY = dt.date(1899, 12, 30)


@pytest.fixture(scope="module")
def read_here() -> Iterator[None]:
    """Workbooks are read by the same function, without a process for each."""

    def here(_function: str, given: bytes, _most_bytes: int) -> bytes:
        return excel.workbooks_as_bytes(given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(excel, "in_separate_process", here)
        yield


def cell(place: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value}</v></c>'
    if isinstance(value, dt.datetime):
        days = (value - dt.datetime(1899, 12, 30)) / dt.timedelta(days=1)  # noqa: DTZ001
        return f'<c r="{place}" s="2"><v>{days!r}</v></c>'
    if isinstance(value, dt.date):
        days = (value - dt.date(1899, 12, 30)).days
        return f'<c r="{place}" s="1"><v>{days}</v></c>'
    text = f'<t xml:space="preserve">{escape(str(value))}</t>'
    return f'<c r="{place}" t="inlineStr"><is>{text}</is></c>'


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    """A workbook of nothing but what it needs, written by hand."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    with zipfile.ZipFile(path, "w") as archive:
        parts, links, types = [], [], []
        for number, (name, rows) in enumerate(sheets.items(), 1):
            lines = "".join(
                f'<row r="{y}">'
                + "".join(cell(f"{chr(65 + x)}{y}", value) for x, value in enumerate(row))
                + "</row>"
                for y, row in enumerate(rows, 1)
            )
            archive.writestr(
                f"xl/worksheets/sheet{number}.xml",
                f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>',
            )
            parts.append(f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>')
            links.append(
                f'<Relationship Id="r{number}" Type="{office}/worksheet" '
                f'Target="worksheets/sheet{number}.xml"/>'
            )
            types.append(
                f'<Override PartName="/xl/worksheets/sheet{number}.xml" '
                f'ContentType="{kind}.worksheet+xml"/>'
            )
        links.append(f'<Relationship Id="s" Type="{office}/styles" Target="styles.xml"/>')
        archive.writestr(
            "xl/styles.xml",
            f'<styleSheet xmlns="{main}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/>'
            '<xf numFmtId="22"/></cellXfs>'
            "</styleSheet>",
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{"".join(parts)}</sheets>'
            "</workbook>",
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}/relationships">{"".join(links)}</Relationships>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r" '
            f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Override PartName="/xl/workbook.xml" '
            f'ContentType="{kind}.sheet.main+xml"/>{"".join(types)}</Types>',
        )
    return path


def open_document(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    """As .ods."""
    names = "urn:oasis:names:tc:opendocument:xmlns:"
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    tables = "".join(
        f'<table:table table:name="{name}">'
        + "".join(
            f"<table:table-row>{''.join(map(_open_cell, row))}</table:table-row>" for row in rows
        )
        + "</table:table>"
        for name, rows in sheets.items()
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", kind)
        archive.writestr(
            "META-INF/manifest.xml",
            f'<m:manifest xmlns:m="{names}manifest:1.0"><m:file-entry m:full-path="/" '
            f'm:media-type="{kind}"/></m:manifest>',
        )
        archive.writestr(
            "content.xml",
            f'<office:document-content xmlns:office="{names}office:1.0" '
            f'xmlns:table="{names}table:1.0" xmlns:text="{names}text:1.0"><office:body>'
            f"<office:spreadsheet>{tables}</office:spreadsheet></office:body>"
            f"</office:document-content>",
        )
    return path


def _open_cell(value: Any) -> str:
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, bool):
        kind = f'boolean" office:boolean-value="{str(value).lower()}'
    elif isinstance(value, int | float):
        kind = f'float" office:value="{value}'
    elif isinstance(value, dt.date):
        kind = f'date" office:date-value="{value.isoformat()}'
    else:
        kind = "string"
    text = f"<text:p>{escape(str(value))}</text:p>"
    return f'<table:table-cell office:value-type="{kind}">{text}</table:table-cell>'


def old_workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    """As .xls: records of BIFF8, in one stream of a compound file."""
    parts = [_sheet(rows) for rows in sheets.values()]
    names = list(sheets)
    starts = [0] * len(names)
    first = len(_book(names, starts))
    for place, part in enumerate(parts):
        starts[place] = first
        first += len(part)
    path.write_bytes(_compound(_book(names, starts) + b"".join(parts)))
    return path


def _record(number: int, content: bytes = b"") -> bytes:
    return struct.pack("<HH", number, len(content)) + content


def _book(names: list[str], starts: list[int]) -> bytes:
    formats = [
        _record(0xE0, struct.pack("<HHHBBBBIIH", 0, number, 0, 0, 0, 0, 0, 0, 0, 0))
        for number in (0, 14)
    ]
    listed = [
        _record(0x85, struct.pack("<IBBBB", start, 0, 0, len(name), 1) + name.encode("utf-16-le"))
        for name, start in zip(names, starts, strict=True)
    ]
    begin = _record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0))
    return begin + b"".join([*formats, *listed]) + _record(0x0A)


def _sheet(rows: list[list[Any]]) -> bytes:
    cells = [
        _old_cell(y, x, value)
        for y, row in enumerate(rows)
        for x, value in enumerate(row)
        if value is not None
    ]
    begin = _record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0))
    return begin + b"".join(cells) + _record(0x0A)


def _old_cell(y: int, x: int, value: Any) -> bytes:
    at = struct.pack("<HHH", y, x, int(isinstance(value, dt.date)))
    if isinstance(value, bool):
        return _record(0x205, at + struct.pack("<BB", value, 0))
    if isinstance(value, dt.date):
        value = (value - _FIRST_DAY).days
    if isinstance(value, int | float):
        return _record(0x203, at + struct.pack("<d", value))
    return _record(0x204, at + struct.pack("<HB", len(value), 1) + value.encode("utf-16-le"))


def _compound(content: bytes) -> bytes:
    """One sector of allocations, one of names, then the stream, in sectors of 512 bytes."""
    free, end, own = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
    sectors = max(8, -(-len(content) // 512))
    assert sectors <= 126, "more would need a second sector of allocations"
    chain = [own, end, *range(3, sectors + 2), end]
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    head += struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    head += struct.pack("<9I", 0, 1, 1, 0, 4096, end, 0, end, 0)
    head += struct.pack("<109I", 0, *[free] * 108)
    directory = [("Root Entry", 5, 1, end, 0), ("Workbook", 2, free, 2, sectors * 512)]
    entries = b"".join(
        name.encode("utf-16-le").ljust(64, b"\0")
        + struct.pack("<HBBIII36xIQ", 2 * len(name) + 2, kind, 1, free, free, child, start, size)
        for name, kind, child, start, size in directory
    )
    table = struct.pack("<128I", *chain, *[free] * (128 - len(chain)))
    return head + table + entries.ljust(512, b"\0") + content.ljust(sectors * 512, b"\0")
