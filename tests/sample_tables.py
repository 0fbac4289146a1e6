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

from countveil.tables import describe_source
from countveil.tables.readers.csv.reader import Shelf
from countveil.tables.readers.open import open_blocks

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


def read_source(source: Any, query: str | None = None) -> Any:
    """All rows of a source, as our readers give them."""
    shelf = Shelf(1 << 28, Path(tempfile.gettempdir()))
    blocks = open_blocks(describe_source(source, query), (), shelf)
    names = blocks.schema.names
    parts = [blocks.schema.empty_table()]
    for span in blocks.spans:
        for found in blocks.read(span, names, plain_text=names):
            arrays = [
                found[name].cast(blocks.schema.field(name).type)
                if pa.types.is_dictionary(found[name].type)
                else found[name]
                for name in names
            ]
            parts.append(pa.Table.from_arrays(arrays, schema=blocks.schema))
    return pa.concat_tables(parts)


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
