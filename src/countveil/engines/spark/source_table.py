"""The publisher's table on a cluster: counted, dealt, exchanged, written.

Enters: a data frame; later what was drawn. Leaves: histograms and Parquet files. Must not know:
groups, ell, where the release goes in the end.

What the driver holds is bounded whatever the rows: counts by part and value (`_MOST_COUNTS`; a
table with more of them is read in fewer, larger parts), and the shares of Y (`parcels`).
"""

from __future__ import annotations

import functools
import itertools
import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ParamSpec, cast

import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import Result, WrittenFile
from countveil.engines.spark import jobs, writing
from countveil.engines.spark.reading import columns_of, quoted
from countveil.engines.spark.session import our_settings, session_of
from countveil.engines.spark.task_inputs import Parcel, pack_head, pack_plan
from countveil.engines.spark.tasks import (
    PART,
    RESULT,
    ROWS,
    WHICH,
    CountTask,
    DealTask,
    LookTask,
    LostTask,
    PartsTask,
)
from countveil.errors import InputError
from countveil.maths.mechanism import PublishedTable
from countveil.randomness import Randomness
from countveil.release.values import python_values
from countveil.tables import Column
from countveil.tables.encoded.arrow_arrays import missing_rows, to_numpy
from countveil.tables.encoded.encoding import DictionaryColumn
from countveil.tables.encoded.survey import CodedColumn, Histogram, Repeats, Survey
from countveil.tables.progress import Progress

_MOST_COUNTS = 1 << 24
_MOST_VALUES = 100_000
_SAMPLED_PARTS = 64
_NOT_ENCRYPTED = (
    "This Spark writes the rows that it exchanges to the disks of its workers as they are. Start "
    "it with spark.io.encryption.enabled=true."
)
Counts = NDArray[np.int64]
P = ParamSpec("P")


def _with_our_settings(verb: Callable[P, Result]) -> Callable[P, Result]:
    """A verb of `SparkSource` whose plans are made, and run, with the settings that they need."""

    @functools.wraps(verb)
    def with_settings(*args: P.args, **kwargs: P.kwargs) -> Result:
        source = cast("SparkSource", args[0])
        with source.our_settings():
            return verb(*args, **kwargs)

    return with_settings


