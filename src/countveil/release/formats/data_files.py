"""The formats of a release's data files, and their rows.

Enters: a data file and the columns that the manifest lists. Leaves: its rows with exactly these
types. Must not know: how files are written, what rows are for.

Text in a CSV is quoted, so that an empty text differs from a missing one; types come from the
manifest and are never guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countveil.errors import ReleaseError, SettingsError, option
from countveil.release.formats import stata_spss
from countveil.release.formats.stata_spss import SPSS, STATA, StoredLabels, check_columns
from countveil.release.values import ARROW, CSV, CSV_GZ, PARQUET, format_of

if TYPE_CHECKING:
    import pyarrow as pa

    from countveil.release.formats.csv_rows import ExpectedRows
    from countveil.release.manifest import PublishedColumn

STATISTICAL = {"dta": STATA, "sav": SPSS}
ENDINGS = {
    PARQUET: "parquet", CSV: "csv", CSV_GZ: "csv.gz", ARROW: "arrow", STATA: "dta", SPSS: "sav",
}  # fmt: skip
OUTPUT_FORMATS = tuple(ENDINGS)
_GZIP_HEAD = 10
# Types that text keeps exactly, there and back.
_AS_TEXT = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float",
    "double", "string", "large_string", "date32[day]", "timestamp[s]", "timestamp[ms]",
    "timestamp[us]", "timestamp[ns]",
}  # fmt: skip


def check_kept(columns: Sequence[tuple[str, str]], output_format: str) -> None:
    """Refuse a format that would not keep every type (of name and type) exactly."""
    if output_format not in OUTPUT_FORMATS:
        listed = ", ".join(OUTPUT_FORMATS)
        raise SettingsError(f"There is no output format {output_format!r}. Available: {listed}.")
    if output_format in (PARQUET, ARROW):
        return
    if output_format in (STATA, SPSS):
        check_columns(columns, output_format)
        return
    for name, kind in columns:
        if kind not in _AS_TEXT:
            raise SettingsError(
                f"Column {name!r} has the type {kind}, which a CSV would not keep exactly. Use the "
                f"output format parquet or arrow, or leave the column out with "
                f"{option('drop', name)}."
            )


def read_rows(
    path: Path, columns: Sequence[PublishedColumn], expected: ExpectedRows | None = None
) -> pa.Table:
    """The rows of a data file that is not Parquet, as an Arrow table; ReleaseError if it is not.

    Of one that somebody else made, no more is read than is expected of it.
    """
    import pyarrow as pa

    try:
        if format_of(path.name) == ARROW:
            with pa.OSFile(str(path), "rb") as raw, pa.ipc.open_file(raw) as reader:
                table: pa.Table = reader.read_all()
                return table
        program = STATISTICAL.get(format_of(path.name))
        if program is not None:
            kinds = [(column.name, arrow_type(column.type)) for column in columns]
            return stata_spss.read_dataset(path, kinds, program)
        from countveil.release.formats.csv_rows import read_csv

        kinds = [(column.name, arrow_type(column.type)) for column in columns]
        return read_csv(path, kinds, expected)
    except (pa.ArrowException, OSError, ValueError):
        # The cause may quote a value.
        raise ReleaseError(
            f"{path.name} of the release cannot be read. 'countveil verify' says what is wrong."
        ) from None


def content_beside_rows(path: Path, labels: StoredLabels | None = None) -> list[str]:
    """What a data file other than Parquet holds besides its rows, in words; ours hold nothing.

    A plain CSV has nothing besides its rows. Files of Stata and SPSS may have the labels that their
    manifest lists.
    """
    import pyarrow as pa

    ending = format_of(path.name)
    if ending == CSV_GZ:
        with path.open("rb") as file:
            head = file.read(_GZIP_HEAD)
        # A name, a comment and the like, and a time.
        return ["head of the gzip file"] if any(head[3:8]) else []
    if ending == ARROW:
        with pa.OSFile(str(path), "rb") as raw, pa.ipc.open_file(raw) as reader:
            schema = reader.schema
            extras = [key.decode() for key in schema.metadata or {}]
            extras += [key.decode() for key in reader.metadata or {}]
        for field in schema:
            extras += [f"{field.name}: {key.decode()}" for key in field.metadata or {}]
            if pa.types.is_dictionary(field.type):
                extras.append(f"{field.name}: a dictionary")
        return extras
    program = STATISTICAL.get(ending)
    return [] if program is None else stata_spss.metadata_beside_rows(path, program, labels)


def arrow_type(name: str) -> pa.DataType:
    """The Arrow type of a name in the manifest; ValueError if text cannot hold it."""
    import pyarrow as pa

    if name not in _AS_TEXT:
        raise ValueError(f"text does not keep the type {name}")
    alias: Any = name.replace("date32[day]", "date32")
    kind: pa.DataType = pa.type_for_alias(alias)
    return kind
