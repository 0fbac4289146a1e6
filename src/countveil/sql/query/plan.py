"""What to tally for a question: one GROUP BY, for any number of cells.

Enters: a `Question`, and the domains of the sensitive columns. Leaves: its `TallyPlan`: a tally for
the engine, and for each aggregate which rows count for which true values. Must not know: SQL text,
engines, estimators.

A formula that mixes plain and sensitive conditions becomes, once the true sensitive values are
fixed, a formula over plain columns. Values for which all tests give the same results are one class,
so there are few such formulas. Each is a *condition* whose truth the engine tallies together with
the published values; the estimate of a cell of true values then uses the rows that meet its
condition.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countveil.errors import QueryError
from countveil.maths.estimate.totals import ALWAYS, NEVER
from countveil.release.values import NUMBER
from countveil.sql.query.expressions import (
    FALSE,
    TRUE,
    AllOf,
    AnyOf,
    Constant,
    Expression,
    Formula,
    Operation,
    Reducer,
    SensitiveTest,
    as_condition,
    as_filter,
    sensitive_tests,
)
from countveil.sql.query.question import (
    Aggregate,
    Arithmetic,
    Measure,
    Operand,
    OverGroups,
    Question,
)
from countveil.sql.query.release_columns import ReleaseColumns
from countveil.sql.query.weighting import unweighted

if TYPE_CHECKING:
    from countveil.sql.query.axes import Axis

MOST_CELLS = 250_000
# Of columns that were published together, only what is asked about and occurs.
MOST_OCCURRING = 1_000_000
MOST_CONDITIONS = 60


@dataclass(frozen=True, slots=True)
class Tally:
    """Count rows, and sum the arguments, by keys, conditions and published sensitive values."""

    where: Expression
    keys: tuple[Expression, ...]
    conditions: tuple[Expression, ...]
    sensitive: tuple[str, ...]
    arguments: tuple[Expression, ...]
    # Of columns that were published together, or have many values; without them every sensitive
    # column is an axis.
    axes: tuple[Axis, ...] = ()
    # The columns of which only some values are told apart: these, and one for all others.
    merged: tuple[tuple[str, tuple[Constant, ...], Constant], ...] = ()


@dataclass(frozen=True, slots=True)
class TallyResult:
    """What was counted.

    `keys[g]` are the group-by values of group g. `truths[p, c]` says whether condition c holds in
    pattern p. `moments[0, g, p, *published]` counts the rows of a group that show a pattern and
    publish these sensitive values; `moments[1 + 2i]` and `moments[2 + 2i]` sum argument i and its
    square over them. `ranges[0, i, g, p]` and `ranges[1, i, g, p]` are the smallest and the largest
    value of argument i in them, infinite where there is no row.
    """

    keys: Sequence[tuple[Any, ...]]
    truths: NDArray[np.bool_]
    moments: NDArray[np.float64]
    ranges: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AggregatePlan:
    """`condition_of[cell]`: the condition under which a row with these true values counts.

    `value_of[cell]`: the number with which it counts; None for 1.
    """

    condition_of: NDArray[np.int64]
    argument: int | None
    value_of: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class TallyPlan:
    """A tally, and how to read it.

    `products`: of two arguments, the number of the argument that is their product.
    """

    tally: Tally
    domains: tuple[tuple[Any, ...], ...]
    grouped: tuple[bool, ...]
    where_of: NDArray[np.int64]
    aggregates: dict[Aggregate, AggregatePlan]
    products: Mapping[tuple[int, int], int] = field(default_factory=dict)

    def values_along(
        self, column: int, places: Sequence[NDArray[np.int64]]
    ) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
        """The values of a column that is grouped by, and which of them cells have.

        `places`: the place of each cell along every axis that is grouped by.
        """
        axes = [axis for axis in self.tally.axes if axis.grouped]
        for axis, place in zip(axes, places, strict=False):
            if column in axis.columns:
                return self.domains[column], axis.of_column(column)[place]
        return self.domains[column], places[sum(self.grouped[:column])]

    def averaged(self, measure: Measure) -> int | None:
        """The argument that a measure averages, weighted or not; None if it is another ratio."""
        if measure.denominator is None:
            return None
        top, bottom = measure.numerator.argument, measure.denominator.argument
        numbers = top if bottom is None else unweighted(top, bottom)
        return None if numbers is None else self.tally.arguments.index(numbers)

    def product_moment(self, one: int | None, two: int | None) -> int:
        """The moment of the tally that sums the product of two arguments (None is 1)."""
        if one is None or two is None:
            known = two if one is None else one
            return 0 if known is None else 1 + 2 * known
        return 2 + 2 * one if one == two else 1 + 2 * self.products[one, two]


def plan_question(
    question: Question, columns: ReleaseColumns, *, only_asked: bool = False
) -> TallyPlan:
    """Plan the tally of a question.

    `only_asked`: of columns together only what is asked about, however few combinations there are.
    """
    asked = aggregates_of(question)
    measured = _measured(asked)
    formulas = [question.where, *(aggregate.condition for aggregate in asked)]
    tests = list(dict.fromkeys(test for f in formulas for test in sensitive_tests(f)))
    grouped = [key.sensitive for key in question.keys if key.sensitive is not None]
    names = tuple(dict.fromkeys([*grouped, *(test.column for test in tests), *measured]))
    missing = {name for formula in formulas for name in _asked_missing(formula)}
    domains = tuple(_domain(name, tests, columns, missing) for name in names)
    by_group = tuple(name in grouped for name in names)
    reducer = Reducer(names, domains, tests)
    classes = reducer.classes(measured)
    excluded = reducer.excluded(question.where)
    few = 0 if only_asked else MOST_CELLS
    axes = _axes((names, domains, by_group), classes, excluded, columns, few)
    reducer.lay(axes)
    numbering = _Numbering()
    arguments, products = _arguments(question, asked)
    aggregates = {}
    for each in asked:
        condition_of = reducer.conditions(each.condition, numbering)
        values = _cell_values(each.measured, names, domains, condition_of, columns, reducer)
        aggregates[each] = AggregatePlan(condition_of, _place(arguments, each.argument), values)
    where_of = reducer.conditions(question.where, numbering)
    tally = Tally(
        as_condition(as_filter(AnyOf(tuple(reducer.reduced(question.where))))),
        tuple(key.expression for key in question.keys if key.expression is not None),
        tuple(as_condition(formula) for formula in numbering.formulas),
        names,
        arguments,
        axes,
        _merged(names, domains, axes, columns),
    )
    by_group = tuple(axis.grouped for axis in axes) or by_group
    return TallyPlan(tally, domains, by_group, where_of, aggregates, products)


def aggregates_of(question: Question) -> tuple[Aggregate, ...]:
    """All aggregates of all measures, each once."""
    return tuple(dict.fromkeys(a for m in question.measures for a in aggregates_in(m)))


def leaves(operand: Operand) -> Iterator[Aggregate | OverGroups]:
    """What is estimated, in the order in which it is written."""
    if isinstance(operand, Arithmetic):
        for part in operand.operands:
            yield from leaves(part)
    elif isinstance(operand, Aggregate | OverGroups):
        yield operand


def aggregates_in(measure: Measure) -> tuple[Aggregate, ...]:
    """The aggregates of a measure, each once."""
    parts: list[Aggregate] = [measure.numerator]
    if measure.denominator is not None:
        parts.append(measure.denominator)
    if measure.arithmetic is not None:
        named = leaves(measure.arithmetic)
        parts += [leaf.aggregate if isinstance(leaf, OverGroups) else leaf for leaf in named]
    return tuple(dict.fromkeys(parts))


def is_composed(question: Question) -> bool:
    """Whether a question needs more than one plain tally."""
    parts = any(key.parts for key in question.keys)
    return bool(question.sets) or parts or any(m.listing is not None for m in question.measures)


def is_count(measure: Measure) -> bool:
    """Whether a measure is a number of rows."""
    numerator = measure.numerator
    alone = measure.denominator is None and measure.arithmetic is None
    return alone and numerator.argument is None and not numerator.measured


def is_share(measure: Measure) -> bool:
    """Whether the rows of the numerator are among those of the denominator."""
    top, bottom = measure.numerator, measure.denominator
    if bottom is None or top.measured or bottom.measured or top.argument != bottom.argument:
        return False
    parts = top.condition.parts if isinstance(top.condition, AllOf) else ()
    return top.condition == bottom.condition or bottom.condition in parts


def _axes(
    of: tuple[Sequence[str], Sequence[tuple[Any, ...]], Sequence[bool]],
    classes: Sequence[NDArray[np.int64]],
    excluded: Sequence[NDArray[np.bool_]],
    columns: ReleaseColumns,
    few: int,
) -> tuple[Axis, ...]:
    """None where all combinations are so few that they are cells; else what is asked about."""
    names, domains, grouped = of
    sizes = [len(domain) for domain in domains]
    if math.prod(sizes) <= few:
        return ()
    axes: tuple[Axis, ...] = ()
    most = MOST_CELLS
    if columns.occurring is not None or columns.mergeable:
        from countveil.sql.query.axes import axes_of, merged_classes

        apart: list[NDArray[np.int64]] = [np.arange(len(domain)) for domain in domains]
        if columns.mergeable and math.prod(sizes) > MOST_CELLS:
            each = zip(classes, excluded, grouped, strict=True)
            apart = [merged_classes(c, never, grouped=by) for c, never, by in each]
        axes = axes_of(*of, classes, columns.together, columns.occurring, apart)
        sizes = [axis.size for axis in axes]
        if any(axis.occurring is not None for axis in axes):
            most = MOST_OCCURRING
    if math.prod(sizes) > most:
        listed = " x ".join(f"{len(d):,} ({n})" for n, d in zip(names, domains, strict=True))
        raise QueryError(
            f"The sensitive columns of this query have {listed} combinations of values, of which "
            f"{math.prod(sizes):,} are asked about; at most {most:,} are evaluated. Use fewer "
            f"sensitive columns, or choose some of their values with WHERE."
        )
    return axes


def _merged(
    names: Sequence[str],
    domains: Sequence[tuple[Any, ...]],
    axes: Sequence[Axis],
    columns: ReleaseColumns,
) -> tuple[tuple[str, tuple[Constant, ...], Constant], ...]:
    """The columns of which some values are one, with the values that stay alone."""
    merged = []
    for axis in axes:
        column = axis.columns[0]
        classes, domain = axis.classes[0], domains[column]
        sizes = np.bincount(classes)
        if len(axis.columns) > 1 or axis.occurring is not None or sizes.max(initial=0) < 2:
            continue
        if (sizes > 1).sum() > 1:
            continue
        kind = columns.kind(columns.find(names[column]))
        alone = sizes[classes] == 1
        kept = tuple(Constant(domain[place], kind) for place in np.flatnonzero(alone).tolist())
        merged.append((names[column], kept, Constant(domain[int(np.argmin(alone))], kind)))
    return tuple(merged)


def _measured(asked: Sequence[Aggregate]) -> list[str]:
    """The sensitive columns whose numbers are summed."""
    return [aggregate.measured for aggregate in asked if aggregate.measured is not None]


def _arguments(
    question: Question, asked: Sequence[Aggregate]
) -> tuple[tuple[Expression, ...], dict[tuple[int, int], int]]:
    """What is summed: the arguments, and the products that errors of ratios need."""
    arguments = list(dict.fromkeys(a.argument for a in asked if a.argument is not None))
    products = {}
    for measure in question.measures:
        if measure.denominator is not None and measure.denominator.argument is not None:
            # Tallied for its range: no average lies outside.
            numbers = unweighted(measure.numerator.argument, measure.denominator.argument)
            arguments += [numbers] if numbers is not None and numbers not in arguments else []
        summed = [a.argument for a in aggregates_in(measure) if a.argument is not None]
        for top, bottom in itertools.permutations(dict.fromkeys(summed), 2):
            product = Operation("multiply", (top, bottom), NUMBER)
            turned = Operation("multiply", (bottom, top), NUMBER)
            if product not in arguments and turned not in arguments:
                arguments.append(product)
            place = arguments.index(product if product in arguments else turned)
            products[arguments.index(top), arguments.index(bottom)] = place
    return tuple(arguments), products


def _place(arguments: Sequence[Expression], argument: Expression | None) -> int | None:
    return None if argument is None else arguments.index(argument)


def _cell_values(
    name: str | None,
    names: Sequence[str],
    domains: Sequence[tuple[Any, ...]],
    condition_of: NDArray[np.int64],
    columns: ReleaseColumns,
    reducer: Reducer,
) -> NDArray[np.float64] | None:
    """The number that a column's value stands for, in every cell of true values."""
    if name is None:
        return None
    number = names.index(name)
    numbers = columns.numbers(name, domains[number])
    place = reducer.spread[number]
    counted = np.broadcast_to(place, condition_of.shape)[condition_of != NEVER]
    unknown = [place for place in np.unique(counted).tolist() if numbers[place] is None]
    if unknown:
        raise columns.no_number(name, domains[number][unknown[0]])
    line = np.array([0.0 if number is None else number for number in numbers])
    return np.broadcast_to(line[place], condition_of.shape)