class SparkSource:
    """A table on a cluster; see `SourceTable`."""

    labels: Mapping[str, Mapping[str, str]] = {}

    def __init__(
        self,
        frame: Any,
        counted: Sequence[str],
        missing: Sequence[str] = (),
        progress: Progress | None = None,
        *,
        own_zone: bool = True,
    ) -> None:
        self._own_zone = own_zone
        self._frame, self._missing = frame, tuple(missing)
        self._session = session_of(frame)
        self._tell: Progress = progress or (lambda _stage, _done, _total: None)
        self._surveys: dict[str, Survey] = {}
        # By column, the rows of each value (as it was read) in each part.
        self._by_part: dict[str, Counts] = {}
        self._lost: dict[tuple[int, ...], dict[str, Counts]] = {}
        self._columns = columns_of(frame)
        self._count(list(counted) or [self._columns[0].name])
        self.rows = int(next(iter(self._by_part.values())).sum())

    def our_settings(self) -> AbstractContextManager[None]:
        """The settings that plans for this table need, while they are made and run."""
        return our_settings(self._session, own_zone=self._own_zone)

    @property
    def warnings(self) -> Sequence[str]:
        """What the publisher should know about this cluster."""
        if self._session.sparkContext.getConf().get("spark.io.encryption.enabled") == "true":
            return ()
        return [_NOT_ENCRYPTED]

    @property
    def columns(self) -> Sequence[Column]:
        """Names and types; what was recoded is text."""
        return [Column(c.name, "string") if self._is_renamed(c.name) else c for c in self._columns]

    def _is_renamed(self, name: str) -> bool:
        return name in self._surveys and self._surveys[name].is_recoded

    @_with_our_settings
    def histogram(self, column: str, without: Counts | None = None) -> Histogram:
        """Count the values of a column, leaving out some rows."""
        survey = self._surveys[column]
        counts = survey.counts
        if without is not None and without.size:
            counts = counts - survey.recoded_counts(self._lost_rows(without)[column].sum(axis=0))
        return Histogram(_domain_values(column, survey.values), counts)

    @_with_our_settings
    def repeats(self, column: str) -> Repeats:
        """How often the values of a column come again; they are grouped on the cluster."""
        from pyspark.sql import functions as sql

        value = sql.col(quoted(column))
        if self._missing:
            value = sql.when(~value.cast("string").isin(*self._missing), value)
        known, rows = sql.col("value").isNotNull(), sql.col("rows")
        times = self._frame.select(value.alias("value")).groupBy("value")
        asked = times.agg(sql.count(sql.lit(1)).alias("rows")).agg(
            sql.sum(sql.when(~known, rows).otherwise(0)),
            sql.sum((known & (rows > 1)).cast("long")),
            sql.max(sql.when(known, rows).otherwise(0)),
        )
        found = self._wait(f"counting {column}", asked.toArrow)
        return Repeats(*(int(part[0].as_py() or 0) for part in found.columns))

    def recode(self, column: str, values: Sequence[str | None]) -> None:
        """Put a text in place of each value of the column's histogram."""
        self._surveys[column].recode(values)

    @_with_our_settings
    def on_sample(
        self,
        most: int,
        columns: Sequence[str],
        look: Callable[[Mapping[str, CodedColumn]], Result],
    ) -> Result:
        """What `look` finds in rows drawn from some parts; it looks on a worker."""
        from pyspark.sql.types import BinaryType, StructField, StructType

        sizes = next(iter(self._by_part.values())).sum(axis=1)
        parts = np.flatnonzero(sizes)
        if parts.size > _SAMPLED_PARTS:
            parts = parts[np.linspace(0, parts.size - 1, _SAMPLED_PARTS).astype(int)]
        randomness = Randomness()
        key = randomness.task_key("look")
        renamed = {n: own.without_counts() for n, own in self._surveys.items() if own.is_recoded}
        schema = StructType([StructField(RESULT, BinaryType())])
        chosen = self._frame.select([quoted(name) for name in columns])
        share = most / max(1, int(sizes[parts].sum()))
        if share < 1:
            # Rows from everywhere in these parts: the first ones of a sorted table are all alike.
            chosen = chosen.sample(
                share, seed=int(randomness.stream("sample").below(1 << 31, 1)[0])
            )
        with self._sent(pack_head(renamed, key)) as parcel:
            looking = LookTask(look, self._missing, parcel, key)
            some = chosen.mapInArrow(PartsTask(parts.tolist()), chosen.schema).repartition(1)
            found = self._wait(
                "looking for giveaways", lambda: some.mapInArrow(looking, schema).toArrow()
            )
        result: Result = pickle.loads(found.column(0)[0].as_py())  # noqa: S301 - our own task's
        return result

    @_with_our_settings
    def publish(
        self,
        columns: Sequence[Column],
        drawn: Mapping[str, PublishedTable],
        without: Counts,
        randomness: Randomness,
        folder: str | Path,
        progress: Progress,
    ) -> list[WrittenFile]:
        """Deal, exchange and write."""
        self._tell = progress
        names = [column.name for column in columns]
        key = randomness.task_key("deal")
        lost = self._lost_rows(without)
        rows = {name: self._part_counts(name, lost.get(name)) for name in drawn}
        used = [name for name in names if name in drawn or self._is_renamed(name)]
        surveys = {name: self._surveys[name] for name in used}
        told = {name: survey.without_counts() for name, survey in surveys.items()}
        gone = {part: np.array(own) for part, own in self._places(without).items()}
        progress("splitting the draw", 0, 0)
        pieces = pack_plan(names, told, drawn, rows, gone, key)
        total = self.rows - without.size
        with self._sent(pieces) as parcel:
            schema, key_name = writing.published_schema(self._frame.schema, columns)
            dealt = self._frame.select([quoted(name) for name in names]).mapInArrow(
                DealTask(parcel, key, key_name), schema
            )
            self._wait(
                "drawing and shuffling",
                lambda: writing.write(dealt, key_name, total, str(folder)),
                total,
            )
        expected = {
            name: dict(zip(python_values(surveys[name].values), table.published(), strict=True))
            for name, table in drawn.items()
        }
        files: list[WrittenFile] = self._wait(
            "checking", lambda: writing.checked_files(self._session, str(folder), total, expected)
        )
        return files

    def _count(self, names: Sequence[str]) -> None:
        """Count some columns in one pass over them."""
        table, parts = self._counted(names)
        if table is not None:
            self._surveys = {name: _survey(table, n, name) for n, name in enumerate(names)}
        most = max((len(own.values) for own in self._surveys.values()), default=0)
        if table is None or parts * most > _MOST_COUNTS:
            # Too many values for so many parts: fewer, larger ones.
            self._frame = self._frame.coalesce(max(1, _MOST_COUNTS // _MOST_VALUES))
            table, parts = self._counted(names)
            self._surveys = {name: _survey(table, n, name) for n, name in enumerate(names)}
        for which, name in enumerate(names):
            survey = self._surveys[name]
            by_part = np.zeros((parts, len(survey.values)), np.int64)
            for part, piece in _pieces(table, which).items():
                by_part[part] = _counts_of(survey, piece)
            self._by_part[name] = by_part

    def _counted(self, names: Sequence[str]) -> tuple[Any, int]:
        """The lines of all parts; None instead if there would be too many of them."""
        # Of a plan made now: the frame may remember an older one.
        parts = int(self._frame.select("*").rdd.getNumPartitions())
        most = max(1, min(_MOST_VALUES, _MOST_COUNTS // max(1, parts)))
        table = self._lines(CountTask(names, self._missing, most), names, "counting")
        given_up = to_numpy(table.column(ROWS).combine_chunks()) < 0
        if np.any(given_up):
            if most >= _MOST_VALUES:
                which = to_numpy(table.column(WHICH).combine_chunks())[given_up]
                raise _too_many(names[int(which[0])])
            return None, parts
        return table, parts

    def _lines(self, task: Any, names: Sequence[str], stage: str) -> Any:
        from pyspark.sql.types import IntegerType, LongType, StructField, StructType

        chosen = self._frame.select([quoted(name) for name in names])
        fields = [(PART, IntegerType()), (WHICH, IntegerType()), (ROWS, LongType())]
        fields += [(f"value{n}", field.dataType) for n, field in enumerate(chosen.schema.fields)]
        schema = StructType([StructField(*field) for field in fields])
        return self._wait(stage, lambda: chosen.mapInArrow(task, schema).toArrow())

    def _lost_rows(self, without: Counts) -> dict[str, Counts]:
        """By column that was counted: how often each part has each value in these rows."""
        if not without.size:
            return {}
        asked = tuple(without.tolist())
        if asked not in self._lost:
            names = list(self._by_part)
            task = LostTask(names, self._missing, self._places(without))
            table = self._lines(task, names, "leaving out the residue")
            found = {}
            for which, name in enumerate(names):
                found[name] = np.zeros_like(self._by_part[name])
                for part, piece in _pieces(table, which).items():
                    found[name][part] = _counts_of(self._surveys[name], piece)
            self._lost[asked] = found
        return self._lost[asked]

    def _places(self, without: Counts) -> dict[int, list[int]]:
        """Numbers of rows by part, counted from the first row of each."""
        sizes = next(iter(self._by_part.values())).sum(axis=1)
        ends = np.cumsum(sizes)
        parts = np.searchsorted(ends, without, side="right")
        inside = without - (ends - sizes)[parts]
        return {int(part): inside[parts == part].tolist() for part in np.unique(parts).tolist()}

    def _part_counts(self, name: str, lost: Counts | None) -> Counts:
        """The rows of each value, as it is published, in each part."""
        counts = self._by_part[name] if lost is None else self._by_part[name] - lost
        return np.stack([self._surveys[name].recoded_counts(own) for own in counts])

    def _sent(self, pieces: dict[str, bytes]) -> _Sent:
        return _Sent(self._session, self._missing, pieces)

    def _wait(self, stage: str, work: Callable[[], Any], rows: int = 0) -> Any:
        self._tell(stage, 0, rows)
        return jobs.run(
            self._session, work, lambda share: self._tell(stage, int(share * rows), rows)
        )


class _Sent:
    """A parcel at the workers, taken back from them afterwards."""

    def __init__(self, session: Any, missing: Sequence[str], pieces: dict[str, bytes]) -> None:
        self._broadcast = session.sparkContext.broadcast(pieces)
        self._parcel = Parcel(missing, self._broadcast)

    def __enter__(self) -> Parcel:
        return self._parcel

    def __exit__(self, *_: object) -> None:
        self._broadcast.destroy()


def _pieces(table: Any, which: int) -> dict[int, DictionaryColumn]:
    """The values and counts of one column, by part."""
    import pyarrow.compute as pc

    own = table.filter(pc.equal(table.column(WHICH), which)).combine_chunks()
    parts = to_numpy(_one(own.column(PART)))
    values, counts = _one(own.column(f"value{which}")), to_numpy(_one(own.column(ROWS)))
    order = np.argsort(parts, kind="stable")
    edges = np.flatnonzero(np.diff(parts[order], prepend=-1)).tolist()
    found = {}
    for first, last in itertools.pairwise([*edges, parts.size]):
        lines = order[first:last]
        some = values.take(lines)
        gone = missing_rows(some)
        known = np.ones(lines.size, bool) if gone is None else ~gone
        missing = int(counts[lines][~known].sum())
        tally = np.append(counts[lines][known], missing).astype(np.int64)
        found[int(parts[lines[0]])] = DictionaryColumn(
            np.zeros(0, np.uint8), some.drop_null(), tally
        )
    return found


def _survey(table: Any, which: int, name: str) -> Survey:
    """What all parts hold of a column."""
    survey = Survey(name, None, coded=True)
    for piece in _pieces(table, which).values():
        survey.add(piece)
    survey.finish()
    if survey.values is None:
        survey.values = _empty(table, which)
    if len(survey.values) > _MOST_VALUES:
        raise _too_many(name)
    return survey


def _one(column: Any) -> Any:
    found = column.combine_chunks()
    return found.chunk(0) if hasattr(found, "chunk") and found.num_chunks else found


def _empty(table: Any, which: int) -> Any:
    import pyarrow as pa

    return pa.nulls(0, table.column(f"value{which}").type)


def _counts_of(survey: Survey, piece: DictionaryColumn) -> Counts:
    """The counts of a piece in the order of the column's values, as they were read."""
    places = survey.original_places(piece)
    return np.bincount(places, piece.counts, survey.n_originals).astype(np.int64)


def _too_many(name: str) -> InputError:
    return InputError(
        f"Column {name!r} has more than {_MOST_VALUES:,} different values, which is the most that "
        f"can be protected or recoded. Put them into classes first."
    )


def _domain_values(column: str, values: Any) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    try:
        return python_values(values)
    except UnicodeDecodeError:
        raise InputError(f"Column {column!r} holds text that is not valid UTF-8.") from None
    except (ValueError, OverflowError):
        raise InputError(
            f"Column {column!r} holds times outside the years 1 to 9999 and cannot be protected "
            f"as it is."
        ) from None
