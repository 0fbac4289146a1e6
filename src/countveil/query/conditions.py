"""Conditions on columns, as plain values.

Enters: nothing. Leaves: the vocabulary between the SQL an analyst writes and the statement that an
engine builds. Must not know: SQL, engines. Literals are Python values of the column's own kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

OPERATORS = ("=", "<>", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Compare:
    """column operator value."""

    column: str
    operator: str
    value: Any


@dataclass(frozen=True, slots=True)
class InList:
    """column [NOT] IN (values)."""

    column: str
    values: tuple[Any, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between:
    """column [NOT] BETWEEN low AND high."""

    column: str
    low: Any
    high: Any
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull:
    """column IS [NOT] NULL."""

    column: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every one of the parts; without parts, always true."""

    parts: tuple[Condition, ...]


Condition = Compare | InList | Between | IsNull | AllOf
