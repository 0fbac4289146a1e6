"""Workbooks of Excel, written by hand: no library that the tests have can write them.

Enters: rows of cells. Leaves: an .xlsx file of nothing but what it needs.
"""

from __future__ import annotations

import datetime as dt
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape


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
