"""Our expressions in the words of a database, literals included.

Enters: expressions over plain columns. Leaves: text that PostgreSQL, SQLite or DuckDB understands
and that means there what it means to us; what a database would answer differently is refused. Must
not know: where the text is run.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from typing import Any

from countveil.errors import QueryError
from countveil.release import PublishedColumn
from countveil.release.values import BOOLEAN, DATE, NUMBER, TEXT, TIMESTAMP
from countveil.sql.dialects.dialect import Statement
from countveil.sql.dialects.templates import GLOB_MARKS, TEMPLATES
from countveil.sql.query.expressions import Column, Constant, Expression, Operation

POSTGRES, SQLITE, DUCKDB, SPARK = "postgres", "sqlite", "duckdb", "spark"
# Those in which answers can be had as plain SQL.
DIALECTS = (POSTGRES, SQLITE, DUCKDB)
NAMES = {POSTGRES: "PostgreSQL", SQLITE: "SQLite", DUCKDB: "DuckDB", SPARK: "Spark"}
DOUBLE = {POSTGRES: "DOUBLE PRECISION", SQLITE: "REAL", DUCKDB: "DOUBLE", SPARK: "DOUBLE"}
_TYPES = {TEXT: "TEXT", BOOLEAN: "BOOLEAN", DATE: "DATE", TIMESTAMP: "TIMESTAMP"}
_KEEP_WHOLE = {"add", "subtract", "multiply", "negate", "abs", "divide_whole", "remainder"}
_ALIKE = {"coalesce", "greatest", "least"}
_ARITHMETIC = {"add", "subtract", "multiply", "negate", "divide_whole", "remainder"}
_ORDERED = {"less": "<", "at_most": "<=", "greater": ">", "at_least": ">="}


def words_for(dialect: str, columns: Sequence[PublishedColumn]) -> Words:
    """The words of a dialect for a release with these columns."""
    if dialect == SPARK:
        from countveil.sql.dialects.spark import SparkWords

        return SparkWords(dialect, columns)
    return (Words if dialect == DUCKDB else Translated)(dialect, columns)


def name_text(name: str) -> str:
    """A name from outside, as one word of SQL."""
    if "\0" in name:
        raise QueryError("A name with a zero byte cannot be written in SQL.")
    return '"' + name.replace('"', '""') + '"'


def table_text(table: str) -> str:
    """The name of a table, of a schema and a table, or of a database, a schema and a table."""
    parts = table.split(".")
    if not 1 <= len(parts) <= 3 or not all(parts):
        raise QueryError(f"{table!r} is not the name of a table, such as release or own.release.")
    return ".".join(map(name_text, parts))


class Words(Statement):
    """DuckDB's words, as the embedded engine uses them; literals stand in the text."""

    def __init__(self, dialect: str, columns: Sequence[PublishedColumn]) -> None:
        super().__init__({column.name: name_text(column.name) for column in columns})
        self._types: Mapping[str, str] = {column.name: column.type for column in columns}
        self.dialect, self.double = dialect, DOUBLE[dialect]

    def _parameter(self, constant: Constant) -> str:
        return self.literal(constant.value, constant.kind)

    # The types of literals.
    types: Mapping[str, str] = _TYPES

    def literal(self, value: Any, kind: str = "") -> str:
        """A value as it is written."""
        if value is None:
            named = self.types.get(kind)
            return f"CAST(NULL AS {named})" if named and self.dialect != SQLITE else "NULL"
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

    def quoted(self, text: str) -> str:
        """A text as it is written."""
        return "'" + text.replace("'", "''") + "'"

    def number(self, value: float) -> str:
        """A number of double precision, exactly; what is no number is missing."""
        if math.isnan(value):
            return "NULL"
        if math.isinf(value):
            text = "9e999" if self.dialect == SQLITE else f"CAST('Infinity' AS {self.double})"
        else:
            # With an exponent, or it would be a decimal number to DuckDB.
            text = repr(abs(float(value)))
            text = text if "e" in text else f"{text}e0"
            text = f"CAST({text} AS {self.double})" if self.dialect == POSTGRES else text
        return f"(-{text})" if value < 0 else text

    def _time(self, value: dt.date) -> str:
        if isinstance(value, dt.datetime):
            if value.tzinfo is not None:
                raise QueryError(
                    "Times with a time zone are not compared alike in every database. Write the "
                    "time without a zone."
                )
            kind, text = self.types[TIMESTAMP], value.isoformat(sep=" ")
        else:
            kind, text = "DATE", value.isoformat()
        return f"'{text}'" if self.dialect == SQLITE else f"CAST('{text}' AS {kind})"


