"""Counts and sums of rows that were drawn in batches, each with a channel of its own.

Enters: y[batch, predicate, *values] = rows of each batch that publish these values; the views of
every column, by batch. Leaves: one `Likelihood` for all batches together, and shrunk estimates.
Must not know: SQL, which rows left or came. Theory: docs/theory/cases.md, "Batches".

**Likelihood.** Batches are drawn independently. So unbiased estimates add up, and so do their
variances, each at the count that the batch has. A true count t of all batches is split over them in
proportion to what is expected, the rows of P in the batch times the share of the value there. That
keeps the variance a quadratic in t, and the intervals of `estimates`.

**Shrunk.** All batches together are shrunk once, towards the sum of what is expected. Shrinking
each by itself would lose what they have in common. The last step of EM goes through the channel of
every batch.

**What one batch cannot tell.** In a small batch a value may be too near N/ell to be told apart.
There the expected count is taken, and its possible error (`unknown_spread`) enters the interval.
Where most of a count would be such a guess, it is not identifiable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.batch_views import BatchViews
from countveil.maths.channel.skewed_views import JointView
from countveil.maths.estimate.estimates import Likelihood
from countveil.maths.estimate.products import product_likelihood
from countveil.maths.estimate.shrunk import (
    CombinedColumn,
    adding_up,
    beside_frequent,
    by_margins,
    margin,
    shrink,
)
from countveil.maths.estimate.sums import PublishedSums, departures, drawn_to_zero, sum_likelihood
from countveil.maths.estimate.unbiased import misfits, unbiased_likelihood

Floats = NDArray[np.float64]

# By how much a count departs from what is expected, relative to it, where nothing shows it; and
# which part of a count may be expected only.
_DEPARTURE, _MOST_EXPECTED = 0.3, 0.5


def pooled_likelihood(y: Floats, columns: Sequence[BatchViews]) -> tuple[Likelihood, Floats]:
    """The likelihood of all cells of every predicate, and the counts expected in them."""
    if len(columns) > 1:
        return _several_columns(y, columns)
    (views,) = columns
    centre = np.tensordot(y.sum(axis=2), views.shares, (0, 0))
    if isinstance(views.views[0], JointView):
        return _one_by_one(y, views), _of_combinations(y, centre, views)
    likelihood = (_side_by_side if views.side_by_side else _one_by_one)(y, views)
    return likelihood, beside_frequent(likelihood, centre, y.sum(axis=(0, 2))[:, None])


def pooled_shrunk(
    likelihood: Likelihood, centre: Floats, y: Floats, columns: Sequence[BatchViews]
) -> Floats:
    """Shrunk estimates of all batches together."""
    cells = tuple(range(2, y.ndim))
    n = y.sum(axis=(0, *cells)).reshape(-1, *(1 for _ in cells))
    joint = len(columns) == 1 and isinstance(columns[0].views[0], JointView)
    means = adding_up(shrink(likelihood, centre, by_size=joint), n, likelihood)
    if len(columns) > 1:
        return _consistent(means, y, columns)
    (views,) = columns
    consistent = means
    if not joint:
        one = _consistent_side_by_side if views.side_by_side else _consistent
        consistent = one(means, y, columns)
    # The published histogram is the best estimate of whole batches.
    here = y.sum(axis=2)
    exact = here == views.rows[:, None]
    whole = ((here == 0) | exact).all(axis=0)
    if whole.any():
        consistent[whole] = 0.0
        for view, counts, known in zip(views.views, y, exact & whole, strict=True):
            if known.any():
                consistent[known] += np.maximum(view.of_whole_table(counts[known]), 0.0)
    return consistent


def shrunk_in_batches(y: Floats, columns: Sequence[BatchViews]) -> Floats:
    """Both steps at once."""
    return pooled_shrunk(*pooled_likelihood(y, columns), y, columns)


def unknown_spread(estimate: Floats, expected: Floats, unknown: Floats) -> Floats:
    """The possible error of a count of which `unknown` is only expected; NaN if that is too much.

    That part is taken to depart from what is expected as far as the rest does, or as usual.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (estimate - unknown) / (expected - unknown)
        departure = np.maximum(np.abs(np.clip(ratio, 0.0, 4.0) - 1), _DEPARTURE)
        spread = np.where(unknown > 0, departure * unknown, 0.0)
    return np.where(unknown > _MOST_EXPECTED * expected, np.nan, spread)


def added(parts: Iterable[tuple[Likelihood, Floats]], shape: tuple[int, ...]) -> Likelihood:
    """One likelihood for batches, of each its likelihood and what is expected (never 0) there."""
    sums = np.zeros((7, *shape))
    estimate, constant, linear, square, size, step, unknown = sums
    expected = np.zeros(shape)
    for likelihood, here in parts:
        known = np.isfinite(likelihood.estimate)
        estimate += np.where(known, likelihood.estimate, here)
        constant += np.where(known, likelihood.constant, 0.0)
        linear += np.where(known, likelihood.linear * here, 0.0)
        square += np.where(known, likelihood.square * here**2, 0.0)
        size += likelihood.size
        step += likelihood.size * np.where(known, likelihood.step, 1.0)
        unknown += np.where(known, 0.0, here)
        expected += here
    return _likelihood((estimate, constant, linear, square, size, step), expected, unknown)


