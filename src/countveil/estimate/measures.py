"""From totals to measures: counts, sums, averages and ratios with errors and intervals.

Enters: totals, method, level. Leaves: `Estimates` of one measure, by plain group and cell, and the
number of rows each is about. Must not know: SQL.

A count of one value of one column has the refined variance and interval of `unbiased_counts`; every
other total the variance of its row weights and a symmetric interval.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from countveil.channel.conditions import NEVER
from countveil.errors import QueryError
from countveil.estimate.aggregates import Tallies, Total
from countveil.estimate.answer import Estimates
from countveil.estimate.methods import estimate_cells

Floats = NDArray[np.float64]


def estimate_total(
    tallies: Tallies, total: Total, *, is_count: bool, method: str, channel: str, level: float
) -> Estimates:
    """The estimates of one aggregate."""
    if is_count:
        single = _single_values(tallies, total, method, channel, level)
        if single is not None:
            return single
    if method != "unbiased" and tallies.views:
        raise QueryError(
            f"Method {method!r} answers counts of single values of one sensitive column. Use "
            f"method 'unbiased' for this query."
        )
    error = np.sqrt(total.variance + total.misfit**2)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    low, high = total.estimate - z * error, total.estimate + z * error
    if is_count:
        low, high = np.clip(low, 0, total.rows), np.clip(high, 0, total.rows)
    known = np.isfinite(error) & np.isfinite(total.estimate)
    nothing = np.where(is_count, 0.0, -np.inf), np.where(is_count, total.rows, np.inf)
    return Estimates(
        np.where(np.isfinite(total.estimate), total.estimate, np.nan),
        np.where(known, error, np.nan),
        np.where(known, low, nothing[0]),
        np.where(known, high, nothing[1]),
    )


def estimate_ratio(
    top: tuple[Total, Estimates],
    bottom: tuple[Total, Estimates],
    cross: Floats | None,
    level: float,
) -> Estimates:
    """A ratio of two totals.

    `cross` is their covariance where it is known; else the worst is assumed.
    """
    numerator, denominator = top[1], bottom[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = numerator.estimate / denominator.estimate
        top_error, bottom_error = numerator.std_error, denominator.std_error
        if cross is None:
            error = (top_error + np.abs(ratio) * bottom_error) / np.abs(denominator.estimate)
        else:
            variance = top[0].variance - 2 * ratio * cross + ratio**2 * bottom[0].variance
            spread = top[0].misfit ** 2 + (ratio * bottom[0].misfit) ** 2
            error = np.sqrt(np.maximum(variance, 0) + spread) / np.abs(denominator.estimate)
        z = NormalDist().inv_cdf(0.5 + level / 2)
        low, high = ratio - z * error, ratio + z * error
    known = np.isfinite(ratio) & np.isfinite(error)
    return Estimates(
        np.where(np.isfinite(ratio), ratio, np.nan),
        np.where(known, error, np.nan),
        np.where(known, low, -np.inf),
        np.where(known, high, np.inf),
    )


def _single_values(
    tallies: Tallies, total: Total, method: str, channel: str, level: float
) -> Estimates | None:
    """Counts of single values of the only sensitive column, or of all but one."""
    if len(tallies.views) != 1:
        return None
    conditions = total.condition_of
    if tallies.grouped_axes:
        wanted, cells, complement = conditions[:, 0], list(range(conditions.shape[0])), False
    else:
        row = conditions[0]
        counted = np.flatnonzero(row != NEVER)
        left_out = np.flatnonzero(row == NEVER)
        kinds = set(row[counted].tolist())
        if counted.size == 1:
            wanted, cells, complement = row, counted.tolist(), False
        elif left_out.size == 1 and len(kinds) == 1:
            wanted = np.full(row.size, kinds.pop())
            cells, complement = left_out.tolist(), True
        else:
            return None
    shape = (tallies.n_groups, len(cells))
    parts = [np.zeros(shape) for _ in range(4)]
    for condition in set(wanted[cells].tolist()) - {NEVER}:
        published = tallies.meeting(condition, 0)
        sizes = published.sum(axis=1)
        grid = estimate_cells(
            published, sizes, tallies.views[0], method=method, channel=channel, level=level
        )
        here = [place for place, cell in enumerate(cells) if wanted[cell] == condition]
        chosen = [cells[place] for place in here]
        found = [grid.estimate, grid.std_error, grid.low, grid.high]
        for part, numbers in zip(parts, found, strict=True):
            part[:, here] = numbers[:, chosen]
        if complement:
            whole = sizes[:, None]
            parts = [whole - parts[0], parts[1], whole - parts[3], whole - parts[2]]
    return Estimates(*parts)
