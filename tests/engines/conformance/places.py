"""Where a table can be, and where a release can be: a new engine is added by one line in a list.

Enters: an Arrow table, or the folder of a release. Leaves: what `countveil.publish` takes, or an
opened release. Spark needs Java and a cluster, so its tests are slow and run in one group.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, feather

import countveil as cv
from countveil.release.formats.data_files import OUTPUT_FORMATS
from tests.connect_server import as_client

Put = Callable[[pa.Table, Path, pytest.FixtureRequest], Any]
Opened = Callable[[cv.Release, Path, pytest.FixtureRequest], cv.Release]
ON_SPARK = (
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),
    # What Spark says of the pandas and the Arrow that are installed beside it.
    pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
)


@dataclass(frozen=True)
class Source:
    """A place from which a table is published, and the engine that does it.

    `choices` are the only ones tried where the engine has made all of them elsewhere; `later` are
    those that go the way of another one there, and are only tried with the longest tests. `needs`
    is a fixture that every test there needs. The engine refuses the options `lacks`.
    """

    name: str
    put: Put
    engine: str = "embedded"
    choices: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    needs: str = ""
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """A place in which a release is asked.

    `output_format` is that of its files; `from_files` of its questions are answered from them;
    `needs` is a fixture that every test there needs.
    """

    name: str
    opened: Opened
    engine: str = "embedded"
    output_format: str = "parquet"
    from_files: int = 1 << 30
    needs: str = ""


def parametrized(places: list[Any]) -> list[Any]:
    """One test for each place."""
    return [pytest.param(place, id=place.name, marks=_marks(place)) for place in places]


def _marks(place: Source | Asked) -> tuple[Any, ...]:
    return ON_SPARK if place.engine == "spark" else ()


def text_of(value: Any) -> str:
    """A value as a CSV file has it: what is missing is empty, truths are lower-case."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _csv(table: pa.Table, folder: Path, _: Any) -> str:
    path = folder / "in.csv"
    csv.write_csv(table, path, csv.WriteOptions(quoting_style="needed"))
    return str(path)


def _parquet(table: pa.Table, folder: Path, _: Any) -> str:
    path = folder / "in.parquet"
    pq.write_table(table, path)
    return str(path)


def _arrow(table: pa.Table, folder: Path, _: Any) -> str:
    path = folder / "in.arrow"
    feather.write_feather(table, str(path))
    return str(path)


def _pandas(table: pa.Table, *_: Any) -> Any:
    import pandas as pd

    return table.to_pandas(types_mapper=pd.ArrowDtype)


def _polars(table: pa.Table, *_: Any) -> Any:
    import polars as pl

    return pl.from_arrow(table)


