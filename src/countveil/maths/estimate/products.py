"""Cells of several sensitive columns: the product of row weights, and its variance.

Enters: y[p, v1, v2, ...] = rows of predicate p that publish these values, the channels of the
columns, guesses of the counts of each column alone. Leaves: a `Likelihood` for every cell of true
values. Must not know: SQL. Theory: docs/theory/estimates.md, "Unbiased, several columns".

Every column has its groups and its draw, independent of those of the others. So given the true
values the weights are independent, and the product has the mean 1 in the cell and 0 elsewhere.

**Variance.** Sort the rows of P by which of the wanted values they truly have. A weight has the
second moment 1 + a (1 - a) / (a - b)^2 if the row has the value and b (1 - b) / (a - b)^2 if not;
the product of these, less the squared mean, is the variance of one row. Two things are shared by
rows: how many of them share a group with the value, and b, which is computed from the published
histogram. Both count only through the rows that have the values of all columns but one, since
elsewhere the other weights have the mean 0. Among these rows it is as if only that column were
asked about: the difference is that of its own variance (`channel.view`) to independent rows.

With one column this is the variance of `unbiased`. Everything is linear or quadratic in the count x
of the cell once the counts of the other combinations are guessed; for three columns and more the
guess of those that share two values or more is independence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView
from countveil.maths.channel.view import quadratic
from countveil.maths.estimate.estimates import Likelihood

Floats = NDArray[np.float64]


def product_likelihood(
    y: Floats, views: Sequence[ChannelView], margins: Sequence[Floats]
) -> Likelihood:
    """The cells of every predicate (first axis of y); `margins[k][p, v]` guess single columns."""
    estimate = y
    for axis, view in enumerate(views):
        estimate = view.undone(estimate, 1 + axis)
    n = _along(y.sum(axis=tuple(range(1, y.ndim))), 0, y.ndim)
    columns = [_Column(view, axis, y.ndim) for axis, view in enumerate(views)]
    alone = [
        _along(np.maximum(margin, 0.0), (0, 1 + axis), y.ndim)
        for axis, margin in enumerate(margins)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        coefficients = quadratic(lambda x: _variance(x, n, alone, columns), n + 0 * y)
        step = np.ones_like(y)
        for column in columns:
            step = step / np.abs(column.gap)
    return Likelihood(estimate, *coefficients, n + 0 * y, step)


class _Column:
    """The channel of one column, along its axis."""

    def __init__(self, view: ChannelView, axis: int, dimensions: int) -> None:
        # From the end: counts may have axes in front.
        self._view, self._axis = view, 1 + axis - dimensions
        self._a, self._b = (_along(array, 1 + axis, dimensions) for array in (view.a, view.b))
        self.gap, self.design_effect = self._a - self._b, view.design_effect

    def second_moment(self, has_it: bool) -> Floats:
        """Of the weight of a row whose true value it is, or is not."""
        chance = self._a if has_it else self._b
        return has_it + chance * (1 - chance) / self.gap**2

    def shared(self, x: Floats, lacking: Floats) -> Floats:
        """What rows share: the variance of this column alone, less that of independent rows."""
        counts = (np.moveaxis(array, self._axis, -1) for array in (x, x + lacking))
        variance = np.moveaxis(self._view.variance(*counts), -1, self._axis)
        single = x * self._a * (1 - self._a) + lacking * self._b * (1 - self._b)
        changed: Floats = variance - self.design_effect * single / self.gap**2
        return changed


def _variance(x: Floats, n: Floats, alone: list[Floats], columns: list[_Column]) -> Floats:
    # Rows of a case publish alike, and count for more than one.
    effect = max(column.design_effect for column in columns)
    total = -x * effect
    everything = frozenset(range(len(columns)))
    for having in _subsets(everything):
        moment = np.ones(1)
        for k, column in enumerate(columns):
            moment = moment * column.second_moment(k in having)
        rows = _exactly(having, x, n, alone)
        total = total + effect * rows * moment
        if len(having) == len(columns) - 1:
            (lacking,) = everything - having
            total = total + columns[lacking].shared(x, rows)
    return total


def _exactly(having: frozenset[int], x: Floats, n: Floats, alone: list[Floats]) -> Floats:
    """How many rows have the values of these columns and of no other, by inclusion-exclusion."""
    rest = frozenset(range(len(alone))) - having
    rows = np.zeros_like(x)
    for more in _subsets(rest):
        rows = rows + (-1) ** len(more) * _at_least(having | more, x, n, alone)
    return rows


def _at_least(having: frozenset[int], x: Floats, n: Floats, alone: list[Floats]) -> Floats:
    if len(having) == len(alone):
        return x
    rows = n
    for k in having:
        rows = rows * alone[k] / np.maximum(n, 1.0)
    return rows


def _subsets(of: frozenset[int]) -> list[frozenset[int]]:
    subsets = [frozenset[int]()]
    for k in sorted(of):
        subsets += [subset | {k} for subset in subsets]
    return subsets


def _along(array: Floats, axes: int | tuple[int, ...], dimensions: int) -> Floats:
    """The array with its axes at these places of a larger number of dimensions."""
    places = (axes,) if isinstance(axes, int) else axes
    shape = [1] * dimensions
    for place, size in zip(places, array.shape, strict=True):
        shape[place] = size
    return array.reshape(shape)
