"""A table in memory, or an object that gives one, as blocks.

Enters: a pandas or Polars frame, an Arrow table, reader, dataset or scanner, a DuckDB relation, or
anything else that exports Arrow. Leaves: blocks. Must not know: what the columns are for.

A table in memory is used where it is. A plan or a stream is read once, in batches (see `streams`).
The index of a pandas frame is not part of the table.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from countveil.errors import InputError
from countveil.tables import Reading
from countveil.tables.encoded.plain_arrays import plain_table
from countveil.tables.readers.blocks import Blocks, TableBlocks
from countveil.tables.readers.streams import StreamBlocks
from countveil.tables.sources import is_pandas, is_polars_plan
from countveil.tables.storage.memory import KeptColumns

_BATCH = 1 << 16


def open_object(frame: Any, reading: Reading, kept: KeptColumns) -> Blocks:
    """The rows of an object."""
    if type(frame).__module__.split(".")[0] == "polars":
        _check_polars(frame)
    if is_pandas(frame):
        _check_pandas(frame)
    with _converted():
        table = _in_memory(frame)
        if table is not None:
            return TableBlocks(plain_table(table, reading.missing))
        schema, batches = _stream(frame)
        return StreamBlocks(schema, batches, reading, kept)


def _in_memory(frame: Any) -> pa.Table | None:
    """The table, if it is one already."""
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if is_pandas(frame):
        return pa.Table.from_pandas(frame, preserve_index=False)
    if type(frame).__module__.split(".")[0] == "polars" and not is_polars_plan(frame):
        return pa.table(frame)
    if not hasattr(frame, "__arrow_c_stream__") and hasattr(frame, "__arrow_c_array__"):
        return pa.Table.from_batches([pa.record_batch(frame)])
    return None


def _stream(frame: Any) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    if is_polars_plan(frame):
        return _polars_plan(frame)
    if hasattr(frame, "to_reader") and hasattr(frame, "dataset_schema"):
        reader = frame.to_reader()
    elif hasattr(frame, "scanner"):
        reader = frame.scanner(batch_size=_BATCH).to_reader()
    else:
        reader = pa.RecordBatchReader.from_stream(frame)
    return reader.schema, iter(reader)


def _polars_plan(plan: Any) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    schema = plan.head(0).collect().to_arrow().schema

    def batches() -> Iterator[pa.RecordBatch]:
        for frame in plan.collect_batches(chunk_size=_BATCH, maintain_order=True):
            yield from frame.to_arrow().cast(schema).to_batches()

    return schema, batches()


@contextlib.contextmanager
def _converted() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, TypeError, ValueError):
        # Not chained: the cause quotes a value of the table.
        raise InputError(
            "The data frame cannot be converted: a column mixes types. Give every column one type."
        ) from None
    except Exception as error:
        if type(error).__module__.split(".")[0] in ("polars", "duckdb", "_duckdb"):
            raise InputError(
                f"Running the plan of the table failed: {type(error).__name__}."
            ) from None
        raise


def _check_pandas(frame: Any) -> None:
    for name in frame.columns:
        if not isinstance(name, str):
            raise InputError(f"Column names must be text; the data frame has {name!r}.")
    if not frame.columns.is_unique:
        raise InputError("The data frame has a column name more than once. Rename the columns.")
    for name in frame.columns:
        try:
            pa.Array.from_pandas(frame[name])
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise InputError(
                f"Column {name!r} mixes types. Convert it to one type, for instance to text."
            ) from None


def _check_polars(frame: Any) -> None:
    with _converted():
        schema = frame.collect_schema()
    for name, kind in schema.items():
        if str(kind) == "Object":
            raise InputError(
                f"Column {name!r} holds Python objects, which cannot be published. Convert it to "
                f"text or numbers, or leave it out."
            )
