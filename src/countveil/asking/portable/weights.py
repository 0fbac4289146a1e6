"""The row weights in a plain SQL answer.

Enters: a plan and the channels. Leaves: for every pattern of conditions and every published
combination of values, the weight of a row; for counts of single values, the coefficients of their
variance. Must not know: SQL.

The weights are those of `estimate.totals`, the variance of a count of one value that of
`estimate.unbiased`: with t rows that have the value and o that do not,

    Var = A t + o (B + C t + D o) + E t^2,        for the whole table    F + G t + H t^2

and the estimate for the whole table I + J y. Where groups hold different values, E, F, H and I are
0, G is 1 - a and J is 1.

Counts of one combination of several columns have the variance of their row weights here. `countveil
query` improves it with shrunk counts of each column, which no sum over rows can do.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.errors import QueryError
from countveil.maths.channel import ChannelView
from countveil.maths.estimate.methods import single_cells
from countveil.maths.estimate.totals import ALWAYS, NEVER, Tallies, Total
from countveil.sql.query import Question, TallyPlan
from countveil.sql.query.question import Aggregate

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

MOST_WEIGHTS = 100_000
MOST_BITS = 6


@dataclass(frozen=True)
class AggregateWeights:
    """One aggregate: `weights[kind, pattern, rest]`, and more for counts of single values.

    `single`: a count of one value, or set of values, in each cell; `complement`: of all others.
    `met[kind, pattern]`: whether rows of the pattern are asked about. `same[kind, rest]`: whether
    these published values are the ones counted. `coefficients[cell]`: A to J.
    """

    weights: Floats
    single: bool
    complement: bool
    met: NDArray[np.bool_]
    same: NDArray[np.bool_]
    coefficients: Floats | None


@dataclass(frozen=True)
class Missed:
    """Of columns together: what a row weighs less in every cell, by pattern, and a - b.

    `totals[aggregate][cell, pattern]`, and `both[measure]` for the products of ratios.
    """

    totals: Sequence[Floats]
    both: Sequence[Floats]
    gap: float


@dataclass(frozen=True)
class QuestionWeights:
    """The weights of all aggregates of a question.

    `kind_of[cell]` numbers the cells of the answer that count under the same conditions, -1 where
    there is none; `exists[kind, pattern]`: whether such a row shows that the group exists.
    `both[measure]`: the weights with which rows count for both totals of a ratio. `numbers[column]`
    has the number of every value; the columns that are only tested have `rest_sizes` different
    ones. `missed`: only for columns together, see `portable.together`.
    """

    bits: Sequence[int]
    cells: Sequence[tuple[int, ...]]
    kind_of: Sequence[int]
    exists: NDArray[np.bool_]
    rest_axes: Sequence[int]
    grouped_axes: Sequence[int]
    aggregates: dict[Aggregate, AggregateWeights]
    both: dict[int, Floats]
    numbers: Sequence[Numbers]
    rest_sizes: Sequence[int]
    missed: Missed | None = None


def question_weights(
    question: Question, plan: TallyPlan, views: Sequence[ChannelView]
) -> QuestionWeights:
    """All weights of a planned question."""
    _check_errors_known(plan, views)
    bits, truths = patterns_of(plan)
    shape = tuple(len(domain) for domain in plan.domains)
    _check_size(plan, shape, truths.shape[0])
    no_rows = np.zeros((1, 1, truths.shape[0], *shape))
    tallies = Tallies(truths, no_rows, np.zeros(0), views, plan.grouped)
    where, totals, kinds = kinds_of_cells(plan, tallies)
    return QuestionWeights(
        bits,
        list(np.ndindex(*tallies.cells)),
        kinds.number_of,
        np.array([any_holds(tallies, where.condition_of[cell]) for cell in kinds.first]),
        tallies.rest_axes,
        tallies.grouped_axes,
        {
            aggregate: _aggregate_weights(
                tallies, total, kinds.first, is_count=aggregate.argument is None
            )
            for aggregate, total in totals.items()
        },
        {
            number: _product_weights(totals[one], totals[two], kinds.first)
            for number, (one, two) in ratios(question).items()
        },
        [np.arange(size) for size in shape],
        [shape[axis] for axis in tallies.rest_axes],
    )


def ratios(question: Question) -> dict[int, tuple[Aggregate, Aggregate]]:
    """The measures, by number, that divide one aggregate by another."""
    return {
        number: (measure.numerator, measure.denominator)
        for number, measure in enumerate(question.measures)
        if measure.denominator is not None
    }


def averaged(question: Question, plan: TallyPlan) -> dict[int, int]:
    """The measures, by number, that are averages, and the argument that each averages."""
    places = {
        number: plan.averaged(question.measures[number])
        for number, (top, bottom) in ratios(question).items()
        if top.condition == bottom.condition
    }
    return {number: place for number, place in places.items() if place is not None}


def patterns_of(plan: TallyPlan) -> tuple[list[int], NDArray[np.bool_]]:
    """The conditions that rows may meet or not, and which hold in each pattern of them."""
    # The condition of WHERE holds in every row that is left.
    bits = [n for n, other in enumerate(plan.tally.conditions) if other != plan.tally.where]
    if len(bits) > MOST_BITS:
        raise QueryError(
            f"The query mixes plain and sensitive conditions in more than {MOST_BITS} ways, which "
            f"makes plain SQL too long. Ask several simpler queries."
        )
    patterns = list(itertools.product((False, True), repeat=len(bits)))
    truths = np.ones((len(patterns), len(plan.tally.conditions)), bool)
    for number, pattern in enumerate(patterns):
        truths[number, bits] = pattern
    return bits, truths


@dataclass(frozen=True)
class Kinds:
    """Cells that count under the same conditions: their kinds, and the first cell of each."""

    number_of: Sequence[int]
    first: Sequence[int]


def kinds_of_cells(
    plan: TallyPlan, tallies: Tallies
) -> tuple[Total, dict[Aggregate, Total], Kinds]:
    """The total of WHERE, those of all aggregates, and the kinds of cells."""
    where = Total(tallies, plan.where_of, None)
    totals = {
        aggregate: Total(tallies, entry.condition_of, None)
        for aggregate, entry in plan.aggregates.items()
    }
    conditions = [where.condition_of, *(total.condition_of for total in totals.values())]
    kinds, kind_of = np.unique(np.concatenate(conditions, axis=1), axis=0, return_inverse=True)
    possible = (where.condition_of != NEVER).any(axis=1) | (not any(plan.grouped))
    first = [int(np.flatnonzero(kind_of.reshape(-1) == k)[0]) for k in range(len(kinds))]
    number_of = [int(k) if p else -1 for k, p in zip(kind_of.reshape(-1), possible, strict=True)]
    return where, totals, Kinds(number_of, first)


def _product_weights(top: Total, bottom: Total, first: Sequence[int]) -> Floats:
    """The weights with which rows count for both totals of a ratio."""
    patterns = range(top.patterns)
    return np.stack(
        [
            np.stack([top.weights_of(top.counting(p, c) * bottom.counting(p, c)) for p in patterns])
            for c in first
        ]
    )


def _aggregate_weights(
    tallies: Tallies, total: Total, first: Sequence[int], *, is_count: bool
) -> AggregateWeights:
    single = single_cells(total) if is_count and tallies.views else None
    conditions = total.condition_of
    patterns, n_rest = tallies.truths.shape[0], conditions.shape[1]
    weights = np.stack(
        [np.stack([total.rest_weights(p, cell) for p in range(patterns)]) for cell in first]
    )
    met = np.array([any_holds(tallies, conditions[cell]) for cell in first])
    same = np.ones((len(first), n_rest), bool)
    coefficients = None
    if single is not None:
        same = np.arange(n_rest) == single.place[first][:, None] % n_rest
        if len(tallies.views) == 1:
            coefficients = variance_coefficients(tallies.views[0])[single.place]
    complement = single is not None and single.complement
    return AggregateWeights(weights, single is not None, complement, met, same, coefficients)


def variance_coefficients(view: ChannelView) -> Floats:
    """A to E, and those of the whole table, of every value; NaN where it is not identifiable.

    The variance is a quadratic form, and so known from its values at a few places.
    """
    far = float(max(view.rows, 4)) / 4
    at = np.zeros_like(view.published)

    def form(t: float, o: float) -> Floats:
        having, lacking = at + t * far, at + o * far
        return view.sum_variance((having, having), (lacking, lacking))

    with np.errstate(divide="ignore", invalid="ignore"):
        both = form(1, 1)
        t, o = (form(1, 0), form(2, 0)), (form(0, 1), form(0, 2))
        linear = [(4 * once - twice) / 2 / far for once, twice in (t, o)]
        square = [(twice - 2 * once) / 2 / far**2 for once, twice in (t, o)]
        # What rounding left of a term that is not there would only make the text longer.
        square[0] = np.where(np.abs(square[0]) * view.rows < 1e-9 * linear[0], 0.0, square[0])
        mixed = both / far**2 - sum(linear) / far - sum(square)
    # At a distance where persons have several rows: there it is not small for a few.
    step = 1.0 if view.design_effect == 1 else far
    none, half, all_ = (view.whole_variance(at + n * step) for n in (0.0, 0.5, 1.0))
    whole = [none, (4 * half - 3 * none - all_) / step, 2 * (none - 2 * half + all_) / step**2]
    shift = view.of_whole_table(at)
    counted = [shift, view.of_whole_table(at + 1) - shift]
    coefficients = np.stack([*linear, mixed, square[1], square[0], *whole, *counted], axis=1)
    coefficients[~view.identifiable] = np.nan
    return coefficients


def any_holds(tallies: Tallies, conditions: Numbers) -> NDArray[np.bool_]:
    """In which patterns a row could count for some value."""
    holds = np.zeros(tallies.truths.shape[0], bool)
    for condition in set(conditions.tolist()):
        holds |= tallies.holds(condition) if condition != ALWAYS else True
    return holds


def _check_errors_known(plan: TallyPlan, views: Sequence[ChannelView]) -> None:
    for name, view in zip(plan.tally.sensitive, views, strict=True):
        if not view.two_state_holds:
            raise QueryError(
                f"The groups of column {name!r} are such that the error of an estimate needs more "
                f"than sums over rows. 'countveil query' gives it."
            )
        if not view.informative.all():
            raise QueryError(
                f"Column {name!r} has a value so frequent that it cannot be separated from the "
                f"others, and the error that this causes needs more than sums over rows. "
                f"'countveil query' gives it."
            )


def _check_size(plan: TallyPlan, shape: tuple[int, ...], patterns: int) -> None:
    rest = np.prod([s for s, g in zip(shape, plan.grouped, strict=True) if not g], dtype=np.int64)
    grouped = [s for s, g in zip(shape, plan.grouped, strict=True) if g]
    cells = int(np.prod(grouped, dtype=np.int64))
    size = max(int(rest) * patterns, cells, *(s * s for s in grouped), 1)
    if size > MOST_WEIGHTS:
        raise QueryError(
            f"Plain SQL for this query would contain {size:,} weights; at most {MOST_WEIGHTS:,} "
            f"are written. Use fewer sensitive columns, or 'countveil query'."
        )
