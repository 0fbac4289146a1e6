"""Expressions over plain columns, and formulas that may also test sensitive ones: plain values.

Enters: nothing. Leaves: the vocabulary between the SQL an analyst writes and the statement that an
engine builds. Must not know: SQL text, engines. An operation is named by one of the words listed
here; an engine has its own text for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# operation -> what it gives; "same" is the kind of its (first) operand.
OPERATIONS = {
    "add": "number", "subtract": "number", "multiply": "number", "divide": "number",
    "divide_whole": "number", "remainder": "number", "negate": "number",
    "equal": "true/false", "unequal": "true/false", "less": "true/false",
    "at_most": "true/false", "greater": "true/false", "at_least": "true/false",
    "and": "true/false", "or": "true/false", "not": "true/false", "is_null": "true/false",
    "in": "true/false", "like": "true/false", "ilike": "true/false",
    "case": "same", "coalesce": "same", "nullif": "same", "greatest": "same", "least": "same",
    "lower": "text", "upper": "text", "trim": "text", "substr": "text", "left": "text",
    "right": "text", "concat": "text", "length": "number",
    "abs": "number", "round": "number", "floor": "number", "ceil": "number", "sqrt": "number",
    "ln": "number", "sign": "number",
    "year": "number", "month": "number", "day": "number",
    "to_whole": "number", "to_number": "number", "to_text": "text", "to_date": "date",
    "to_timestamp": "timestamp", "to_boolean": "true/false",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Column:
    """A plain column."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A Python value; None is missing."""

    value: Any
    kind: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the list above on operands."""

    name: str
    operands: tuple[Expression, ...]
    kind: str


Expression = Column | Constant | Operation


@dataclass(frozen=True, slots=True)
class Truth:
    """A constant formula; None is SQL's unknown."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Plain:
    """A condition on plain columns only."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class SensitiveTest:
    """A condition on one sensitive column: true, false or unknown for each value of its domain."""

    column: str
    test: str
    values: tuple[Any, ...] = ()

    def holds(self, value: Any, domain: tuple[Any, ...]) -> bool | None:
        """Whether a true value of the column meets the test; None is unknown, as in SQL."""
        if self.test == "is_null":
            return value is None
        if value is None:
            return None
        if self.test in ("in", "not_in"):
            # NULL in the list is refused before, so IN is never unknown for a known value.
            return (value in self.values) == (self.test == "in")
        place = _placer(domain)
        here = place(value)
        low = place(self.values[0])
        if self.test == "between":
            return bool(low <= here <= place(self.values[1]))
        return bool(
            {"less": here < low, "at_most": here <= low, "greater": here > low,
             "at_least": here >= low}[self.test]
        )  # fmt: skip


def _placer(domain: tuple[Any, ...]) -> Any:
    """Order of values: their own for numbers and dates, the domain's for labels."""
    if any(isinstance(value, str) for value in domain):
        positions = {value: position for position, value in enumerate(domain)}
        return positions.__getitem__
    return lambda value: value


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every one of the parts; without parts, true."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the parts; without parts, false."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite; unknown stays unknown."""

    part: Formula


Formula = Truth | Plain | SensitiveTest | AllOf | AnyOf | Not

TRUE, FALSE = Truth(value=True), Truth(value=False)


def columns_named(expression: Expression) -> set[str]:
    """The columns that an expression names."""
    if isinstance(expression, Column):
        return {expression.name}
    if isinstance(expression, Constant):
        return set()
    return set().union(*(columns_named(part) for part in expression.operands))
