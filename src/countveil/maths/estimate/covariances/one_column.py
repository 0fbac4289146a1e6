"""Totals over any values of one sensitive column: variances that know what rows share.

Enters: totals of one column and their tallies. Leaves: variances and covariances by group and cell,
and the likelihood of counts of sets of values. Must not know: SQL. Theory:
docs/theory/covariance.md.

**Likelihood.** A set of values is counted like a single value: its interval holds every true count
t that is within z standard errors, with the variance that the estimate has at t. There, t rows are
spread over the values of the set as the estimates of these values are, and the other rows over the
other values. Near the estimate the variance is a quadratic in t.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from countveil.maths.estimate.covariances.draw import (
    Moments,
    SharedDraw,
    knows_covariance,
)
from countveil.maths.estimate.estimates import Likelihood

if TYPE_CHECKING:
    from countveil.maths.estimate.totals import Tallies, Total

Floats = NDArray[np.float64]

# Beyond so many multiplications, errors are those of rows by themselves: safe, if large.
_MOST_WORK = 4e9
# How many numbers are held at once, by total, kind of row and value.
_AT_ONCE = 4e6


def shares_a_draw(tallies: Tallies) -> bool:
    """Whether totals of these tallies are about one column whose draw is known well enough."""
    if len(tallies.views) != 1 or tallies.blocks is not None or tallies.in_batches:
        return False
    values = tallies.moments.shape[-1]
    cells = int(np.prod(tallies.cells, dtype=np.int64))
    work = float(values) ** 2 * tallies.n_groups * cells * tallies.truths.shape[0]
    return knows_covariance(tallies.views[0]) and work <= _MOST_WORK


def covariance_of(one: Total, two: Total, moment: int) -> Floats:
    """Of two totals in the same cell, by group and cell; `moment` sums both arguments' product."""
    tallies = one.tallies
    totals = (one,) if one is two else (one, two)
    result = np.zeros((tallies.n_groups, one.condition_of.shape[0]))
    arrays = [(*arrays_of(total), total.argument) for total in totals]
    for groups, moments in _predicates(one, moment):
        draw = SharedDraw(tallies.views[0], moments)
        each = [draw.influence(*array) for array in arrays]
        covariance = draw.covariance(each[0], each[-1], paired=True)
        result[groups] = covariance.reshape(result[groups].shape)
    for _, weights, _ in arrays:
        result[:, _exact(weights)] = 0.0
    return result


def pair_covariance(one: Total, two: Total, moment: int) -> tuple[Floats, Floats, Floats]:
    """The variance of one, the covariance, the variance of the other, in the same cells."""
    tallies = one.tallies
    result = np.zeros((3, tallies.n_groups, one.condition_of.shape[0]))
    arrays = [(*arrays_of(total), total.argument) for total in (one, two)]
    for groups, moments in _predicates(one, moment):
        draw = SharedDraw(tallies.views[0], moments)
        first, second = (draw.influence(*array) for array in arrays)
        shape = result[0, groups].shape
        for place, pair in enumerate(((first, first), (first, second), (second, second))):
            result[place, groups] = draw.covariance(*pair, paired=True).reshape(shape)
    for (_, weights, _), places in zip(arrays, ((0, 1), (1, 2)), strict=True):
        for place in places:
            result[place][:, _exact(weights)] = 0.0
    return np.maximum(result[0], 0.0), result[1], np.maximum(result[2], 0.0)


Labels = NDArray[np.int64]


