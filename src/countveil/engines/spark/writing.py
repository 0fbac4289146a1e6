"""Rows into the files of a release, and what was written counted again.

Enters: the rows as they are published, with their keys. Leaves: Parquet files in random row order,
checked to hold exactly what was drawn. Must not know: true values.

Keys are independent of the rows and of each other, and where a row goes depends on its key alone:
so every order of the rows is equally likely, whatever the exchange does. (Keys have 64 bits. Two
rows with the same key, of which a few pairs are expected among ten thousand million rows, keep the
order that the exchange gave them.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from countveil.engines.spark.files import files_to_write
from countveil.engines.spark.reading import quoted
from countveil.errors import EngineError
from countveil.release.draft import WrittenFile
from countveil.release.values import python_values
from countveil.tables import Column

_FILE_ROWS, _LEAST_FILE_ROWS, _FILE_VALUES = 1 << 20, 1 << 16, 1 << 25


def published_schema(schema: Any, columns: Sequence[Column]) -> tuple[Any, str]:
    """Names and types to publish, without what else a schema may say; the name of the key.

    Columns that the table lacks are numbers of ours.
    """
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    kinds = {field.name: field.dataType for field in schema.fields}
    fields = [
        StructField(c.name, StringType() if c.type == "string" else kinds.get(c.name, LongType()))
        for c in columns
    ]
    # Upper and lower case are one to Spark.
    taken = {name.casefold() for name in [*kinds, *(c.name for c in columns)]}
    key_name = "key"
    while key_name in taken:
        key_name += "_"
    return StructType([*fields, StructField(key_name, LongType())]), key_name


def write(dealt: Any, key_name: str, rows: int, folder: str) -> None:
    """Exchange and order the rows by their keys, and write them."""
    # A checksum is computed of a file in memory, so wide rows make shorter files.
    size = max(_LEAST_FILE_ROWS, min(_FILE_ROWS, _FILE_VALUES // max(1, len(dealt.columns))))
    files = max(1, -(-rows // size))
    (
        dealt.repartition(files, key_name)
        .sortWithinPartitions(key_name)
        .drop(key_name)
        .write.mode("append")
        .option("compression", "zstd")
        # As everywhere in a release: nothing besides the rows.
        .option("parquet.column.statistics.enabled", "false")
        .option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
        .parquet(folder)
    )


def checked_files(
    session: Any, folder: str, rows: int, expected: Mapping[str, Mapping[Any, int]]
) -> list[WrittenFile]:
    """Give the files plain names, and count in them what was drawn: no row too many or too few."""
    from pyspark.sql import functions as sql

    files = files_to_write(session, folder)
    written: list[str] = []
    for name in files.listing(folder):
        if name.endswith(".parquet") and name[0] not in "._":
            written.append(f"part-{len(written):05d}.parquet")
            files.rename(f"{folder}/{name}", f"{folder}/{written[-1]}")
        else:
            files.remove(f"{folder}/{name}")
    sizes: dict[str, int] = {}
    if written:
        frame = session.read.parquet(*(f"{folder}/{name}" for name in written))
        file_name = frame.metadataColumn("_metadata").getField("file_name")
        by_file = frame.groupBy(file_name.alias("file")).agg(sql.count(sql.lit(1))).toArrow()
        sizes = dict(zip(*(column.to_pylist() for column in by_file.columns), strict=True))
    if sum(sizes.values()) != rows:
        raise EngineError(
            f"{sum(sizes.values()):,} of {rows:,} rows came out, so nothing was published. Is the "
            f"target on a file system that all workers share?"
        )
    for column, counts in expected.items():
        counted = frame.groupBy(quoted(column)).agg(sql.count(sql.lit(1))).toArrow()
        values, times = python_values(counted.column(0)), counted.column(1).to_pylist()
        if dict(zip(values, times, strict=True)) != {v: n for v, n in counts.items() if n}:
            raise EngineError(
                f"Column {column!r} did not come out as it was drawn, so nothing was published. "
                f"The table may have changed while it was read; please publish it again."
            )
    return [WrittenFile(Path(name), sizes[name]) for name in written]
