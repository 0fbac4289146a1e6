"""Expressions over plain columns, and formulas that may also test sensitive ones: plain values.

Enters: nothing. Leaves: the values between the SQL an analyst writes and the statement that an
engine builds, and what a formula becomes once the sensitive values are fixed: formulas over plain
columns only, one per class of sensitive values. Must not know: SQL text, engines. Operations have
the names listed here; every dialect has a text for each. Three-valued logic throughout: unknown is
neither true nor false.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from countveil.sql.query.axes import Axis

# operation -> the kind of its result; "same" is the kind of its (first) operand.
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
    "year": "number", "month": "number", "day": "number", "weekday": "number", "week": "number",
    "day_of_year": "number", "hour": "number", "minute": "number", "second": "number",
    "start_of_year": "timestamp", "start_of_quarter": "timestamp", "start_of_month": "timestamp",
    "start_of_week": "timestamp", "start_of_day": "timestamp", "start_of_hour": "timestamp",
    "add_days": "date", "add_months": "date", "days_between": "number",
    "matches": "true/false", "replace": "text", "position": "number", "split_part": "text",
    "power": "number",
    "to_whole": "number", "to_number": "number", "to_text": "text", "to_date": "date",
    "to_timestamp": "timestamp", "to_boolean": "true/false",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ColumnReference:
    """The value of a plain column, one that is not sensitive."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A Python value; None is missing."""

    value: Any
    kind: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the list above, applied to operands."""

    name: str
    operands: tuple[Expression, ...]
    kind: str


Expression = ColumnReference | Constant | Operation


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
        if self.test == "listed":
            # Evaluated for every value: for which it is true, and for which it is false.
            chosen, others = self.values
            return True if value in chosen else False if value in others else None
        if self.test == "is_null":
            return value is None
        if value is None:
            return None
        if self.test in ("in", "not_in"):
            # The parser refuses NULL in a list, so IN is never unknown for a known value.
            return (value in self.values) == (self.test == "in")
        key = _sort_key(domain)
        here = key(value)
        low = key(self.values[0])
        if self.test == "between":
            return bool(low <= here <= key(self.values[1]))
        return bool(
            {"less": here < low, "at_most": here <= low, "greater": here > low,
             "at_least": here >= low}[self.test]
        )  # fmt: skip


def _sort_key(domain: tuple[Any, ...]) -> Any:
    """The sort key of a value: itself for numbers and dates, its place in the domain for labels."""
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


@dataclass(frozen=True, slots=True)
class IsTrue:
    """True where the part is, else false: as WHEN takes a condition."""

    part: Formula


Formula = Truth | Plain | SensitiveTest | AllOf | AnyOf | Not | IsTrue

TRUE, FALSE = Truth(value=True), Truth(value=False)


def columns_named(expression: Expression) -> set[str]:
    """The columns that an expression names."""
    if isinstance(expression, ColumnReference):
        return {expression.name}
    if isinstance(expression, Constant):
        return set()
    return set().union(*(columns_named(part) for part in expression.operands))


def sensitive_tests(formula: Formula) -> Iterator[SensitiveTest]:
    """Every test of a sensitive column in the formula."""
    for leaf in _leaves(formula):
        if isinstance(leaf, SensitiveTest):
            yield leaf


def reduce(formula: Formula, truths: Mapping[SensitiveTest, bool | None]) -> Formula:
    """Replace each sensitive test by its truth value, and simplify."""
    if isinstance(formula, SensitiveTest):
        return Truth(truths[formula])
    if isinstance(formula, Not):
        part = reduce(formula.part, truths)
        if isinstance(part, Truth):
            return Truth(None if part.value is None else not part.value)
        return Not(part)
    if isinstance(formula, IsTrue):
        part = reduce(formula.part, truths)
        return Truth(part.value is True) if isinstance(part, Truth) else IsTrue(part)
    if isinstance(formula, AllOf | AnyOf):
        return _join(formula, [reduce(part, truths) for part in formula.parts])
    return formula


def as_filter(formula: Formula) -> Formula:
    """A simpler formula that selects the same rows: a filter treats unknown as false."""
    if isinstance(formula, Truth):
        return TRUE if formula.value else FALSE
    if isinstance(formula, AllOf | AnyOf):
        return _join(formula, [as_filter(part) for part in formula.parts])
    return as_filter(formula.part) if isinstance(formula, IsTrue) else formula


def split_conjunction(formula: Formula) -> tuple[Formula, Formula] | None:
    """The plain and the sensitive conditions of a conjunction; None if one of them mixes both."""
    plain: list[Formula] = []
    sensitive: list[Formula] = []
    for part in _conjuncts(formula):
        kinds = {isinstance(leaf, SensitiveTest) for leaf in _leaves(part)}
        if len(kinds) > 1:
            return None
        (sensitive if True in kinds else plain).append(part)
    return AllOf(tuple(plain)), AllOf(tuple(sensitive))


def _conjuncts(formula: Formula) -> Iterator[Formula]:
    if isinstance(formula, AllOf):
        for part in formula.parts:
            yield from _conjuncts(part)
    else:
        yield formula


def _leaves(formula: Formula) -> Iterator[Formula]:
    if isinstance(formula, AllOf | AnyOf):
        for part in formula.parts:
            yield from _leaves(part)
    elif isinstance(formula, Not | IsTrue):
        yield from _leaves(formula.part)
    elif not isinstance(formula, Truth):
        yield formula


def _join(formula: AllOf | AnyOf, parts: list[Formula]) -> Formula:
    """Drop neutral operands and duplicates; a decisive operand is the whole result."""
    neutral, decisive = (TRUE, FALSE) if isinstance(formula, AllOf) else (FALSE, TRUE)
    kept: list[Formula] = []
    for part in parts:
        if part == decisive:
            return decisive
        if part != neutral and part not in kept:
            kept.append(part)
    if len(kept) == 1:
        return kept[0]
    return type(formula)(tuple(kept)) if kept else neutral


def as_condition(formula: Formula) -> Expression:
    """A formula without sensitive tests as an expression for an engine."""
    if isinstance(formula, Truth):
        return Constant(formula.value, "true/false")
    if isinstance(formula, Plain):
        return formula.condition
    if isinstance(formula, Not):
        return Operation("not", (as_condition(formula.part),), "true/false")
    if isinstance(formula, IsTrue):
        no = Constant(value=False, kind="true/false")
        return Operation("coalesce", (as_condition(formula.part), no), "true/false")
    if isinstance(formula, AllOf | AnyOf):
        name = "and" if isinstance(formula, AllOf) else "or"
        parts = tuple(as_condition(part) for part in formula.parts)
        if not parts:
            return Constant(name == "and", "true/false")
        return parts[0] if len(parts) == 1 else Operation(name, parts, "true/false")
    raise TypeError(f"{formula.column} is sensitive; fix its values first")


def value_classes(
    tests: list[SensitiveTest], domain: tuple[Any, ...]
) -> tuple[list[int], list[dict[SensitiveTest, bool | None]]]:
    """Group the values of a domain by the results of the tests.

    Returns the class of each value, and the results of each class.
    """
    numbers: list[int] = []
    classes: list[dict[SensitiveTest, bool | None]] = []
    number_of: dict[Any, int] = {}
    for value in domain:
        results = {test: test.holds(value, domain) for test in tests}
        key = tuple(results.values())
        if key not in number_of:
            number_of[key] = len(classes)
            classes.append(results)
        numbers.append(number_of[key])
    return numbers, classes


class Reducer:
    """Fixes sensitive values in formulas, class by class."""

    def __init__(
        self,
        names: Sequence[str],
        domains: Sequence[tuple[Any, ...]],
        tests: Sequence[SensitiveTest],
    ) -> None:
        by_column = [[test for test in tests if test.column == name] for name in names]
        pairs = zip(by_column, domains, strict=True)
        classified = [value_classes(column_tests, domain) for column_tests, domain in pairs]
        self._class_of = [np.array(numbers, np.int64) for numbers, _ in classified]
        self._truths = [truths for _, truths in classified]
        self._names = names
        self.lay(())

    def classes(self, whole: Sequence[str]) -> list[NDArray[np.int64]]:
        """The class of every value of each column; those of `whole` are classes by themselves."""
        return [
            np.arange(class_of.size) if name in whole else class_of
            for name, class_of in zip(self._names, self._class_of, strict=True)
        ]

    def lay(self, axes: tuple[Axis, ...]) -> None:
        """Use these axes; without any, every column is one."""
        if axes:
            from countveil.sql.query.axes import spread

            self.spread = spread(axes)
        else:
            self.spread = np.ix_(*(np.arange(class_of.size) for class_of in self._class_of))

    def reduced(self, formula: Formula) -> list[Formula]:
        """What the formula becomes for each combination of classes, in order."""
        reduced = []
        for combination in itertools.product(*self._truths):
            results: dict[SensitiveTest, bool | None] = {}
            for truths in combination:
                results.update(truths)
            reduced.append(as_filter(reduce(formula, results)))
        return reduced

    def excluded(self, formula: Formula) -> list[NDArray[np.bool_]]:
        """Which values of each column never meet the formula, whatever the other columns have."""
        false = np.array([reduced == FALSE for reduced in self.reduced(formula)], bool)
        shaped = false.reshape([len(truths) for truths in self._truths])
        columns = range(shaped.ndim)
        never = []
        for column, class_of in enumerate(self._class_of):
            others = tuple(other for other in columns if other != column)
            never.append(np.asarray(shaped.all(axis=others))[class_of])
        return never

    def conditions(
        self, formula: Formula, numbering: Callable[[Formula], int]
    ) -> NDArray[np.int64]:
        """The number of the condition of every cell of true values."""
        numbers = np.array([numbering(reduced) for reduced in self.reduced(formula)], np.int64)
        shaped = numbers.reshape([len(truths) for truths in self._truths])
        pairs = zip(self._class_of, self.spread, strict=True)
        cells: NDArray[np.int64] = shaped[tuple(classes[place] for classes, place in pairs)]
        return cells
