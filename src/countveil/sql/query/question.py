"""A question as plain values.

Enters: what the parser read. Leaves: a `Question`: what is grouped, what is measured, how the
answer is ordered. Must not know: SQL text, engines, estimators, how it is tallied (`plan`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from countveil.sql.query.expressions import Expression, Formula


@dataclass(frozen=True, slots=True)
class GroupKey:
    """Something grouped by: an expression over plain columns, or a sensitive column.

    Or neither of them: `parts` then has every value with the formula of its rows.
    """

    expression: Expression | None
    sensitive: str | None
    parts: tuple[tuple[Any, Formula], ...] = ()


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The number of rows that meet the condition, or the sum of `argument` over them.

    With `measured`, the sum of the numbers that the true values of this sensitive column stand for,
    times the argument if there is one.
    """

    argument: Expression | None
    condition: Formula
    measured: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """What is known of the values that occur: `what` is distinct, min or max."""

    what: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class OverGroups:
    """The sum of an aggregate over the groups of the answer that agree in these keys."""

    aggregate: Aggregate
    partition: tuple[GroupKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """An operation on aggregates and numbers; `arithmetic` lists the operations."""

    operation: str
    operands: tuple[Operand, ...]


Operand = Arithmetic | OverGroups | Aggregate | float


@dataclass(frozen=True, slots=True)
class Measure:
    """factor * numerator / denominator; without a denominator, a plain total.

    With a `listing`, what it says of the rows of the numerator, times the factor. With
    `arithmetic`, what that computes, times the factor; the numerator is its first aggregate.
    """

    numerator: Aggregate
    denominator: Aggregate | None = None
    factor: float = 1.0
    listing: Listing | None = None
    arithmetic: Arithmetic | None = None


@dataclass(frozen=True, slots=True)
class SelectedItem:
    """A selected item: the group key or the measure with this number, and its name."""

    what: str
    number: int
    label: str


@dataclass(frozen=True, slots=True)
class MeasureTest:
    """A comparison of a measure's estimate with a constant (HAVING)."""

    measure: int
    comparison: str
    value: float


@dataclass(frozen=True, slots=True)
class HavingAll:
    """All of the parts."""

    parts: tuple[Having, ...]


@dataclass(frozen=True, slots=True)
class HavingAny:
    """Any of the parts."""

    parts: tuple[Having, ...]


@dataclass(frozen=True, slots=True)
class HavingNot:
    """Not the part."""

    part: Having


Having = MeasureTest | HavingAll | HavingAny | HavingNot


@dataclass(frozen=True, slots=True)
class Ordering:
    """Sort by the group key or the measure with this number."""

    what: str
    number: int
    descending: bool
    missing_first: bool


@dataclass(frozen=True, slots=True)
class Question:
    """Everything a query asks."""

    where: Formula
    keys: tuple[GroupKey, ...]
    measures: tuple[Measure, ...]
    outputs: tuple[SelectedItem, ...]
    having: Having | None = None
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0
    # GROUPING SETS: the numbers of the keys of each.
    sets: tuple[tuple[int, ...], ...] = ()