def _duckdb(table: pa.Table, folder: Path, _: Any) -> str:
    with duckdb.connect(str(folder / "in.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE SCHEMA census")
        connection.execute("CREATE TABLE census.people AS FROM given")
    return f"duckdb:{folder}/in.duckdb#census.people"


_SQLITE_TYPES = {"string": "TEXT", "double": "REAL", "bool": "BOOLEAN", "date32[day]": "DATE"}


def _sqlite(table: pa.Table, folder: Path, _: Any) -> str:
    path = folder / "in.sqlite"
    columns = ", ".join(
        f'"{field.name}" {_SQLITE_TYPES.get(str(field.type), "INTEGER")}' for field in table.schema
    )
    values = (
        tuple(str(v) if hasattr(v, "isoformat") else v for v in row.values())
        for row in table.to_pylist()
    )
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE people ({columns})")
        marks = ", ".join("?" * table.num_columns)
        connection.executemany(f"INSERT INTO people VALUES ({marks})", values)
    return f"sqlite:{path}#people"


def _postgres(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> str:
    import adbc_driver_postgresql.dbapi as adbc

    server: str = request.getfixturevalue("postgres")
    name = f"people {folder.name}"
    with adbc.connect(server, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(name, table, mode="replace")
    return f"{server}#public.{name}"


def on_cluster(put: Put) -> Put:
    """The same, once the cluster is there."""

    def then(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Any:
        request.getfixturevalue("spark_session")
        return put(table, folder, request)

    return then


def _spark_frame(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Any:
    session = request.getfixturevalue("spark_session")
    return session.read.parquet(_parquet(table, folder, request))


def _connect_frame(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Any:
    session = request.getfixturevalue("connected")
    return session.read.parquet(_parquet(table, folder, request))


def _dask_frame(table: pa.Table, *_: Any) -> Any:
    import dask.dataframe as dd

    frame = _pandas(table)
    # More partitions than files of the release, one of them without any row.
    return dd.concat([dd.from_pandas(frame, npartitions=3), dd.from_pandas(frame[:0])])


# Reading differs there, and types do; what is done with the columns does not.
_ELSEWHERE = ("truths and dates", "equal width", "where with nulls", "all at once")
# A publication takes a cluster ten seconds. Here the driver alone does something else, or the tasks
# do what they do for: two columns, equal width, merge, bounded odds, missing, where, columns,
# several rows per person, one row per person.
_AS_OTHERS = (
    "one column", "anatomy", "random groups", "edges", "quantiles", "months", "labels", "domain",
    "declared numbers", "confirmed values", "where after missing", "drop", "person",
    "the last row, of some",
)  # fmt: skip
# The tasks are those of a cluster; what a client does differently is how they get their inputs, how
# counts come back and how files are written.
_BY_A_CLIENT = (
    "two columns", "columns together", "bounded odds", "merge", "where", "residue",
    "several rows, columns together", "one row per person", "all at once",
)  # fmt: skip
SOURCES = [
    Source("arrow table", lambda table, *_: table),
    Source("csv", _csv),
    Source("parquet", _parquet),
    Source("arrow file", _arrow),
    Source("pandas", _pandas),
    Source("polars", _polars),
    Source("duckdb", _duckdb),
    Source("sqlite", _sqlite),
    Source("postgresql", _postgres),
    Source("spark csv", on_cluster(_csv), "spark", later=_AS_OTHERS),
    Source("spark parquet", on_cluster(_parquet), "spark", _ELSEWHERE),
    Source("spark frame", _spark_frame, "spark", _ELSEWHERE),
    Source("spark connect", _parquet, "spark", _BY_A_CLIENT, needs="connect_session"),
    Source("spark connect csv", _csv, "spark", ("all at once",), needs="connect_session"),
    Source("spark connect frame", _connect_frame, "spark", _ELSEWHERE, needs="connect_session"),
    Source("dask parquet", _parquet, "dask", lacks=("one_per",)),
    Source("dask frame", _dask_frame, "dask", lacks=("one_per",)),
]


def with_choices(choices: Iterable[str]) -> list[Any]:
    """One test for each source and each choice that is tried there."""
    return [
        pytest.param(place, choice, id=f"{place.name}-{choice}", marks=_marks_of(place, choice))
        for place in SOURCES
        for choice in choices
        if choice in (place.choices or (choice,))
    ]


def _marks_of(place: Source, choice: str) -> tuple[Any, ...]:
    return (*_marks(place), pytest.mark.long) if choice in place.later else _marks(place)


def _folder(release: cv.Release, *_: Any) -> cv.Release:
    return cv.open(release.folder)


def _exported(to: str) -> Opened:
    def opened(release: cv.Release, folder: Path, request: pytest.FixtureRequest) -> cv.Release:
        server = request.getfixturevalue("postgres") if "{server}" in to else ""
        address = to.format(folder=folder, name=folder.name, server=server)
        cv.export(release.folder, address, force=True)
        return cv.open(address)

    return opened


def _on_spark(release: cv.Release, _: Path, request: pytest.FixtureRequest) -> cv.Release:
    request.getfixturevalue("spark_session")
    return cv.open(release.folder, engine="spark")


def _on_connect(release: cv.Release, _: Path, request: pytest.FixtureRequest) -> cv.Release:
    request.getfixturevalue("connected")
    with as_client():
        return cv.open(release.folder, engine="spark")


def _on_dask(release: cv.Release, *_: Any) -> cv.Release:
    return cv.open(release.folder, engine="dask")


ASKED = [
    *(Asked(f"files {name}", _folder, output_format=name) for name in OUTPUT_FORMATS),
    Asked("memory", _folder, from_files=0),
    Asked("duckdb", _exported("duckdb:{folder}/out.duckdb#release")),
    Asked("duckdb schema", _exported('duckdb:{folder}/out.duckdb#census."my.release"')),
    Asked("postgresql", _exported('{server}#public."release {name}"')),
    Asked("spark", _on_spark, "spark"),
    Asked("spark connect", _on_connect, "spark", needs="connect_session"),
    Asked("dask", _on_dask, "dask"),
]


def rows_of(release: cv.Release) -> list[dict[str, Any]]:
    """The published rows."""
    rows: list[dict[str, Any]] = pq.read_table(Path(release.folder) / "data").to_pylist()
    return rows


@contextlib.contextmanager
def answered_from_files(questions: int) -> Iterator[None]:
    """So many questions about a release in a folder are answered from its files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("countveil.engines.local.release_table.FROM_FILES", questions)
        yield
