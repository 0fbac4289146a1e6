"""Counts of sets of values of two columns that have a draw each: what rows share in both.

Enters: a count of rows with a value of one set in a column and of another set in the other column.
Leaves: its variance by group, or None where rows by themselves have to do. Must not know: SQL.
Theory: docs/theory/covariance.md.

The draws are independent. Given what the second column publishes, the count is a total of the first
column in which every row counts with the weight of what it publishes in the second; that has the
variance of totals of one column. What is left is the variance, over the second draw, of the mean
over the first one: a count in the second column, of the rows whose first value is in its set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.case_view import CaseView
from countveil.maths.channel.noised_view import NoisedView
from countveil.maths.estimate.covariances.draw import SharedDraw, knows_covariance

if TYPE_CHECKING:
    from countveil.maths.channel import ChannelView
    from countveil.maths.estimate.totals import Tallies, Total

Floats = NDArray[np.float64]
Set = NDArray[np.bool_]


def variance_apart(total: Total) -> Floats | None:
    """Of a count by group; None if it is none of two sets, or a draw is not known well enough."""
    tallies = total.tallies
    sets = _two_sets(total)
    if sets is None or not all(map(_is_known, tallies.views)):
        return None
    (one, two), (first, second) = sets, tallies.views
    published = np.asarray(tallies.moments[0][:, 0])
    weights = [_weights(tallies, axis, values) for axis, values in enumerate(sets)]
    given = _Weighted(published @ weights[1], published @ weights[1] ** 2)
    draw = SharedDraw(first, given.moment)
    variance = draw.variance(draw.influence(_line(one), _line(weights[0]), 0))
    turned = np.swapaxes(published, 1, 2)
    mean = _Weighted(turned @ weights[0], turned @ weights[0] ** 2)
    having = SharedDraw(second, mean.moment).true_sums(0)
    draw = SharedDraw(second, mean.moment, having)
    rest: Floats = draw.variance(draw.influence(_line(two), _line(weights[1]), None))
    return (variance + rest)[:, None]


class _Weighted:
    """The sums of weights and of their squares, by group and published value."""

    def __init__(self, sums: Floats, squares: Floats) -> None:
        self._sums, self._squares = sums[:, None], squares[:, None]

    def moment(self, one: int | None, two: int | None) -> Floats:
        return self._sums if one is None or two is None else self._squares


def _two_sets(total: Total) -> tuple[Set, Set] | None:
    """The sets, if all that counts is to be in both of them, or not to be."""
    tallies = total.tallies
    if len(tallies.views) != 2 or tallies.blocks is not None or tallies.in_batches:
        return None
    alone = total.patterns == 1 and total.condition_of.shape[0] == 1
    if not alone or tallies.grouped_axes or total.argument is not None or total.values is not None:
        return None
    counting = total.counting(0, 0).reshape(tallies.moments.shape[3:]) > 0
    # The rows that are not in both: all rows less those that are.
    for inside in (counting, ~counting):
        one, two = np.asarray(inside.any(axis=1)), np.asarray(inside.any(axis=0))
        if np.array_equal(inside, np.outer(one, two)):
            return one, two
    return None


def _is_known(view: ChannelView) -> bool:
    return knows_covariance(view) and not isinstance(view, CaseView | NoisedView)


def _weights(tallies: Tallies, axis: int, values: Set) -> Floats:
    """By published value; all true values together have the weight 1."""
    common = bool(values.mean() > 0.5)
    matrix = tallies.weights[axis]
    inside: Floats = matrix[values != common].sum(axis=0)
    return 1 - inside if common else inside


def _line(numbers: NDArray[np.bool_] | Floats) -> Floats:
    """Of one total and one kind of row."""
    return np.asarray(numbers, np.float64)[None, None]