def _likelihood(sums: Sequence[Floats], expected: Floats, unknown: Floats) -> Likelihood:
    """From sums over batches: linear ones times what is expected, squared ones times its square."""
    estimate, constant, linear, square, size, step = sums
    divisor = np.where(expected > 0, expected, 1.0)
    spread = unknown_spread(estimate, expected, unknown)
    return Likelihood(
        np.where(np.isnan(spread), np.nan, estimate),
        constant,
        linear / divisor,
        square / divisor**2,
        size,
        step / np.where(size > 0, size, 1.0),
    ).widened(np.nan_to_num(spread))


def _side_by_side(y: Floats, views: BatchViews) -> Likelihood:
    """One column, all batches at once."""
    n = y.sum(axis=2)
    exact = (n == views.rows[:, None]) & (n > 0)
    some, whole = np.where(exact, 0.0, n), np.where(exact, n, 0.0)
    shares, predicates = views.expected, y.shape[1]
    drawn = np.where(exact[:, :, None], 0.0, y) if exact.any() else y
    estimate = np.moveaxis(drawn, 1, 0).reshape(predicates, -1) @ views.weights
    by_x, by_n, by_xx, by_xn, by_nn = views.coefficients
    constant = some.T @ by_n + (some**2).T @ by_nn
    linear = some.T @ (shares * by_x) + (some**2).T @ (shares * by_xn)
    square = (some**2).T @ (shares**2 * by_xx)
    if exact.any():
        for number in np.flatnonzero(exact.any(axis=1)).tolist():
            here = exact[number]
            estimate[here] += views.views[number].of_whole_table(y[number, here])
        fixed, by_x, by_xx = views.whole_coefficients
        constant += exact.astype(np.float64).T @ fixed
        linear += whole.T @ (shares * by_x)
        square += (whole**2).T @ (shares**2 * by_xx)
    size = n.sum(axis=0)[:, None] + np.zeros_like(estimate)
    step = some.T @ views.steps + whole.sum(axis=0)[:, None]
    expected, unknown = n.T @ shares, np.zeros_like(estimate)
    if not views.identifiable.all():
        unknown = some.T @ np.where(views.identifiable, 0.0, shares)
    spread = np.zeros_like(estimate)
    for number in views.unclear:
        misfit = np.hypot(*misfits(y[number], n[number][:, None], views.views[number]))
        spread += np.where(some[number][:, None] > 0, misfit, 0.0)
    pooled = _likelihood((estimate, constant, linear, square, size, step), expected, unknown)
    return pooled.widened(spread)


def _one_by_one(y: Floats, views: BatchViews) -> Likelihood:
    """One column, one batch after the other."""
    n = y.sum(axis=2)
    parts = (
        (
            unbiased_likelihood(y[number], n[number], view),
            n[number][:, None] * views.expected[number],
        )
        for number, view in enumerate(views.views)
        if n[number].any()
    )
    return added(parts, y.shape[1:])


def _several_columns(y: Floats, columns: Sequence[BatchViews]) -> tuple[Likelihood, Floats]:
    """Products of weights, batch by batch; what each column has is shrunk for all together."""
    batches, predicates = y.shape[:2]
    flat = y.reshape(batches * predicates, *y.shape[2:])
    margins = []
    for axis, views in enumerate(columns):
        alone = margin(flat, axis).reshape(batches, predicates, -1)
        margins.append((shrunk_in_batches(alone, [views]), _split(alone.sum(axis=2), [views])))
    n = y.sum(axis=tuple(range(2, y.ndim)))
    total = n.sum(axis=0).reshape(-1, *(1 for _ in columns))
    centre = total + np.zeros(y.shape[1:])
    for axis, (counts, _) in enumerate(margins):
        centre = centre * _along(counts, axis, len(columns)) / np.maximum(total, 1.0)
    expected = _expected(n, columns)
    parts = (
        (
            product_likelihood(
                y[number],
                [views.views[number] for views in columns],
                [counts * split[number] for counts, split in margins],
            ),
            expected[number],
        )
        for number in range(batches)
        if n[number].any()
    )
    return added(parts, y.shape[1:]), centre


def _of_combinations(y: Floats, centre: Floats, views: BatchViews) -> Floats:
    """What is expected of columns together, with the margins of P."""
    joint = [view for view in views.views if isinstance(view, JointView)]
    columns = [CombinedColumn.of(numbers) for numbers in joint[0].columns]
    likelihoods = []
    for number, column in enumerate(columns):
        alone = BatchViews(tuple(view.alone(number) for view in joint))
        counts = np.stack([column.summed(rows) for rows in y])
        likelihoods.append(pooled_likelihood(counts, [alone])[0])
    return by_margins(centre, y.sum(axis=(0, 2))[:, None], columns, likelihoods)


def _expected(n: Floats, columns: Sequence[BatchViews]) -> Floats:
    """What is expected in every batch, predicate and cell."""
    expected = n.reshape(*n.shape, *(1 for _ in columns))
    for axis, views in enumerate(columns):
        expected = expected * _along(views.expected[:, None], axis, len(columns), lead=2)
    return expected


