"""Objects that hold or give a table: pandas, Polars, Arrow, DuckDB, the PyCapsule interface."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.engines.local.engine import LocalSource
from countveil.errors import InputError
from countveil.tables import describe_source
from countveil.tables.readers import streams
from countveil.tables.storage.spill import Spill
from tests.sample_tables import open_local

ROWS = 1_000
TABLE = pa.table(
    {
        "n": pa.array([None if i % 5 == 0 else i % 11 for i in range(ROWS)], pa.int64()),
        "t": [None if i % 7 == 0 else f"t{i % 13}" for i in range(ROWS)],
        "d": [dt.date(2024, 1, 1 + i % 28) for i in range(ROWS)],
        "b": [i % 3 == 0 for i in range(ROWS)],
    }
)


class Stream:
    """Nothing but the interface."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        table: Any = TABLE
        return table.__arrow_c_stream__(requested_schema)


class Array:
    """Nothing but the interface for one batch."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        batch: Any = TABLE.to_batches()[0]
        return batch.__arrow_c_array__(requested_schema)


def polars_frame() -> Any:
    return pl.DataFrame(TABLE)


FRAMES: dict[str, Callable[[Path], Any]] = {
    "table": lambda _: TABLE,
    "batch": lambda _: TABLE.to_batches()[0],
    "reader": lambda _: TABLE.to_reader(max_chunksize=70),
    "dataset": lambda folder: ds.dataset(parquet(folder)),
    "scanner": lambda folder: dataset(folder).scanner(),
    "relation": lambda _: duckdb.connect().from_arrow(TABLE),
    "polars": lambda _: polars_frame(),
    "polars categories": lambda _: polars_frame().with_columns(pl.col("t").cast(pl.Categorical)),
    "polars plan": lambda _: polars_frame().lazy(),
    "polars plan of a file": lambda folder: pl.scan_parquet(parquet(folder)),
    "pandas nullable": lambda _: TABLE.to_pandas().astype({"n": "Int64", "t": "string"}),
    "pandas Arrow": lambda _: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas categories": lambda _: TABLE.to_pandas().astype({"n": "Int64", "t": "category"}),
    "stream": lambda _: Stream(),
    "array": lambda _: Array(),
}


def parquet(folder: Path) -> Path:
    pq.write_table(TABLE, folder / "in.parquet")
    return folder / "in.parquet"


def dataset(folder: Path) -> Any:
    return ds.dataset(parquet(folder))


def values(source: LocalSource) -> dict[str, list[Any]]:
    found = {}
    for column in source.facts.columns:
        known = source.histogram(column.name, np.zeros(0, np.int64)).values  # noqa: PD011
        found[column.name] = [known[code] for code in source.codes(column.name).tolist()]
    return found


@pytest.mark.few(8)
@pytest.mark.parametrize("kind", FRAMES)
def test_every_object_gives_the_same_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(streams, "SPAN_ROWS", 300)
    source = open_local(FRAMES[kind](tmp_path))
    types = [column.type for column in source.facts.columns]
    assert types == ["int64", "string", "date32[day]", "bool"]
    assert values(source) == TABLE.to_pydict()


@pytest.mark.parametrize("kind", ["reader", "polars plan", "relation"])
def test_streams_beyond_the_memory_go_through_the_encrypted_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(streams, "SPAN_ROWS", 100)
    monkeypatch.setattr("countveil.tables.storage.memory.COLUMNS_SHARE", 1e-9)
    put: list[int] = []
    keep = Spill.put

    def noted(spill: Spill, content: bytes) -> int:
        put.append(len(content))
        return keep(spill, content)

    monkeypatch.setattr(Spill, "put", noted)
    source = open_local(FRAMES[kind](tmp_path), spill=tmp_path)
    assert values(source) == TABLE.to_pydict()
    assert len(put) >= 4


def test_the_index_of_a_frame_is_not_published(tmp_path: Path) -> None:
    frame = TABLE.to_pandas().drop(columns="n")
    frame.index = pd.Index([f"person {i}" for i in range(ROWS)], name="name")
    cv.publish(frame, {"t": 3}, tmp_path / "release", keep=["b"])
    found = pq.read_table(tmp_path / "release" / "data")
    assert found.column_names == ["t", "d", "b"]
    with pytest.raises(cv.CountveilError, match="name"):
        cv.publish(frame.reset_index(), {"t": 3}, tmp_path / "asked", keep=["b"])


def test_hidden_categories_are_not_published() -> None:
    frame = TABLE.to_pandas().drop(columns="n")
    kinds = pd.CategoricalDtype([*(f"t{i}" for i in range(13)), "SECRET"])
    frame["t"] = frame["t"].astype(kinds)
    source = open_local(frame)
    assert "SECRET" not in source.histogram("t", np.zeros(0, np.int64)).values  # noqa: PD011


def test_a_plan_that_fails_says_so_without_a_value() -> None:
    plan = pl.LazyFrame({"a": ["CANARY"]}).select(pl.col("a").cast(pl.Int64))
    with pytest.raises(InputError, match="plan of the table failed") as error:
        open_local(plan)
    assert "CANARY" not in str(error.value)
    with pytest.raises(InputError, match="Cannot read a table from a dict"):
        describe_source({"a": [1]})


@pytest.mark.parametrize("column", [pd.Series([1, 2]), pl.Series([1, 2])])
def test_one_column_is_no_table(column: Any) -> None:
    with pytest.raises(InputError, match=r"one column, not a table.*to_frame"):
        describe_source(column)
