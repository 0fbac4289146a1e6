"""The row weights in a plain SQL answer about columns that were published together.

Enters: a plan and the channels. Leaves: `QuestionWeights`. Must not know: SQL. Theory:
docs/theory/channel.md, "Columns together".

Every cell of the answer counts a set S of combinations. A row that publishes u has the weight

    ([u in S] - b_S) / (a - b)

so a row has, in every cell, a number that says whether it is in the set, less one number of the
cell: `missed`, the sum of b over the set. Where all rows are counted under one condition, the
variance is that of one value of a column with random groups, with the share of the set.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from countveil.asking.answer import Channels
from countveil.asking.portable.weights import (
    MOST_WEIGHTS,
    AggregateWeights,
    Missed,
    QuestionWeights,
    any_holds,
    kinds_of_cells,
    patterns_of,
    ratios,
    variance_coefficients,
)
from countveil.errors import QueryError
from countveil.maths.channel import ChannelView
from countveil.maths.channel.skewed_views import RandomView
from countveil.maths.estimate.totals import NEVER, Tallies, Total
from countveil.sql.query import Question, TallyPlan

Floats = NDArray[np.float64]


def together_weights(
    question: Question, plan: TallyPlan, channels: Channels
) -> tuple[QuestionWeights, Sequence[ChannelView]]:
    """All weights of a planned question, and the one channel that it is about."""
    if len(channels.joined) > 1 or len(channels.joined[0].axes) < len(channels.views):
        raise QueryError(
            "Plain SQL about columns that were published together cannot also ask about a "
            "sensitive column that was not published with them. 'countveil query' answers it."
        )
    bits, truths = patterns_of(plan)
    axes, view = plan.tally.axes, channels.joined[0].view
    numbers = _numbers(plan)
    _check_size([axis.size for axis in axes], truths.shape[0])
    no_rows = np.zeros((1, 1, truths.shape[0], *(axis.size for axis in axes)))
    tallies = Tallies(
        truths, no_rows, np.zeros(0), channels.views, plan.grouped, joined=channels.joined
    )
    where, totals, kinds = kinds_of_cells(plan, tallies)
    b, published = (_by_cell(tallies, array) for array in (view.b, view.published))
    pairs = {n: (totals[one], totals[two]) for n, (one, two) in ratios(question).items()}

    def of_sets(total: Total) -> RandomView:
        shares = (published * (total.condition_of != NEVER)).sum(axis=1)
        return RandomView(view.rows, view.keep, shares, None, two_state_holds=True)

    weights = QuestionWeights(
        bits,
        _cells(plan),
        kinds.number_of,
        np.array([any_holds(tallies, where.condition_of[cell]) for cell in kinds.first]),
        _columns(plan, grouped=False),
        _columns(plan, grouped=True),
        {
            aggregate: _aggregate(
                tallies, total, kinds.first, of_sets(total) if aggregate.argument is None else None
            )
            for aggregate, total in totals.items()
        },
        {number: _counting_for_both(*pair, kinds.first) for number, pair in pairs.items()},
        numbers,
        [int(numbers[column].max()) + 1 for column in _columns(plan, grouped=False)],
        Missed(
            [_missed(total, total, b) for total in totals.values()],
            [_missed(*pair, b) for pair in pairs.values()],
            float(view.gap[0]),
        ),
    )
    return weights, [view]


def _by_cell(tallies: Tallies, array: Floats) -> Floats:
    """What belongs to every combination, by cell of the answer and values that are only tested."""
    blocks = tallies.blocks
    assert blocks is not None  # noqa: S101 - there are columns together
    by_cell: Floats = tallies.by_cell(blocks.back(array[None]))[0]
    return by_cell


def _columns(plan: TallyPlan, *, grouped: bool) -> list[int]:
    """The numbers of the columns that are grouped by, or only tested."""
    axes = (axis for axis in plan.tally.axes if axis.grouped == grouped)
    return [column for axis in axes for column in axis.columns]


def _cells(plan: TallyPlan) -> list[tuple[int, ...]]:
    """The cells of the answer, by the places of their values in every column grouped by."""
    places = [
        axis.of_column(column).tolist()
        for axis in plan.tally.axes
        if axis.grouped
        for column in axis.columns
    ]
    return list(zip(*places, strict=True)) if places else [()]


def _numbers(plan: TallyPlan) -> list[NDArray[np.int64]]:
    """The number of every value of each column: its class, if the column is only tested."""
    numbers = [np.arange(len(domain)) for domain in plan.domains]
    for axis in plan.tally.axes:
        for column, classes in zip(axis.columns, axis.classes, strict=True):
            numbers[column] = classes
    return numbers


def _counting(total: Total, cell: int) -> Floats:
    """By pattern: whether each combination of the columns that are only tested counts."""
    return np.stack([total.counting(pattern, cell) for pattern in range(total.patterns)])


def _counting_for_both(one: Total, two: Total, first: Sequence[int]) -> Floats:
    """By kind of cell and pattern: whether combinations count for both totals of a ratio."""
    return np.stack([_counting(one, cell) * _counting(two, cell) for cell in first])


def _missed(one: Total, two: Total, b: Floats) -> Floats:
    """By cell and pattern: the sum of b over the set that counts for both totals."""
    missed = np.zeros((b.shape[0], one.patterns))
    for cells, cell in one.kinds(two):
        both = _counting(one, cell) * _counting(two, cell)
        missed[cells] = b[cells] @ both.T
    return missed


def _aggregate(
    tallies: Tallies, total: Total, first: Sequence[int], sets: RandomView | None
) -> AggregateWeights:
    """`sets`: the set of each cell as a value of one column, for counts."""
    conditions = total.condition_of
    counted = conditions != NEVER
    condition_of = conditions.max(axis=1, initial=NEVER)
    one_each = not (counted & (conditions != condition_of[:, None])).any()
    coefficients = variance_coefficients(sets) if sets is not None and one_each else None
    return AggregateWeights(
        np.stack([_counting(total, cell) for cell in first]),
        single=False,
        complement=False,
        met=np.array([any_holds(tallies, conditions[cell]) for cell in first]),
        same=counted[list(first)],
        coefficients=coefficients,
    )


def _check_size(sizes: Sequence[int], patterns: int) -> None:
    size = max(sizes, default=1) * patterns
    if size > MOST_WEIGHTS:
        raise QueryError(
            f"Plain SQL for this query would contain {size:,} weights; at most {MOST_WEIGHTS:,} "
            f"are written. Use fewer sensitive columns, or 'countveil query'."
        )
