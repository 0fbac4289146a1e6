"""Parameters and lookup tables of an analyst, in whatever they come.

Enters: lists, dictionaries, pandas, Polars or Arrow tables, CSV files. Leaves: `Inputs` of the
parser. Must not know: the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countveil.errors import QueryError, option
from countveil.system.regular import regular_size

if TYPE_CHECKING:
    import pyarrow as pa

Table = Mapping[str, Sequence[Any]]


def lookup_tables(tables: Mapping[str, Any]) -> dict[str, Table]:
    """Every table as lists of values by column."""
    return {name: _columns(name, table) for name, table in tables.items()}


def read_lookups(texts: Sequence[str]) -> dict[str, Any]:
    """NAME=FILE.csv of a command line, read."""
    return {name: _file(name, file) for name, file in _pairs(texts, "tables", "NAME=FILE.csv")}


def read_parameters(texts: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE of a command line: numbers where they look like some, else text."""
    return {name: _value(text) for name, text in _pairs(texts, "params", "NAME=VALUE")}


def _columns(name: str, table: Any) -> Table:
    if isinstance(table, str | Path):
        table = _file(name, str(table))
    for method in ("to_pydict", "to_arrow"):
        if hasattr(table, method):
            return _columns(name, getattr(table, method)())
    if type(table).__module__.startswith("pandas"):
        import pyarrow as pa

        table = pa.Table.from_pandas(table, preserve_index=False).to_pydict()
    if not isinstance(table, Mapping):
        raise QueryError(
            f"The lookup table {name!r} is a {type(table).__name__}. What works: a dictionary of "
            f"columns, a pandas, Polars or Arrow table, or the path of a CSV file."
        )
    columns = {str(column): list(values) for column, values in table.items()}
    if len({len(values) for values in columns.values()}) != 1:
        raise QueryError(f"The columns of the lookup table {name!r} must be equally long.")
    return columns


def _file(name: str, file: str) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    try:
        # A pipe or a device would be read for ever.
        regular_size(Path(file))
        table: pa.Table = csv.read_csv(file)
    except (OSError, pa.ArrowException) as error:
        raise QueryError(
            f"The lookup table {name!r} cannot be read from {file}: a CSV file is needed whose "
            f"first line names its columns."
        ) from error
    return table


def _pairs(texts: Sequence[str], name: str, form: str) -> list[tuple[str, str]]:
    pairs = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise QueryError(f"{option(name)} {text!r} is not of the form {form}.")
        pairs.append((key, value))
    return pairs


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
