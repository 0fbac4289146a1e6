"""The numbers that stand in a plain SQL answer.

Enters: a plan and the channels. Leaves: for every pattern of conditions and every published
combination of values, the weight of a row; for counts of single values, what their variance is made
of. Must not know: SQL.

The weights are those of `estimate.aggregates`, the variance of a count of one value that of
`estimate.unbiased`: with t rows that have the value and o that have not,

    Var = A t + o (B + C t + D o)

Counts of one combination of several columns have the variance of their row weights here. Our own
answer sharpens it by calmed counts of each column, which no sum over rows can.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.errors import QueryError
from countveil.maths.channel import ChannelView
from countveil.maths.channel.conditions import ALWAYS, NEVER
from countveil.maths.estimate import Tallies, Total
from countveil.maths.estimate.single import SingleCells, single_cells
from countveil.sql.query import Plan
from countveil.sql.query.question import Aggregate

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

MOST_WEIGHTS = 100_000
MOST_BITS = 6


@dataclass(frozen=True)
class Weighed:
    """One aggregate: `weights[kind, pattern, rest]`, and what is known of counts of single values.

    `met[kind, pattern]`: whether rows of the pattern are asked about. `own[kind, rest]`: whether
    these published values are the ones counted. `parts[cell]`: A, B, C and D.
    """

    weights: Floats
    single: SingleCells | None
    met: NDArray[np.bool_]
    own: NDArray[np.bool_]
    parts: Floats | None


@dataclass(frozen=True)
class QuestionNumbers:
    """Everything about a question.

    `kind_of[cell]` numbers the cells of the answer that count under the same conditions, -1 where
    there is none; `shown[kind, pattern]` says which rows show that a group exists.
    """

    bits: Sequence[int]
    cells: Sequence[tuple[int, ...]]
    kind_of: Sequence[int]
    shown: NDArray[np.bool_]
    rest_axes: Sequence[int]
    grouped_axes: Sequence[int]
    aggregates: dict[Aggregate, Weighed]


def weigh(plan: Plan, views: Sequence[ChannelView]) -> QuestionNumbers:
    """Find all numbers of a planned question."""
    _check_errors_known(plan, views)
    # The condition by which rows are chosen holds in every row that is left.
    bits = [n for n, found in enumerate(plan.tally.conditions) if found != plan.tally.where]
    if len(bits) > MOST_BITS:
        raise QueryError(
            f"The query mixes plain and sensitive conditions in more than {MOST_BITS} ways, which "
            f"makes plain SQL too long. Ask several simpler queries."
        )
    patterns = list(itertools.product((False, True), repeat=len(bits)))
    truths = np.ones((len(patterns), len(plan.tally.conditions)), bool)
    for number, pattern in enumerate(patterns):
        truths[number, bits] = pattern
    shape = tuple(len(domain) for domain in plan.domains)
    _check_size(plan, shape, len(patterns))
    nothing = np.zeros((1, 1, len(patterns), *shape))
    tallies = Tallies(truths, nothing, np.zeros(0), views, plan.grouped)
    where = Total(tallies, plan.where_of, None)
    totals = {
        aggregate: Total(tallies, entry.condition_of, None)
        for aggregate, entry in plan.aggregates.items()
    }
    told = [where.condition_of, *(total.condition_of for total in totals.values())]
    together, kind_of = np.unique(np.concatenate(told, axis=1), axis=0, return_inverse=True)
    possible = (where.condition_of != NEVER).any(axis=1) | (not any(plan.grouped))
    first = [int(np.flatnonzero(kind_of.reshape(-1) == k)[0]) for k in range(len(together))]
    shown = np.array([_any_holds(tallies, where.condition_of[cell]) for cell in first])
    return QuestionNumbers(
        bits,
        list(np.ndindex(*tallies.cells)),
        [int(k) if p else -1 for k, p in zip(kind_of.reshape(-1), possible, strict=True)],
        shown,
        tallies.rest_axes,
        tallies.grouped_axes,
        {
            aggregate: _weighed(tallies, total, first, is_count=aggregate.argument is None)
            for aggregate, total in totals.items()
        },
    )


def _weighed(tallies: Tallies, total: Total, first: Sequence[int], *, is_count: bool) -> Weighed:
    single = single_cells(total) if is_count and tallies.views else None
    conditions = total.condition_of
    patterns, n_rest = tallies.truths.shape[0], conditions.shape[1]
    weights = np.stack(
        [
            np.stack([total.rest_weights(p, conditions[cell]) for p in range(patterns)])
            for cell in first
        ]
    )
    met = np.array([_any_holds(tallies, conditions[cell]) for cell in first])
    own = np.ones((len(first), n_rest), bool)
    parts = None
    if single is not None:
        own = np.arange(n_rest) == single.place[first][:, None] % n_rest
        if len(tallies.views) == 1:
            parts = variance_parts(tallies.views[0])[single.place]
    return Weighed(weights, single, met, own, parts)


def variance_parts(view: ChannelView) -> Floats:
    """A, B, C and D of every value of a column; NaN where it cannot be separated."""
    f, rows, a = view.published, float(view.rows), view.keep
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = (rows * a - f) / (rows - f)
        shared = np.minimum(f * (1 - a) / ((rows - f) * a), 1.0)
        slope = (1 - a) * rows / (rows - f) ** 2
        drawn, grouped = a * (1 - a), a**2 * shared * (1 - shared)
        parts = np.stack(
            [
                drawn + 0 * f,
                drawn * shared + grouped,
                -2 * slope * drawn,
                drawn * (slope**2 * f / a - 2 * slope * shared) - grouped / (rows - f),
            ],
            axis=1,
        )
        parts = parts / gap[:, None] ** 2
    parts[~view.separable] = np.nan
    found: Floats = parts
    return found


def _any_holds(tallies: Tallies, conditions: Numbers) -> NDArray[np.bool_]:
    """In which patterns a row could count for some value."""
    found = np.zeros(tallies.truths.shape[0], bool)
    for condition in set(conditions.tolist()):
        found |= tallies.holds(condition) if condition != ALWAYS else True
    return found


def _check_errors_known(plan: Plan, views: Sequence[ChannelView]) -> None:
    for name, view in zip(plan.tally.sensitive, views, strict=True):
        if not view.two_state_holds:
            raise QueryError(
                f"The groups of column {name!r} are such that the error of an estimate needs more "
                f"than sums over rows. 'countveil query' gives it."
            )
        if not view.told.all():
            raise QueryError(
                f"Column {name!r} has a value so frequent that nobody can separate it, and the "
                f"error that this brings needs more than sums over rows. 'countveil query' gives "
                f"it."
            )


def _check_size(plan: Plan, shape: tuple[int, ...], patterns: int) -> None:
    rest = np.prod([s for s, g in zip(shape, plan.grouped, strict=True) if not g], dtype=np.int64)
    grouped = [s for s, g in zip(shape, plan.grouped, strict=True) if g]
    cells = int(np.prod(grouped, dtype=np.int64))
    size = max(int(rest) * patterns, cells, *(s * s for s in grouped), 1)
    if size > MOST_WEIGHTS:
        raise QueryError(
            f"Plain SQL for this query would hold {size:,} weights; at most {MOST_WEIGHTS:,} are "
            f"written. Use fewer sensitive columns, or 'countveil query'."
        )
