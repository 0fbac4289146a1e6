"""One row of each person, and changed cells, on a cluster.

Enters: a data frame and what the publisher declared. Leaves: a data frame with fewer rows, or with
columns changed. Must not know: what is protected. Cells are changed by the same function as on one
machine, on Arrow batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from countveil.engines.partitions.tasks import partition_number
from countveil.engines.spark import jobs
from countveil.engines.spark.reading import columns_of, quoted
from countveil.errors import CountveilError
from countveil.randomness import TaskKey
from countveil.release.values import TEXT, kind_of
from countveil.tables.cells import ISO_DATE, CellChange
from countveil.tables.encoded.encoding import from_numpy
from countveil.tables.encoded.plain_arrays import plain_array
from countveil.tables.one_per import (
    FIRST,
    OnePer,
    check_persons,
    check_time,
    no_times,
    tied_sentence,
)

Batches = Iterator[pa.RecordBatch]


class ChangeCellsTask:
    """The rows of a partition with the cells of some columns changed."""

    def __init__(self, changes: Mapping[str, CellChange]) -> None:
        self._changes = dict(changes)

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            columns = []
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                change = self._changes.get(name)
                try:
                    columns.append(
                        column if change is None else change.applied(name, plain_array(column))
                    )
                except CountveilError as error:
                    raise jobs.refusal(error) from None
            yield pa.RecordBatch.from_arrays(columns, batch.schema.names)


class RandomNumbersTask:
    """The rows of a partition with a random number each, from a stream of the partition."""

    def __init__(self, key: TaskKey, name: str) -> None:
        self._key, self._name = key, name

    def __call__(self, batches: Batches) -> Batches:
        stream = self._key.stream("rows", str(partition_number()))
        for batch in batches:
            random = from_numpy(stream.words(batch.num_rows).view("int64"))
            names = [*batch.schema.names, self._name]
            yield pa.RecordBatch.from_arrays([*batch.columns, random], names)


def with_changed_cells(frame: Any, changes: Mapping[str, CellChange]) -> Any:
    """The frame with the cells of some columns changed."""
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

    kinds = {pa.string(): StringType(), pa.int64(): LongType(), pa.float64(): DoubleType()}
    fields = []
    for field in frame.schema.fields:
        change = changes.get(field.name)
        kind = field.dataType
        if change is not None:
            kind = kinds[change.type_of(field.name, to_arrow_type(kind))]
        fields.append(StructField(field.name, kind))
    return frame.mapInArrow(ChangeCellsTask(changes), StructType(fields))


def one_row_each(session: Any, frame: Any, one_per: OnePer, warnings: list[str]) -> Any:
    """One row of each person; how many of them had several at that time goes to `warnings`."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sql
    from pyspark.sql.types import LongType, StructField, StructType

    person = sql.col(quoted(one_per.person))
    _check(session, frame, one_per)
    taken = {name.casefold() for name in frame.columns}
    random, place, rank = (_free(name, taken) for name in ("random", "place", "rank"))
    schema = StructType([*frame.schema.fields, StructField(random, LongType())])
    numbered = frame.mapInArrow(RandomNumbersTask(one_per.key, random), schema)
    times = []
    if one_per.by is not None:
        by = sql.col(quoted(one_per.by))
        times = [by.asc_nulls_last() if one_per.row == FIRST else by.desc_nulls_last()]
    window = Window.partitionBy(person)
    ranked = numbered.withColumn(place, sql.row_number().over(window.orderBy(*times, random)))
    if times:
        ranked = ranked.withColumn(rank, sql.rank().over(window.orderBy(*times)))
        ranked = ranked.where(
            (sql.col(place) == 1) | ((sql.col(place) == 2) & (sql.col(rank) == 1))
        )
        # The random numbers are drawn once: what is counted are the rows that are kept.
        ranked = jobs.run(session, lambda: ranked.localCheckpoint(eager=True))
        tied = jobs.run(session, lambda: ranked.where(sql.col(place) == 2).count())
        if tied:
            warnings.append(tied_sentence(one_per, int(tied)))
    return ranked.where(sql.col(place) == 1).select([quoted(name) for name in frame.columns])


def _check(session: Any, frame: Any, one_per: OnePer) -> None:
    """Every row has a person, and the times have an order."""
    from pyspark.sql import functions as sql

    person = sql.col(quoted(one_per.person))
    questions = [sql.sum(person.isNull().cast("long"))]
    kinds = {column.name: column.type for column in columns_of(frame)}
    text = False
    if one_per.by is not None:
        check_time(one_per.by, kinds[one_per.by])
        text = kind_of(kinds[one_per.by]) == TEXT
    if text:
        by = sql.col(quoted(str(one_per.by)))
        questions.append(sql.sum((~by.rlike(ISO_DATE)).cast("long")))
    counts = jobs.run(session, lambda: frame.agg(*questions).collect()[0])
    check_persons(one_per.person, int(counts[0] or 0))
    if text and counts[1]:
        raise no_times(str(one_per.by))


def _free(name: str, taken: set[str]) -> str:
    """A name that no column has; upper and lower case are one to Spark."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
