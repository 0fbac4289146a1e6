"""Tables of every type with hostile values, and what our readers make of a source.

Enters: a description of what a table may hold, or a source. Leaves: Arrow tables.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from countveil.engines.local.engine import LocalEngine, LocalSource
from countveil.tables import Reading, describe_source, table_options
from countveil.tables.encoded.encoding import Form
from countveil.tables.readers.blocks import Blocks
from countveil.tables.sources import open_blocks
from countveil.tables.storage.memory import KeptColumns

Kind = tuple[Any, st.SearchStrategy[Any]]
# Characters of every kind but the zero byte, which several programs end a text with.
LETTERS = st.characters(codec="utf-8", exclude_characters="\0")
HOSTILE = [
    "", " ", "NULL", "NA", "nan", "None", "'", '"', "''; DROP TABLE t; --", "a\nb", "a\r\nb", "\t",
    "=1+1", "<b>", "\\", "\\N", "\ufeff", "007", "1e5", "2020-01-01", "true", "e\u0301",
    "\U0001f600",
]  # fmt: skip
TEXTS = st.text(LETTERS, max_size=12) | st.sampled_from(HOSTILE)


def whole(bits: int, *, signed: bool = True) -> st.SearchStrategy[int]:
    """Whole numbers of so many bits, their extremes among them."""
    least = -(1 << bits - 1) if signed else 0
    most = (1 << bits - signed) - 1
    return st.integers(least, most) | st.sampled_from([least, most, 0])


INTEGERS: list[Kind] = [
    (pa.int8(), whole(8)), (pa.int16(), whole(16)), (pa.int32(), whole(32)),
    (pa.int64(), whole(64)), (pa.uint8(), whole(8, signed=False)),
    (pa.uint16(), whole(16, signed=False)), (pa.uint32(), whole(32, signed=False)),
    (pa.uint64(), whole(64, signed=False)),
]  # fmt: skip
PLAIN: list[Kind] = [
    *INTEGERS,
    (pa.bool_(), st.booleans()),
    (pa.float64(), st.floats()),
    (pa.float32(), st.floats(width=32)),
    (pa.string(), TEXTS),
]
# Days from year 1 to 9999, and times in microseconds between them.
DAYS = st.integers(-719_162, 2_932_896)
MICROSECONDS = st.integers(-719_162 * 86_400 * 10**6, 2_932_897 * 86_400 * 10**6 - 1)
DECIMALS = st.decimals(Decimal(-(10**10)), Decimal(10**10), places=3, allow_nan=False)


def column(kind: Any, values: Sequence[Any]) -> Any:
    """An array of these values; dates and times are given as the numbers that they are."""
    if pa.types.is_temporal(kind):
        return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(values, kind)


@st.composite
def tables(draw: st.DrawFn, kinds: Sequence[Kind], least: int = 1, most: int = 8) -> Any:
    """A table of up to four columns; any value may be missing."""
    rows = draw(st.integers(least, most))
    columns = {}
    for place in range(draw(st.integers(1, 4))):
        kind, values = draw(st.sampled_from(list(kinds)))
        listed = draw(st.lists(st.none() | values, min_size=rows, max_size=rows))
        columns[f"c{place}"] = column(kind, listed)
    return pa.table(columns)


def open_local(
    table: Any, *, memory: str | None = None, spill: Path | None = None, **options: Any
) -> LocalSource:
    """A table of any kind, opened to be published from this process."""
    reading, shaping = table_options(memory=memory, spill=spill, **options)
    return LocalEngine().open_source(table, reading, shaping, ())


def read_source(source: Any, query: str | None = None) -> pa.Table:
    """All rows of a source, as our readers give them."""
    kept = KeptColumns(1 << 28, Path(tempfile.gettempdir()))
    return table_of_blocks(open_blocks(describe_source(source, query), Reading(), kept))


def table_of_blocks(blocks: Blocks) -> pa.Table:
    """All rows of blocks; a reader gives the same values in every form that it is asked for."""
    tables = [_in_form(blocks, form) for form in Form]
    for other in tables[1:]:
        assert_same(other, tables[0])
    return tables[0]


def _in_form(blocks: Blocks, form: Form) -> pa.Table:
    forms = dict.fromkeys(blocks.schema.names, form)
    batches = [
        pa.table({name: column.array() for name, column in batch.items()}, schema=blocks.schema)
        for span in blocks.spans
        for batch in blocks.read(span, forms)
    ]
    return pa.concat_tables([blocks.schema.empty_table(), *batches])


def assert_same(found: Any, expected: Any) -> None:
    """The same names, types and values in the same order; a zero has a sign, NaN is itself."""
    assert [(f.name, f.type) for f in found.schema] == [(f.name, f.type) for f in expected.schema]
    for name in expected.column_names:
        one, other = found[name].combine_chunks(), expected[name].combine_chunks()
        if pa.types.is_floating(one.type):
            assert [*map(_told, one.to_pylist())] == [*map(_told, other.to_pylist())], name
        else:
            assert one.equals(other), (name, one, other)


def _told(value: float | None) -> Any:
    if value is None or math.isnan(value):
        return str(value)
    return value, math.copysign(1.0, value)
