"""Expressions and tallies as SQL text: the base of all dialects, and DuckDB with parameters.

Enters: expressions over plain columns, and what the columns are called in the text. Leaves: SQL
text. Must not know: where expressions come from, where the text is run. DuckDB defines what every
operation means; a dialect that differs overrides the text, or refuses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from countveil.sql.query import Tally
from countveil.sql.query.expressions import ColumnReference, Constant, Expression

# Every operation of countveil.sql.query.expressions; {0}, {1} are operands, {all} a list of them,
# {whole} the later ones as whole numbers.
TEMPLATES = {
    "add": "({0} + {1})", "subtract": "({0} - {1})", "multiply": "({0} * {1})",
    "divide": "(CASE WHEN {1} <> 0 THEN {0} / {1} END)",
    "divide_whole": "(CASE WHEN {1} <> 0 THEN {0} // {1} END)",
    "remainder": "(CASE WHEN {1} <> 0 THEN {0} % {1} END)",
    "negate": "(-{0})",
    "equal": "({0} = {1})", "unequal": "({0} <> {1})", "less": "({0} < {1})",
    "at_most": "({0} <= {1})", "greater": "({0} > {1})", "at_least": "({0} >= {1})",
    "not": "(NOT {0})", "is_null": "({0} IS NULL)", "like": "({0} LIKE {1})",
    "ilike": "({0} ILIKE {1})", "nullif": "nullif({0}, {1})", "lower": "lower({0})",
    "upper": "upper({0})", "trim": "trim({0})", "substr": "substr({0}, {whole})",
    "left": "left({0}, {whole})", "right": "right({0}, {whole})", "length": "length({0})",
    "abs": "abs({0})", "round": "round({0}, {digits})", "floor": "floor({0})", "ceil": "ceil({0})",
    "sqrt": "CASE WHEN {0} >= 0 THEN sqrt({0}) END", "ln": "CASE WHEN {0} > 0 THEN ln({0}) END",
    "sign": "sign({0})", "power": "power({0}, {1})",
    "year": "year({0})", "month": "month({0})", "day": "day({0})", "weekday": "dayofweek({0})",
    "week": "week({0})", "day_of_year": "dayofyear({0})", "hour": "hour({0})",
    "minute": "minute({0})", "second": "second({0})",
    "start_of_year": "date_trunc('year', {0})", "start_of_quarter": "date_trunc('quarter', {0})",
    "start_of_month": "date_trunc('month', {0})", "start_of_week": "date_trunc('week', {0})",
    "start_of_day": "date_trunc('day', {0})", "start_of_hour": "date_trunc('hour', {0})",
    "add_days": "({0} + TRY_CAST({1} AS INTEGER))",
    "add_months": "CAST({0} + to_months(TRY_CAST({1} AS INTEGER)) AS DATE)",
    "days_between": "({0} - {1})", "matches": "regexp_matches({0}, {1})",
    "replace": "replace({0}, {1}, {2})", "position": "strpos({0}, {1})",
    "split_part": "split_part({0}, {1}, TRY_CAST({2} AS BIGINT))",
    "coalesce": "coalesce({all})", "greatest": "greatest({all})", "least": "least({all})",
    "to_whole": "TRY_CAST({0} AS BIGINT)", "to_number": "TRY_CAST({0} AS DOUBLE)",
    "to_text": "TRY_CAST({0} AS VARCHAR)", "to_date": "TRY_CAST({0} AS DATE)",
    "to_timestamp": "TRY_CAST({0} AS TIMESTAMP)", "to_boolean": "TRY_CAST({0} AS BOOLEAN)",
}  # fmt: skip
_MOST_DIGITS = 30
_JOINED = {"and": " AND ", "or": " OR ", "concat": " || "}
_TYPES = {
    "text": "VARCHAR", "true/false": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP",
}  # fmt: skip


class Dialect(ABC):
    """Renders expressions as text. `names` gives the text of each column's name."""

    double = "DOUBLE"

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    @abstractmethod
    def constant(self, constant: Constant) -> str:
        """A constant as text."""

    def tally(self, tally: Tally, table: str) -> str:
        """One GROUP BY: keys, conditions, published values, then the count and the sums."""
        keys = [self.text(key) for key in tally.keys]
        bits = [f"coalesce({self.text(condition)}, false)" for condition in tally.conditions]
        by = [*keys, *bits, *map(self._published(tally), tally.sensitive)]
        sums = []
        for argument in tally.arguments:
            number = f"CAST(coalesce({self.text(argument)}, 0) AS {self.double})"
            sums += [f"sum({number})", f"sum({number} * {number})"]
            sums += [f"min({number})", f"max({number})"]
        listed = ", ".join([*by, "count(*)", *sums])
        places = ", ".join(str(place + 1) for place in range(len(by)))
        order = ", ".join(str(place + 1) for place in range(len(keys)))
        text = f"SELECT {listed} FROM {table} WHERE {self.text(tally.where)}"
        text += f" GROUP BY {places}" if by else ""
        return text + (f" ORDER BY {order}" if keys else "")

    def _published(self, tally: Tally) -> Callable[[str], str]:
        """The text of a sensitive column; values that are not told apart are one of them."""
        merged = {name: (kept, other) for name, kept, other in tally.merged}

        def text(name: str) -> str:
            column = self._names[name]
            if name not in merged:
                return column
            kept, other = merged[name]
            known = ", ".join(self.constant(c) for c in kept if c.value is not None)
            whens = f" WHEN {column} IN ({known}) THEN {column}" if known else ""
            if any(constant.value is None for constant in kept):
                whens += f" WHEN {column} IS NULL THEN {column}"
            return f"CASE{whens} ELSE {self.constant(other)} END" if whens else self.constant(other)

        return text

    def text(self, expression: Expression) -> str:
        """An expression as text."""
        if isinstance(expression, ColumnReference):
            return self._names[expression.name]
        if isinstance(expression, Constant):
            return self.constant(expression)
        name = expression.name
        if name == "case":
            *branches, otherwise = (self.text(part) for part in expression.operands)
            pairs = zip(branches[::2], branches[1::2], strict=True)
            whens = " ".join(f"WHEN {when} THEN {then}" for when, then in pairs)
            return f"(CASE {whens} ELSE {otherwise} END)"
        operands = [self.text(part) for part in expression.operands]
        if name in _JOINED:
            return "(" + _JOINED[name].join(operands) + ")"
        if name == "in":
            return f"({operands[0]} IN ({', '.join(operands[1:])}))"
        # Positions and numbers of digits must be whole; one that does not fit becomes NULL.
        whole = ", ".join(f"TRY_CAST({operand} AS BIGINT)" for operand in operands[1:])
        digits = f"least(greatest({whole}, -{_MOST_DIGITS}), {_MOST_DIGITS})::INTEGER"
        return TEMPLATES[name].format(
            *operands,
            all=", ".join(operands),
            whole=whole,
            digits=digits if operands[1:] else "0",
        )


class DuckDB(Dialect):
    """One statement for DuckDB, with constants as parameters.

    With internal column names, the text contains no literal and no name from outside.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__(names)
        self.parameters: list[Any] = []

    def constant(self, constant: Constant) -> str:
        """A constant becomes the next parameter."""
        if constant.value is None:
            return f"NULL::{_TYPES[constant.kind]}" if constant.kind in _TYPES else "NULL"
        # Numbered, so that a template may repeat an operand.
        self.parameters.append(constant.value)
        place = f"${len(self.parameters)}"
        return f"{place}::{_TYPES[constant.kind]}" if constant.kind in _TYPES else place
