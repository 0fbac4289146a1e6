"""What was named, as a data frame of Spark.

Enters: a data frame, the address of files, the name of a table. Leaves: a data frame with the rows
and columns that were asked for. Must not know: what is protected.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from countveil.engines.choice import is_spark_frame
from countveil.engines.databases.wording import SPARK, words_for
from countveil.engines.spark.files import Files
from countveil.engines.spark.jobs import condition, java_errors
from countveil.errors import InputError, QueryError, SettingsError
from countveil.query.names import ReleaseColumns
from countveil.query.parse import parse_condition
from countveil.release import PublishedColumn
from countveil.source import PLAIN_CSV, Choices, Column, check_named

_FORMATS = {
    "parquet": (".parquet", ".pq"),
    "orc": (".orc",),
    "csv": (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".csv.zst", ".csv.bz2"),
    "json": (".jsonl", ".ndjson"),
}
_TABLE = re.compile(r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}$")
WHAT_WORKS = (
    "a folder or pattern of Parquet, ORC, CSV (.csv, .tsv) or JSON lines (.jsonl) files, the name "
    "of a table, or a data frame of Spark"
)
# A type of Spark by its own name -> the name of its Arrow type.
_TYPES = {
    "string": "string", "boolean": "bool", "tinyint": "int8", "smallint": "int16", "int": "int32",
    "bigint": "int64", "float": "float", "double": "double", "date": "date32[day]",
    "timestamp": "timestamp[us, tz=UTC]", "timestamp_ntz": "timestamp[us]", "binary": "binary",
}  # fmt: skip
_DECIMAL = re.compile(r"^decimal\((\d+),(-?\d+)\)$")


def open_frame(session: Any, table: object, choices: Choices) -> Any:
    """The data frame that was named."""
    if choices.query is not None:
        raise SettingsError("--query is for databases; with --engine spark name a table or files.")
    if is_spark_frame(table):
        return table
    if not isinstance(table, str):
        raise InputError(
            f"Spark cannot read a table from a {type(table).__name__}. What works: {WHAT_WORKS}."
        )
    try:
        if _TABLE.match(table) and session.catalog.tableExists(table):
            return session.table(table)
        return _read_files(session, table, choices)
    except java_errors() as error:
        raise InputError(
            f"Spark cannot read {table} ({condition(error)}). What works: {WHAT_WORKS}."
        ) from None


def _read_files(session: Any, address: str, choices: Choices) -> Any:
    kind = _format_of(session, address)
    if kind != "csv":
        if choices.csv != PLAIN_CSV:
            raise SettingsError("--delimiter, --quote, --encoding and --header are for CSV files.")
        return session.read.format(kind).load(address)
    style = choices.csv
    if style.decimal_comma:
        raise SettingsError("--decimal-comma does not go with --engine spark. Convert the file.")
    tab = address.lower().split(".gz")[0].endswith(".tsv")
    reader = session.read.option("header", style.header).option("inferSchema", "true")
    reader = reader.option("sep", style.delimiter or ("\t" if tab else ","))
    reader = reader.option("quote", '"' if style.quote is None else style.quote)
    # A quote inside quotes is doubled, as everywhere but in Spark.
    reader = reader.option("escape", '"').option("mode", "FAILFAST").option("multiLine", "false")
    if style.encoding is not None:
        reader = reader.option("encoding", style.encoding)
    return reader.csv(address)


def _format_of(session: Any, address: str) -> str:
    names = [address.rstrip("/").rpartition("/")[2]]
    if "*" not in address and "{" not in address:
        files = Files(session, address)
        if not files.exists(address):
            raise InputError(f"There is nothing at {address}. What works: {WHAT_WORKS}.")
        if files.is_folder(address):
            inside = [name for name in files.listing(address) if name[0] not in "._"]
            if "manifest.json" in inside:
                raise InputError(f"{address} is a release, which is published already.")
            names = [name for name in inside if "=" not in name] or names
    formats = {_ending(name) for name in names}
    formats.discard(None)
    if len(formats) != 1:
        raise InputError(
            f"Cannot tell the format of {address} from the names of its files. What works: "
            f"{WHAT_WORKS}."
        )
    return str(formats.pop())


def _ending(name: str) -> str | None:
    lower = name.lower()
    for kind, endings in _FORMATS.items():
        if lower.endswith(endings):
            return kind
    return None


def part_of(frame: Any, choices: Choices, sensitive: Sequence[str]) -> Any:
    """The rows that meet the condition and the columns that were named."""
    known = columns_of(frame)
    wanted = choices.wanted_columns(sensitive)
    check_named(known, wanted)
    if choices.where is not None:
        frame = frame.where(_condition(choices.where, known))
    if wanted:
        frame = frame.select([quoted(c.name) for c in known if c.name in wanted])
    return frame


def _condition(text: str, known: Sequence[Column]) -> str:
    """The condition in Spark's words, built from the parse."""
    if not text.strip():
        raise SettingsError("The condition of --where is empty.")
    columns = [PublishedColumn(column.name, column.type, "plain") for column in known]
    try:
        found = parse_condition(text, ReleaseColumns(columns, where="the table"))
        return words_for(SPARK, columns).text(found)
    except QueryError as error:
        raise SettingsError(f"--where: {error}") from error


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