class Translated(Words):
    """The words of PostgreSQL and SQLite, where they mean the same."""

    def text(self, expression: Expression) -> str:
        """An expression as text."""
        if not isinstance(expression, Operation):
            return super().text(expression)
        special = getattr(self, f"_{expression.name}", None)
        if special is not None:
            found: str = special(expression)
            return found
        template = TEMPLATES[self.dialect].get(expression.name)
        if template is None and expression.name not in ("case", "in", "and", "or", "concat"):
            self.refuse(expression.name)
        if template is None:
            return super().text(expression)
        operands = [self._operand(part, expression.name) for part in expression.operands]
        if expression.name in ("divide_whole", "remainder"):
            self._need_whole(expression)
        if self.dialect == POSTGRES and expression.name in _ORDERED:
            # The alphabet of bytes, as everywhere else.
            byte_wise = any(part.kind == TEXT for part in expression.operands)
            operands[0] += ' COLLATE "C"' if byte_wise else ""
        return template.format(*operands, all=", ".join(operands), double=self.double)

    def _operand(self, part: Expression, word: str) -> str:
        text = self.text(part)
        if self.dialect != SQLITE and word in _ARITHMETIC and isinstance(part, Column):
            # Small integers would overflow where ours do not.
            return f"CAST({text} AS {'BIGINT' if self._whole(part) else self.double})"
        return text

    def refuse(self, word: str) -> str:
        """An operation that would be another one there."""
        raise QueryError(
            f"{word.replace('_', ' ')} is not the same in {NAMES[self.dialect]} as here. Ask "
            f"without it, or in DuckDB, or with 'countveil query'."
        )

    def _need_whole(self, expression: Operation) -> None:
        if not all(map(self._whole, expression.operands)):
            self.refuse(f"{expression.name} of numbers that are not whole")

    def _whole(self, part: Expression) -> bool:
        """Whether it can only be a whole number."""
        if isinstance(part, Column):
            return self._types[part.name].startswith(("int", "uint"))
        if isinstance(part, Constant):
            return part.value is None or type(part.value) is int
        if part.name in _KEEP_WHOLE | _ALIKE:
            return all(map(self._whole, part.operands))
        return part.name in ("length", "year", "month", "day", "to_whole")

    def _place(self, part: Expression, least: int, word: str) -> int:
        if isinstance(part, Constant) and type(part.value) is int and part.value >= least:
            return part.value
        self.refuse(f"{word} with places that are not constants from {least} on")
        return 0

    def _substr(self, expression: Operation) -> str:
        text, start, *rest = expression.operands
        places = [self._place(start, 1, "substr"), *(self._place(r, 0, "substr") for r in rest)]
        return f"substr({self.text(text)}, {', '.join(map(str, places))})"

    def _left(self, expression: Operation) -> str:
        return f"substr({self.text(expression.operands[0])}, 1, {self._size(expression)})"

    def _right(self, expression: Operation) -> str:
        word = "substr({0}, -{1})" if self.dialect == SQLITE else "right({0}, {1})"
        return word.format(self.text(expression.operands[0]), self._size(expression))

    def _size(self, expression: Operation) -> int:
        return self._place(expression.operands[1], 1, expression.name)

    def _round(self, expression: Operation) -> str:
        for digits in expression.operands[1:]:
            if not isinstance(digits, Constant) or digits.value != 0:
                self.refuse("round to digits")
        x = f"CAST({self.text(expression.operands[0])} AS {self.double})"
        up = f"CASE WHEN abs({x} - trunc({x})) >= 0.5 THEN sign({x}) ELSE 0 END"
        return f"(trunc({x}) + {up})"

    def _like(self, expression: Operation) -> str:
        subject, pattern = expression.operands
        if self.dialect == POSTGRES:
            return f"({self.text(subject)} LIKE {self.text(pattern)} ESCAPE '')"
        if not isinstance(pattern, Constant) or pattern.value is None:
            return self.refuse("like with a pattern that is not constant")
        # SQLite's own LIKE does not tell a from A.
        glob = "".join(GLOB_MARKS.get(char, char) for char in pattern.value)
        return f"({self.text(subject)} GLOB {self.literal(glob)})"

    def _greatest(self, expression: Operation) -> str:
        if self.dialect != SQLITE:
            return f"{expression.name}({', '.join(map(self.text, expression.operands))})"
        word = "max" if expression.name == "greatest" else "min"
        first, *others = (self.text(part) for part in expression.operands)
        for other in others:
            # SQLite's is missing as soon as one of them is.
            first = f"coalesce({word}({first}, {other}), {first}, {other})"
        return first

    _least = _greatest

    def _coalesce(self, expression: Operation) -> str:
        parts = [self.text(part) for part in expression.operands]
        return parts[0] if len(parts) == 1 else f"coalesce({', '.join(parts)})"

    def _to_whole(self, expression: Operation) -> str:
        (part,) = expression.operands
        return self.text(part) if self._whole(part) else self.refuse("cast to whole numbers")

    def _to_number(self, expression: Operation) -> str:
        (part,) = expression.operands
        if part.kind != NUMBER:
            return self.refuse("cast to numbers")
        return f"CAST({self.text(part)} AS {self.double})"

    def _to_text(self, expression: Operation) -> str:
        (part,) = expression.operands
        if part.kind == TEXT:
            return self.text(part)
        kind = "STRING" if self.dialect == SPARK else "TEXT"
        return f"CAST({self.text(part)} AS {kind})" if self._whole(part) else self.refuse("cast")

    def _to_date(self, expression: Operation) -> str:
        (part,) = expression.operands
        if part.kind == DATE:
            return self.text(part)
        if part.kind != TIMESTAMP:
            return self.refuse("cast to dates")
        word = "substr({0}, 1, 10)" if self.dialect == SQLITE else "CAST({0} AS DATE)"
        return word.format(self.text(part))

    def _to_timestamp(self, expression: Operation) -> str:
        (part,) = expression.operands
        if part.kind == TIMESTAMP:
            return self.text(part)
        if part.kind != DATE:
            return self.refuse("cast to times")
        zero = "({0} || ' 00:00:00')"
        word = zero if self.dialect == SQLITE else f"CAST({{0}} AS {self.types[TIMESTAMP]})"
        return word.format(self.text(part))

    def _to_boolean(self, expression: Operation) -> str:
        (part,) = expression.operands
        return self.text(part) if part.kind == BOOLEAN else self.refuse("cast to true or false")