def _split(n: Floats, columns: Sequence[BatchViews]) -> Floats:
    """Which part of a count each batch is expected to have."""
    expected = _expected(n, columns)
    parts: Floats = expected / np.maximum(expected.sum(axis=0), 1e-300)
    return parts


def _along(array: Floats, axis: int, columns: int, lead: int = 1) -> Floats:
    """The last axis at the place of a column, behind `lead` others."""
    shape = [*array.shape[:lead], *(1 for _ in range(columns))]
    shape[lead + axis] = array.shape[-1]
    return array.reshape(shape)


def _consistent(means: Floats, y: Floats, columns: Sequence[BatchViews]) -> Floats:
    """One step of EM with the channels of every batch."""
    n = y.sum(axis=tuple(range(2, y.ndim)))
    consistent = np.zeros_like(means)
    for number, part in enumerate(_split(n, columns)):
        split = means * part
        ratio: Floats | None = split
        for axis, views in enumerate(columns, start=1):
            ratio = None if ratio is None else views.views[number].sent(ratio, axis)
        if ratio is not None:
            ratio = y[number] / np.maximum(ratio, 1e-9)
        for axis, views in enumerate(columns, start=1):
            ratio = None if ratio is None else views.views[number].returned(ratio, axis)
        consistent += split if ratio is None else split * ratio
    return consistent


def _consistent_side_by_side(means: Floats, y: Floats, columns: Sequence[BatchViews]) -> Floats:
    """The same for one column, all batches at once."""
    channel, known = columns[0].whole
    split = means * _split(y.sum(axis=2), columns)
    ratio = y / np.maximum(split @ channel, 1e-9)
    back = ratio @ np.swapaxes(channel, 1, 2)
    consistent: Floats = (split * np.where(known[:, None, None], back, 1.0)).sum(axis=0)
    return consistent


def pooled_sum_likelihood(
    sums: PublishedSums, columns: Sequence[BatchViews], counts: Floats
) -> tuple[Likelihood, Floats]:
    """Unbiased sums of a number that is never negative, in effective rows, and the unit.

    `counts` are shrunk counts of all batches; see `sums.sum_likelihood`.
    """
    cells = tuple(range(2, sums.rows.ndim))
    rows, first, second = (array.sum(axis=cells) for array in (sums.rows, sums.first, sums.second))
    total = first.sum(axis=0)
    unit = np.where(total > 0, second.sum(axis=0) / np.maximum(total, 1e-300), 1.0)
    split, expected = _split(rows, columns), _expected(first, columns)
    wide = unit.reshape(-1, *(1 for _ in cells))

    def parts() -> Iterable[tuple[Likelihood, Floats]]:
        for number in np.flatnonzero(rows.any(axis=1)).tolist():
            views = [column.views[number] for column in columns]
            here = PublishedSums(sums.rows[number], sums.first[number], sums.second[number])
            effective, scale = sum_likelihood(here, views, counts * split[number])
            yield _rescaled(effective, scale.reshape(wide.shape)), expected[number]

    return _rescaled(added(parts(), sums.rows.shape[1:]), 1 / wide), unit[:, None]


def _rescaled(likelihood: Likelihood, unit: Floats) -> Likelihood:
    """In other units: a count of 1 becomes `unit`."""
    estimate, constant, linear, square, size, step = likelihood.arrays()
    return Likelihood(
        estimate * unit, constant * unit**2, linear * unit, square, size * unit, step * unit
    )


def pooled_shrunk_sums(
    sums: PublishedSums, columns: Sequence[BatchViews], counts: Floats, likelihood: Likelihood
) -> Floats:
    """Shrunk sums from shrunk counts of all batches; see `sums.shrunk_sums`."""
    cells = tuple(range(2, sums.rows.ndim))
    totals = [a.sum(axis=(0, *cells)) for a in (sums.rows, sums.first, sums.second)]
    rows, first, second = (a.reshape(-1, *(1 for _ in cells)) for a in totals)
    rows = np.maximum(rows, 1.0)
    mean = first / rows
    split = _split(sums.rows.sum(axis=cells), columns)
    moved, variance = np.zeros_like(counts), np.zeros_like(counts)
    for number in np.flatnonzero(sums.rows.any(axis=tuple(range(1, sums.rows.ndim)))).tolist():
        here = PublishedSums(sums.rows[number], sums.first[number], sums.second[number])
        views = [column.views[number] for column in columns]
        if len(columns) == 1:
            more, spread = departures(here, views, counts * split[number], mean, likelihood)
        else:
            # There the variance is a part of that of the counts of all batches.
            more, spread = departures(here, views, counts, mean, likelihood)
            spread = spread * here.totals[0] / rows
        known = np.isfinite(more)
        moved += np.where(known, more, 0.0)
        variance += np.where(known, spread, 0.0)
    drawn = drawn_to_zero(moved, variance, counts * np.sqrt(second / rows))
    shrunk: Floats = mean * counts + drawn
    return shrunk