def _asked_missing(formula: Formula) -> Iterator[str]:
    """The sensitive columns of which rows without a value are asked for."""
    if isinstance(formula, SensitiveTest) and formula.test == "is_null":
        yield formula.column
    elif isinstance(formula, AllOf | AnyOf):
        for part in formula.parts:
            yield from _asked_missing(part)


def _domain(
    name: str, tests: Sequence[SensitiveTest], columns: ReleaseColumns, missing: set[str]
) -> tuple[Any, ...]:
    """The values of the column, and those that the question names but no row publishes.

    A missing value is one of them: the draw may have removed the few that there were.
    """
    asked: list[Any] = [None] if name in missing else []
    asked += [
        value
        for test in tests
        if test.column == name and test.test in ("in", "not_in")
        for value in test.values
    ]
    return tuple(dict.fromkeys([*columns.domain(name), *asked]))


class _Numbering:
    """Numbers the conditions that need a tally."""

    def __init__(self) -> None:
        self.formulas: list[Formula] = []

    def __call__(self, formula: Formula) -> int:
        if formula == TRUE:
            return ALWAYS
        if formula == FALSE:
            return NEVER
        if formula not in self.formulas:
            if len(self.formulas) == MOST_CONDITIONS:
                raise QueryError(
                    f"The query mixes plain and sensitive conditions in more than "
                    f"{MOST_CONDITIONS} ways. Ask several simpler queries."
                )
            self.formulas.append(formula)
        return self.formulas.index(formula)
