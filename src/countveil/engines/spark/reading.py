"""What was named, as a data frame of Spark.

Enters: a data frame, the address of files, the name of a table. Leaves: a data frame with the
chosen rows and columns. Must not know: what is protected.

Spark tolerates much when it reads text: lines that do not fit, headers that differ, codes with
leading zeros. Here such a line would publish what nobody meant to publish, so it is refused, and
`csv_types` decides what a column of text becomes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from countveil.engines.spark.csv_types import typed
from countveil.engines.spark.files import Files, files_to_read
from countveil.engines.spark.jobs import condition, java_errors
from countveil.errors import InputError, QueryError, SettingsError, option
from countveil.release import PublishedColumn
from countveil.sql.dialects import SPARK, dialect_for
from countveil.sql.query.conditions import parse_condition
from countveil.sql.query.expressions import Expression, columns_named
from countveil.sql.query.release_columns import ReleaseColumns
from countveil.tables import PLAIN_CSV, Column, CsvStyle, Reading, check_named
from countveil.tables.sources import is_spark_frame

if TYPE_CHECKING:
    from countveil.engines.spark.platform.read_files import ReadFiles

_FORMATS = {
    "parquet": (".parquet", ".pq"),
    "orc": (".orc",),
    "csv": (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".csv.zst", ".csv.bz2"),
    "json": (".jsonl", ".ndjson"),
}
# Catalogue, namespaces and name, each plain or in backquotes.
_PART = r"([^\W\d]\w*|`[^`]+`)"
_TABLE = re.compile(rf"^{_PART}(\.{_PART})*$")
WHAT_WORKS = (
    "a folder or pattern of Parquet, ORC, CSV (.csv, .tsv) or JSON lines (.jsonl) files, the name "
    "of a table or view, or a data frame of Spark"
)
# Tables that are more than their files: some of these may be deleted or replaced. What such a
# folder has inside, the format's name, and the package that reads it.
_TABLE_FORMATS = (
    ("_delta_log", "delta", "io.delta:delta-spark_2.13 (pip install delta-spark)"),
    ("metadata/version-hint.text", "iceberg", "org.apache.iceberg:iceberg-spark-runtime"),
)
_NO_READER = "DATA_SOURCE_NOT_FOUND"
# A type of Spark by its own name -> the name of its Arrow type.
_TYPES = {
    "string": "string", "boolean": "bool", "tinyint": "int8", "smallint": "int16", "int": "int32",
    "bigint": "int64", "float": "float", "double": "double", "date": "date32[day]",
    "timestamp": "timestamp[us, tz=UTC]", "timestamp_ntz": "timestamp[us]", "binary": "binary",
}  # fmt: skip
_DECIMAL = re.compile(r"^decimal\((\d+),(-?\d+)\)$")


def open_frame(session: Any, table: object, reading: Reading) -> Any:
    """The data frame that was named."""
    if reading.query is not None:
        raise SettingsError(
            f"{option('query')} is for databases; with {option('engine', 'spark')} name a table or "
            f"files."
        )
    if not is_spark_frame(table) and not isinstance(table, str):
        raise InputError(
            f"Spark cannot read a table from a {type(table).__name__}. What works: {WHAT_WORKS}."
        )
    named = table if isinstance(table, str) else "this data frame"
    try:
        frame = _named_frame(session, table, reading)
        # A server of Spark Connect is asked only now whether there is such a table.
        _ = frame.schema
    except java_errors() as error:
        why = condition(error)
        if why.startswith(_NO_READER):
            packages = " or ".join(package for _, _, package in _TABLE_FORMATS)
            raise InputError(
                f"This Spark lacks the package that reads {named}. Start it with "
                f"spark.jars.packages set to that package, for Delta and Iceberg {packages}, and "
                f"with the settings that its documentation names."
            ) from None
        raise InputError(f"Spark cannot read {named} ({why}). What works: {WHAT_WORKS}.") from None
    return frame


def _named_frame(session: Any, table: Any, reading: Reading) -> Any:
    if is_spark_frame(table):
        return table
    if _TABLE.match(table) and session.catalog.tableExists(table):
        return session.table(table)
    return _read_files(session, table, reading.csv, reading.missing)


def _read_files(session: Any, address: str, style: CsvStyle, missing: Sequence[str]) -> Any:
    kind, name = _format_of(session, address)
    if kind == "csv":
        return _read_csv(session, address, style, missing, tabs=".tsv" in name.lower())
    if style != PLAIN_CSV:
        raise SettingsError(
            f"{', '.join(style.given)} is for CSV files, and this table is not one."
        )
    reader = session.read.format(kind)
    if kind == "json":
        # Otherwise a line that is not JSON becomes a value of an extra column.
        reader = reader.option("mode", "FAILFAST")
    return reader.load(address)


def _read_csv(
    session: Any, address: str, style: CsvStyle, missing: Sequence[str], *, tabs: bool
) -> Any:
    if style.decimal_comma:
        raise SettingsError(
            f"{option('decimal_comma')} cannot be used with {option('engine', 'spark')}. "
            f"Convert the file."
        )
    options = {
        "header": str(style.header).lower(),
        "sep": style.delimiter or ("\t" if tabs else ","),
        "quote": '"' if style.quote is None else style.quote,
        # A quote inside quotes is doubled, as everywhere but in Spark.
        "escape": '"',
        "mode": "FAILFAST",
        # Every line is read as a whole, and every header compared.
        "columnPruning": "false",
        "enforceSchema": "false",
        **({} if style.encoding is None else {"encoding": style.encoding}),
    }
    # With a schema, every file's header is compared with it.
    schema = session.read.options(**options).csv(address).schema
    frame = session.read.options(**options).schema(schema).csv(address)
    if not style.header:
        frame = frame.toDF(*(f"column{place + 1}" for place in range(len(frame.columns))))
    return typed(without_missing(frame, missing))


def without_missing(frame: Any, missing: Sequence[str]) -> Any:
    """The frame with no value where a text stands for a missing one."""
    from pyspark.sql import functions as sql
    from pyspark.sql.types import StringType

    if not missing:
        return frame
    columns = []
    for field in frame.schema.fields:
        column = sql.col(quoted(field.name))
        if isinstance(field.dataType, StringType):
            column = sql.when(~column.isin(*missing), column).alias(field.name)
        columns.append(column)
    return frame.select(columns)


def _format_of(session: Any, address: str) -> tuple[str, str]:
    """The format of files, and the name of one of them."""
    names = [address.rstrip("/").rpartition("/")[2]]
    if not set(address) & set("*?{["):
        files = files_to_read(session, address)
        if not files.exists(address):
            raise InputError(f"There is nothing at {address}. What works: {WHAT_WORKS}.")
        for inside, kind, _ in _TABLE_FORMATS:
            if files.exists(f"{address.rstrip('/')}/{inside}"):
                return kind, names[0]
        if files.is_folder(address):
            names = _names_in(files, address)
    formats = {_ending(name) for name in names} - {None}
    if len(formats) != 1:
        raise InputError(
            f"Cannot tell the format of {address} from the names of its files. What works: "
            f"{WHAT_WORKS}."
        )
    return str(formats.pop()), names[0]


def _names_in(files: Files | ReadFiles, folder: str) -> list[str]:
    """Names of the files in a folder, or in the first of its folders such as `year=2025`."""
    inside = [name for name in files.listing(folder) if name[0] not in "._"]
    if "manifest.json" in inside:
        raise InputError(f"{folder} is a release, which is published already.")
    deeper = [name for name in inside if "=" in name]
    if deeper and len(deeper) == len(inside):
        return _names_in(files, f"{folder.rstrip('/')}/{deeper[0]}")
    if not inside:
        raise InputError(f"The folder {folder} is empty. What works: {WHAT_WORKS}.")
    return inside


def _ending(name: str) -> str | None:
    lower = name.lower()
    for kind, endings in _FORMATS.items():
        if lower.endswith(endings):
            return kind
    return None


@dataclass(frozen=True, slots=True)
class ChosenRows:
    """Rows and columns of a frame, and the columns of the condition that chose them."""

    frame: Any
    filtered_by: Sequence[str]


def chosen_rows(frame: Any, reading: Reading) -> ChosenRows:
    """The rows that meet the condition, after missing texts; all columns are still there."""
    known = columns_of(frame)
    check_named(known, reading.columns)
    frame = without_missing(frame, reading.missing)
    if reading.where is None:
        return ChosenRows(frame, ())
    condition = _condition(reading.where, known)
    columns = [PublishedColumn(column.name, column.type, "plain") for column in known]
    try:
        text = dialect_for(SPARK, columns).text(condition)
    except QueryError as error:
        raise SettingsError(f"{option('where')}: {error}") from error
    return ChosenRows(frame.where(text), sorted(columns_named(condition)))


def chosen_columns(frame: Any, reading: Reading) -> Any:
    """The columns that were named, or all."""
    if not reading.columns:
        return frame
    return frame.select([quoted(name) for name in frame.columns if name in reading.columns])


def check_cases(frame: Any) -> None:
    """Refuse names that differ in case alone, where Spark does not tell them apart."""
    if frame.sparkSession.conf.get("spark.sql.caseSensitive", "false") == "true":
        return
    seen: dict[str, str] = {}
    for name in frame.columns:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise InputError(
                f"The columns {other!r} and {name!r} are one and the same to Spark. Rename one."
            )


def _condition(text: str, known: Sequence[Column]) -> Expression:
    """The condition, from the parse; Spark's SQL is built from it."""
    if not text.strip():
        raise SettingsError(f"The condition of {option('where')} is empty.")
    columns = [PublishedColumn(column.name, column.type, "plain") for column in known]
    try:
        return parse_condition(text, ReleaseColumns(columns, where="the table"))
    except QueryError as error:
        raise SettingsError(f"{option('where')}: {error}") from error


def quoted(name: str) -> str:
    """A column's name as Spark takes it."""
    return "`" + name.replace("`", "``") + "`"


def columns_of(frame: Any) -> list[Column]:
    """Names, and Arrow's names of the types; a type that cannot be published keeps Spark's."""
    return [Column(f.name, _type_name(f.dataType.simpleString())) for f in frame.schema.fields]


def _type_name(spark: str) -> str:
    decimal = _DECIMAL.match(spark)
    if decimal is not None:
        return f"decimal128({decimal[1]}, {decimal[2]})"
    if spark.startswith(("varchar", "char")):
        return "string"
    return _TYPES.get(spark, f"Spark's {spark}")
