"""From totals to measures: counts, sums, averages and ratios with errors and intervals.

Enters: totals, method, level. Leaves: `Estimates` of one measure, by plain group and cell, and the
number of rows each is about. Must not know: SQL.

A count of one value, or of one combination of values of several columns, has the variance and the
interval of `unbiased` and `products`; every other total the variance of its row weights and a
symmetric interval. The shrunk estimate of a count has the error and interval of the unbiased one:
it is nearer to the truth on average, by how much nobody can tell for one cell. Sums and averages
are not shrunk.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from countveil.errors import QueryError
from countveil.maths.channel.conditions import NEVER
from countveil.maths.estimate.totals import Tallies, Total
from countveil.maths.estimate.estimates import Estimates, IteratedEstimates, Rounds
from countveil.maths.paper.bayes import bayes_counts
from countveil.maths.estimate.shrunk import calmed, evidence
from countveil.maths.estimate.signal import Signal
from countveil.maths.estimate.single import SingleCells, single_cells

Floats = NDArray[np.float64]


def estimate_total(
    tallies: Tallies, total: Total, *, is_count: bool, method: str, channel: str, level: float
) -> Estimates:
    """The estimates of one aggregate."""
    single = single_cells(total) if is_count and tallies.views else None
    if method == "bayes" and tallies.views:
        if single is None:
            raise QueryError(
                "Method 'bayes' answers counts of single values of sensitive columns. Use method "
                "'shrunk' or 'unbiased' for this query."
            )
        return _bayes(tallies, total, single, channel, level)
    known = _Evidence(tallies)
    if single is not None:
        found = _of_single_cells(known, total, single, level)
    else:
        found = _of_row_weights(total, is_count, level)
    if method == "shrunk" and is_count and tallies.views:
        return _shrunk(known, total, found)
    return found


class _Evidence:
    """What the rows of each condition say of all cells, worked out once."""

    def __init__(self, tallies: Tallies) -> None:
        self.tallies = tallies
        self._known: dict[int, tuple[Signal, Floats]] = {}

    def signal(self, condition: int) -> Signal:
        """The unbiased estimates."""
        return self._of(condition)[0]

    def shrunk(self, condition: int) -> Floats:
        """The shrunk ones."""
        published = self.tallies.meeting(condition, 0)
        return calmed(*self._of(condition), published, self.tallies.views)

    def _of(self, condition: int) -> tuple[Signal, Floats]:
        if condition not in self._known:
            published = self.tallies.meeting(condition, 0)
            self._known[condition] = evidence(published, self.tallies.views)
        return self._known[condition]


def _of_row_weights(total: Total, is_count: bool, level: float) -> Estimates:
    """Any total: the variance of its row weights."""
    error = np.sqrt(total.variance + total.misfit**2)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    # Around what is possible: beyond it, one point would be left, and claim what nobody knows.
    centre = np.clip(total.estimate, 0, total.rows) if is_count else total.estimate
    low, high = centre - z * error, centre + z * error
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


def _of_single_cells(
    known: _Evidence, total: Total, single: SingleCells, level: float
) -> Estimates:
    """Counts of one combination of true values each."""
    tallies = known.tallies

    def estimates(condition: int, answers: NDArray[np.int64]) -> Estimates:
        parts = known.signal(condition).parts()
        flat = (tallies.by_cell(part).reshape(tallies.n_groups, -1) for part in parts)
        picked = Signal(*flat).at(single.place[answers])
        if len(tallies.views) > 1:
            picked = picked.widened(total.misfit[:, answers])
        return picked.estimates(level)

    return single.fill(tallies, estimates)


def _shrunk(known: _Evidence, total: Total, unbiased: Estimates) -> Estimates:
    """Sums of shrunk cells, with the errors of the unbiased ones."""
    tallies = known.tallies
    conditions = total.condition_of
    estimate = np.zeros((tallies.n_groups, conditions.shape[0]))
    for condition in set(conditions.ravel().tolist()) - {NEVER}:
        calm = tallies.by_cell(known.shrunk(condition))
        estimate += np.einsum("gcr,cr->gc", calm, (conditions == condition).astype(np.float64))
    inside = np.clip(estimate, unbiased.low, unbiased.high)
    return Estimates(inside, unbiased.std_error, unbiased.low, unbiased.high)


def _bayes(
    tallies: Tallies, total: Total, single: SingleCells, channel: str, level: float
) -> Estimates:
    """The paper's iteration; at rest, with one column, it is the unbiased answer where possible."""
    keeps = [view.keep for view in tallies.views]
    everybody = tallies.everybody if len(keeps) > 1 else tallies.views[0].published
    if everybody is None:
        raise QueryError(
            "Method 'bayes' with several sensitive columns needs the published counts of the whole "
            "table by all of them."
        )
    taken: list[Rounds] = []
    numbers = np.arange(everybody.size).reshape(1, *everybody.shape)
    number_of = tallies.by_cell(np.repeat(numbers, tallies.n_groups, axis=0))[0].ravel()

    def estimates(condition: int, answers: NDArray[np.int64]) -> Estimates:
        published = tallies.meeting(condition, 0)
        only = number_of[single.place[answers]]
        found = bayes_counts(published, everybody, keeps, only=only, channel=channel)
        taken.append(found.rounds)
        unknown = np.full_like(found.estimate, np.nan)
        return Estimates(found.estimate, unknown, unknown, unknown)

    found = single.fill(tallies, estimates)
    rounds = Rounds.together(taken)
    if channel == "printed":
        # The printed channel is wrong by an amount nobody knows: no error would be honest.
        return IteratedEstimates(*found.parts(), rounds)
    errors = _of_single_cells(_Evidence(tallies), total, single, level)
    estimate = np.where(np.isnan(errors.estimate), np.nan, found.estimate)
    return IteratedEstimates(estimate, errors.std_error, errors.low, errors.high, rounds)


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
