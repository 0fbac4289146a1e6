"""What the formats of data files are called where files are described.

Enters: the ending of a data file. Leaves: its name, its media type and whether that is registered.
Must not know: files.
"""

from __future__ import annotations

from dataclasses import dataclass

from countveil.release.values import ARROW, CSV, CSV_GZ, PARQUET


@dataclass(frozen=True, slots=True)
class FileType:
    """A format. `registered` says that its media type is in the list of IANA."""

    name: str
    media_type: str
    registered: bool = True
    charset: str = ""
    compressed: str = ""


FILE_TYPES = {
    PARQUET: FileType("Apache Parquet", "application/vnd.apache.parquet"),
    ARROW: FileType("Apache Arrow", "application/vnd.apache.arrow.file"),
    CSV: FileType("CSV", "text/csv", charset="UTF-8"),
    CSV_GZ: FileType("CSV", "text/csv", charset="UTF-8", compressed="application/gzip"),
    "dta": FileType("Stata", "application/x-stata-dta", registered=False),
    "sav": FileType("SPSS", "application/x-spss-sav", registered=False),
}
