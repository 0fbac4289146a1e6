"""The formats of a release's data files, and their rows.

Enters: a data file and the columns that the manifest lists. Leaves: its rows with exactly these
types. Must not know: how files are written, what rows are for.

Text in a CSV is quoted, so that an empty text differs from a missing one; types come from the
manifest and are never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countveil.errors import ReleaseError, SettingsError, option
from countveil.release.formats import stata_spss
from countveil.release.formats.stata_spss import SPSS, STATA, StoredLabels, check_columns
from countveil.release.values import ARROW, CSV, CSV_GZ, PARQUET, format_of

if TYPE_CHECKING:
    import pyarrow as pa

    from countveil.release.manifest import PublishedColumn

STATISTICAL = {"dta": STATA, "sav": SPSS}
ENDINGS = {
    PARQUET: "parquet", CSV: "csv", CSV_GZ: "csv.gz", ARROW: "arrow", STATA: "dta", SPSS: "sav",
}  # fmt: skip
OUTPUT_FORMATS = tuple(ENDINGS)
_GZIP_HEAD = 10
_BLOCK, _LARGEST_BLOCK = 1 << 24, (1 << 31) - 1
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


def read_rows(path: Path, columns: Sequence[PublishedColumn]) -> pa.Table:
    """The rows of a data file that is not Parquet, as an Arrow table; ReleaseError if it is not."""
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
        try:
            return _read_csv(path, columns, _BLOCK)
        except pa.ArrowInvalid:
            # A row larger than a block is rare; then the whole file is one block.
            return _read_csv(path, columns, _LARGEST_BLOCK)
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


def count_arrow(path: Path) -> int:
    """The rows of an Arrow file, read batch by batch."""
    import pyarrow as pa

    with pa.OSFile(str(path), "rb") as raw, pa.ipc.open_file(raw) as reader:
        numbers = range(reader.num_record_batches)
        return sum(reader.get_batch(number).num_rows for number in numbers)


def count_csv(path: Path, schema: pa.Schema) -> int:
    """The rows of a CSV of ours, read block by block; at once if a row is larger than a block."""
    import pyarrow as pa
    from pyarrow import csv

    kinds = {field.name: field.type for field in schema}
    try:
        with _plain_bytes(path) as raw, csv.open_csv(raw, **_csv_options(kinds, _BLOCK)) as reader:
            return sum(batch.num_rows for batch in reader)
    except pa.ArrowInvalid:
        with _plain_bytes(path) as raw:
            return int(csv.read_csv(raw, **_csv_options(kinds, _LARGEST_BLOCK)).num_rows)


def _read_csv(path: Path, columns: Sequence[PublishedColumn], block: int) -> pa.Table:
    from pyarrow import csv

    kinds = {column.name: arrow_type(column.type) for column in columns}
    with _plain_bytes(path) as raw:
        table: pa.Table = csv.read_csv(raw, **_csv_options(kinds, block))
    return table


def _plain_bytes(path: Path) -> Any:
    import pyarrow as pa

    return pa.input_stream(str(path), compression="detect")


def _csv_options(kinds: Mapping[str, pa.DataType], block: int) -> dict[str, Any]:
    from pyarrow import csv

    return {
        # In this thread only: Arrow's threads may outlive the file object.
        "read_options": csv.ReadOptions(use_threads=False, block_size=block),
        "parse_options": csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        "convert_options": csv.ConvertOptions(
            column_types={**kinds},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["true"],
            false_values=["false"],
        ),
    }


def arrow_type(name: str) -> pa.DataType:
    """The Arrow type of a name in the manifest; ValueError if text cannot hold it."""
    import pyarrow as pa

    if name not in _AS_TEXT:
        raise ValueError(f"text does not keep the type {name}")
    alias: Any = name.replace("date32[day]", "date32")
    kind: pa.DataType = pa.type_for_alias(alias)
    return kind
