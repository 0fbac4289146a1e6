"""Values of a column as JSON, and what names of types and files say.

Enters: a value and the Arrow type name of its column; the path of a data file. Leaves: JSON for
exactly this value; the kind of a column, the format of a file. Must not know: which values there
are.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

PARQUET, CSV, CSV_GZ, ARROW = "parquet", "csv", "csv.gz", "arrow"
NUMBER, TEXT, BOOLEAN, DATE, TIMESTAMP, OTHER = (
    "number",
    "text",
    "true/false",
    "date",
    "timestamp",
    "other",
)
_PREFIXES = {
    "int": NUMBER, "uint": NUMBER, "float": NUMBER, "double": NUMBER, "halffloat": NUMBER,
    "decimal": NUMBER, "string": TEXT, "large_string": TEXT, "bool": BOOLEAN, "date": DATE,
    "timestamp": TIMESTAMP,
}  # fmt: skip


def format_of(path: str) -> str:
    """The ending of a data file, which says its format."""
    name = path.rpartition("/")[2]
    return name.partition(".")[2]


def kind_of(type_name: str) -> str:
    """The kind of values that a column with this Arrow type has, in a word for people."""
    for prefix, kind in _PREFIXES.items():
        if type_name.startswith(prefix):
            return kind
    return OTHER


def encode_value(value: Any) -> str | int | bool | None:
    """A domain value as JSON. Missing is null; dates are ISO text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, dt.date):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} cannot be a domain value")


def python_values(values: pa.Array[Any] | pa.ChunkedArray[Any]) -> list[Any]:
    """The values of an Arrow array as Python's; ValueError if one has no exact equivalent.

    Python's times end at the microsecond, so finer ones are refused rather than cut.
    """
    import pyarrow as pa

    if pa.types.is_timestamp(values.type) and values.type.unit == "ns":
        values = values.cast(pa.timestamp("us", values.type.tz))
    listed: list[Any] = values.to_pylist()
    return listed


def decode_value(value: Any, type_name: str) -> Any:
    """The value that `encode_value` wrote, for a column of this type; ValueError if impossible."""
    if value is None:
        return None
    kind = kind_of(type_name)
    expected: type = {NUMBER: int, BOOLEAN: bool}.get(kind, str)
    if not isinstance(value, expected) or (kind == NUMBER and isinstance(value, bool)):
        raise ValueError(f"{value!r} is not a value of a column of type {type_name}")
    if kind == DATE:
        return dt.date.fromisoformat(str(value))
    if kind == TIMESTAMP:
        return dt.datetime.fromisoformat(str(value))
    return value
