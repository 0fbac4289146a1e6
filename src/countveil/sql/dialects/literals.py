"""Dialects with literals in the text, for databases that countveil does not run in.

Enters: expressions over plain columns, values, names from outside. Leaves: SQL text with everything
quoted. Must not know: where the text is run.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from countveil.display import visible
from countveil.errors import QueryError
from countveil.release import PublishedColumn
from countveil.release.values import BOOLEAN, DATE, TEXT, TIMESTAMP
from countveil.sql.dialects.dialect import Dialect
from countveil.sql.query.expressions import Constant


def name_text(name: str, quote: str = '"') -> str:
    """A name from outside, as one quoted identifier."""
    if "\0" in name:
        raise QueryError("A name with a zero byte cannot be written in SQL.")
    return quote + name.replace(quote, 2 * quote) + quote


def table_text(table: str) -> str:
    """The name of a table, of a schema and a table, or of a database, a schema and a table."""
    names = table.split(".")
    if not 1 <= len(names) <= 3 or not all(names):
        raise QueryError(f"{table!r} is not the name of a table, such as release or a.release.")
    return ".".join(map(name_text, names))


class LiteralDialect(Dialect):
    """DuckDB's operations, with literals in the text."""

    # What sqlglot calls the dialect, and its users.
    name: ClassVar[str] = "duckdb"
    title: ClassVar[str] = "DuckDB"
    double: str = "DOUBLE"
    # The types of typed literals.
    types: ClassVar[Mapping[str, str]] = {
        TEXT: "TEXT", BOOLEAN: "BOOLEAN", DATE: "DATE", TIMESTAMP: "TIMESTAMP",
    }  # fmt: skip
    # The function that gives the character of a number.
    character: ClassVar[str] = "chr"
    # LIMIT for all rows.
    no_limit: ClassVar[str] = "ALL"
    # Appended to a text that is ordered, so that texts are compared byte by byte.
    collation: ClassVar[str] = ""

    def __init__(self, columns: Sequence[PublishedColumn]) -> None:
        super().__init__({column.name: self.identifier(column.name) for column in columns})
        self._types = {column.name: column.type for column in columns}

    def identifier(self, name: str) -> str:
        """A column's name, quoted."""
        return name_text(name)

    def constant(self, constant: Constant) -> str:
        """A constant as a literal."""
        return self.literal(constant.value, constant.kind)

    def literal(self, value: Any, kind: str = "") -> str:
        """A value as a literal."""
        if value is None:
            return self.null(kind)
        if isinstance(value, bool):
            return str(value).upper()
        if isinstance(value, int):
            return str(value) if value >= 0 else f"({value})"
        if isinstance(value, float):
            return self.number(value)
        if isinstance(value, dt.date):
            return self._time(value)
        text = str(value)
        if "\0" in text:
            raise QueryError("A text with a zero byte cannot be written in SQL.")
        return self.quoted(text)

    def null(self, kind: str) -> str:
        """A missing value of this kind."""
        return f"CAST(NULL AS {self.types[kind]})" if kind in self.types else "NULL"

    def quoted(self, text: str) -> str:
        """A text as a literal, in which nothing can steer a terminal that shows it."""
        if visible(text) == text:
            return "'" + text.replace("'", "''") + "'"
        parts: list[str] = []
        for harmless, run in itertools.groupby(text, lambda char: visible(char) == char):
            if harmless:
                parts.append(self.quoted("".join(run)))
            else:
                parts += [f"{self.character}({ord(char)})" for char in run]
        return f"({' || '.join(parts)})"

    def time(self, text: str, kind: str) -> str:
        """A date or a timestamp as a literal."""
        return f"CAST('{text}' AS {self.types[kind]})"

    def _time(self, value: dt.date) -> str:
        if not isinstance(value, dt.datetime):
            return self.time(value.isoformat(), DATE)
        if value.tzinfo is not None:
            raise QueryError(
                "Databases compare times with a time zone in different ways. Write the time "
                "without a zone."
            )
        return self.time(value.isoformat(sep=" "), TIMESTAMP)

    def number(self, value: float) -> str:
        """A number of double precision, exactly; NaN is missing."""
        if math.isnan(value):
            return "NULL"
        if math.isinf(value):
            text = self.infinity()
        else:
            # With an exponent: without one it would be a decimal number to DuckDB.
            text = repr(abs(float(value)))
            text = self.finite(text if "e" in text else f"{text}e0")
        return f"(-{text})" if value < 0 else text

    def infinity(self) -> str:
        """Positive infinity."""
        return f"CAST('Infinity' AS {self.double})"

    def finite(self, text: str) -> str:
        """A number with an exponent, in double precision."""
        return text
