"""A question as plain values: what is grouped, what is measured, how the answer is ordered.

Enters: nothing. Leaves: the values between the parser and the plan. Must not know: SQL text.
"""

from __future__ import annotations

from dataclasses import dataclass

from countveil.sql.query.expressions import Expression, Formula


@dataclass(frozen=True, slots=True)
class GroupKey:
    """Something grouped by: an expression over plain columns, or a sensitive column."""

    expression: Expression | None
    sensitive: str | None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The number of rows that meet the condition, or the sum of `argument` over them."""

    argument: Expression | None
    condition: Formula


@dataclass(frozen=True, slots=True)
class Measure:
    """factor * numerator / denominator; without a denominator, a plain total."""

    numerator: Aggregate
    denominator: Aggregate | None = None
    factor: float = 1.0


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

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """All aggregates of all measures, each once."""
        aggregates: dict[Aggregate, None] = {}
        for measure in self.measures:
            aggregates[measure.numerator] = None
            if measure.denominator is not None:
                aggregates[measure.denominator] = None
        return tuple(aggregates)