def over_groups(
    one: tuple[Total, Labels | None], two: tuple[Total, Labels | None], moment: int
) -> Floats:
    """Like `covariance_of`, of totals that may be summed over all groups and cells with a label."""
    tallies = one[0].tallies
    shape = (tallies.n_groups, one[0].condition_of.shape[0])
    draw = SharedDraw(tallies.views[0], _of_all_groups(tallies, moment))
    result = np.zeros(shape)
    step = max(1, int(_AT_ONCE // max(tallies.moments[0].size, 1)))
    places = np.arange(result.size)
    for start in range(0, result.size, step):
        chosen = places[start : start + step]
        influences = [
            draw.influence(*_placed(total, labels, chosen, shape), total.argument)
            for total, labels in (one, two)
        ]
        result.flat[chosen] = draw.covariance(*influences, paired=True)
    return result


def cell_covariance(total: Total) -> Floats:
    """The covariance of all cells of all groups with each other, in their order."""
    tallies = total.tallies
    shape = (tallies.n_groups, total.condition_of.shape[0])
    draw = SharedDraw(tallies.views[0], _of_all_groups(tallies, 0))
    chosen = np.arange(shape[0] * shape[1])
    one = draw.influence(*_placed(total, None, chosen, shape), total.argument)
    return draw.covariance(one, one)


def _of_all_groups(tallies: Tallies, moment: int) -> Moments:
    """Moments with the patterns of all groups as kinds of rows."""
    by_group = moments_of(tallies, slice(None), moment)

    def of(one: int | None, two: int | None) -> Floats:
        moments = by_group(one, two)
        return moments.reshape(1, -1, moments.shape[-1])

    return of


def _placed(
    total: Total, labels: Labels | None, chosen: Labels, shape: tuple[int, int]
) -> tuple[Floats, Floats]:
    """How true values count, and what published ones weigh, by kind of row of all groups."""
    arrays = arrays_of(total)
    patterns, values = arrays[0].shape[1:]
    placed = [np.zeros((chosen.size, shape[0], patterns, values)) for _ in arrays]
    for number, place in enumerate(chosen.tolist()):
        if labels is None:
            group, cell = divmod(place, shape[1])
            for array, by_cell in zip(placed, arrays, strict=True):
                array[number, group] = by_cell[cell]
            continue
        same = labels == labels.flat[place]
        for array, by_cell in zip(placed, arrays, strict=True):
            array[number] = np.tensordot(same.astype(np.float64), by_cell, (1, 0))
    counting, weights = (array.reshape(chosen.size, -1, values) for array in placed)
    return counting, weights


def _exact(weights: Floats) -> NDArray[np.bool_]:
    """Which cells count with every value alike: they are known exactly, and without rounding."""
    exact: NDArray[np.bool_] = np.all(np.ptp(weights, axis=2) == 0, axis=1)
    return exact


def set_likelihood(total: Total) -> Likelihood:
    """Of counts of sets of values, by group and cell."""
    tallies, estimate, size = total.tallies, total.estimate, total.rows
    at_estimate = np.clip(np.nan_to_num(estimate), np.minimum(size, 1.0), size)
    error = np.sqrt(_variances(total, at_estimate[None])[0])
    # Where the interval ends, about; further away the rows supposed would not fit the table.
    centre = np.clip(np.nan_to_num(estimate), 0.0, size)
    low = np.maximum(centre - np.maximum(2 * error, 1.0), 0.0)
    high = np.minimum(centre + np.maximum(2 * error, 1.0), size)
    ends = np.stack([low, (low + high) / 2, high])
    coefficients = _through(ends, _variances(total, ends))
    step = np.broadcast_to(1 / np.abs(tallies.views[0].gap).min(initial=1.0), estimate.shape)
    return Likelihood(estimate, *coefficients, size, step).widened(total.misfit)


def _through(at: Floats, values: Floats) -> tuple[Floats, Floats, Floats]:
    """The quadratic with these values at a first place, a last one and half way."""
    low, half, high = values
    width = np.maximum(at[2] - at[0], 1e-9)
    square = 2 * (low - 2 * half + high) / width**2
    linear = (high - low) / width - square * (at[0] + at[2])
    return low - at[0] * (linear + at[0] * square), linear, square


def _variances(total: Total, counts: Floats) -> Floats:
    """Of the estimate, if these are the true counts: by supposition, group and cell."""
    view = total.tallies.views[0]
    variances = np.zeros(counts.shape)
    counting, weights = arrays_of(total)
    met = np.stack([_met(total, cell) for cell in range(counting.shape[0])])
    for groups, moments in _predicates(total, 0):
        true = SharedDraw(view, moments).true_sums(None)
        inside, outside = _spread(true, counting, met, view.shares)
        for number, supposed in enumerate(counts):
            having = supposed[groups].reshape(-1, 1, 1)
            lacking = total.rows[groups].reshape(-1, 1, 1) - having
            elsewhere = true * ~met[..., None]
            draw = SharedDraw(view, moments, having * inside + lacking * outside + elsewhere)
            variances[number][groups] = draw.variance(
                draw.influence(counting, weights, None)
            ).reshape(variances[number][groups].shape)
    variances[..., _exact(weights)] = 0.0
    return variances


def _spread(
    true: Floats, counting: Floats, met: NDArray[np.bool_], shares: Floats
) -> tuple[Floats, Floats]:
    """How rows that count, and rows that do not, are spread over kinds and values: sums are 1."""
    rows = np.maximum(true.sum(axis=-1, keepdims=True), 0.0)
    # Estimates may be negative; a little of what is expected keeps every value possible.
    likely = np.maximum(true, 0.0) + 0.05 * rows * shares + 1e-12
    spreads = []
    for chosen in (counting, 1 - counting):
        part = likely * chosen * met[..., None]
        spreads.append(part / np.maximum(part.sum(axis=(1, 2), keepdims=True), 1e-300))
    return spreads[0], spreads[1]


def _met(total: Total, cell: int) -> NDArray[np.bool_]:
    """In which patterns a row could count for the cell."""
    conditions = set(total.condition_of[cell].tolist())
    met: NDArray[np.bool_] = np.any([total.tallies.holds(c) for c in conditions], axis=0)
    return met


def arrays_of(total: Total) -> tuple[Floats, Floats]:
    """By cell, pattern and value: how true values count, and the weight of published ones."""
    tallies = total.tallies
    cells, patterns = range(total.condition_of.shape[0]), range(total.patterns)
    values = tallies.moments.shape[-1]
    counting = np.zeros((len(cells), total.patterns, values))
    weights = np.zeros_like(counting)
    for same, cell in total.kinds():
        line = np.stack([total.counting(pattern, cell) for pattern in patterns])
        if tallies.grouped_axes:
            # Every cell is a value.
            for value in np.flatnonzero(same).tolist():
                counting[value, :, value] = line[:, 0]
                weights[value] = line * tallies.weights[0][value]
        else:
            counting[same] = line
            weights[same] = np.stack([total.rest_weights(pattern, cell) for pattern in patterns])
    return counting, weights


def moments_of(tallies: Tallies, groups: slice, moment: int) -> Moments:
    """The sums of products of two arguments, by group, pattern and value."""

    def of(first: int | None, second: int | None) -> Floats:
        known = [argument for argument in (first, second) if argument is not None]
        number = 0
        if len(known) == 1:
            number = 1 + 2 * known[0]
        elif known and known[0] == known[1]:
            number = 2 + 2 * known[0]
        elif known:
            number = moment
        return np.asarray(tallies.moments[number][groups])

    return of


def _predicates(total: Total, moment: int) -> Iterator[tuple[slice, Moments]]:
    """Groups that are estimated at once: all with one cell each, or one with all its cells."""
    tallies = total.tallies
    step = tallies.n_groups if total.condition_of.shape[0] == 1 else 1
    for start in range(0, tallies.n_groups, step):
        groups = slice(start, start + step)
        yield groups, moments_of(tallies, groups, moment)
