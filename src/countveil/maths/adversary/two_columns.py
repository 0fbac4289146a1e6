"""Two protected columns, published apart or together: beliefs, and the variance of counted pairs.

Enters: how many rows have each pair of values, the channels of both columns, ell. Leaves: how
strongly the columns are associated, a `PairStanding` for either way. Must not know: names of
values, files. Theory: docs/theory/channel.md, "Columns together".

Somebody knows which row is a person's, and how many rows of the table have each pair (u, v), a
share of p[u, v]. Apart, a row publishes (s, t) with probability W[u, s] Z[v, t], so that the pair
is believed with p[u, v] W[u, s] Z[v, t] / L[s, t], where L = W' p Z, and u alone with the sum over
v: what one column publishes is evidence about the other. Together (random groups) the pair has the
channel of one column with shares p, and u is believed as if its column were alone.

The unbiased estimate of a pair weighs a row by M[s, u] N[t, v], with M and N the inverse channels;
of n rows like the table, the estimate is off with a variance of n (sum L M^2 N^2 - p).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.guarantees.frontier import least_variance

Floats = NDArray[np.float64]

# A belief this many times as high as a column alone allows is clearly due to the other column.
_CLEARLY = 1.5
_ROUNDING = 1e-9
# Beyond this a channel cannot be inverted in floating point: it does not tell values apart.
_SINGULAR = 1e12
# Places of values that are gone through for the belief in one column; more would take seconds.
_MOST_WORK = 100_000_000


@dataclass(frozen=True, slots=True)
class ColumnBelief:
    """In the value of one column, by somebody who sees what both publish.

    `mean`: in the true value, on average over rows; `largest`: in any value of any row. `above`:
    the share of rows about which some value is believed half as much again as its column alone
    would let anybody believe it, which with mixed groups is 1/ell.
    """

    mean: float
    largest: float
    above: float


@dataclass(frozen=True, slots=True)
class PairStanding:
    """One way to publish two columns.

    `mean`: belief in the true pair, on average over rows; `largest`: in a published pair, for the
    pair where it is highest. `columns` is None where it would take too long. `variance[u, v]` is
    that of the unbiased count of a pair, per row like the table; infinite where there is none.
    `bound` is the least possible sum of these variances at this mean belief.
    """

    mean: float
    largest: float
    columns: tuple[ColumnBelief, ColumnBelief] | None
    variance: Floats
    bound: float

    @property
    def distance(self) -> float:
        """How many times the least possible variance."""
        return float(self.variance.sum()) / self.bound if self.bound > 0 else 1.0

    def error(self, shares: Floats, share: float, rows: float) -> float | None:
        """The mean relative error of unbiased counts of pairs of about this share, among `rows`.

        None if there is no pair of that size.
        """
        near = (shares >= share / 2**0.5) & (shares < share * 2**0.5)
        if not near.any():
            return None
        deviation = np.sqrt(rows * np.maximum(self.variance[near], 0.0))
        return float((np.sqrt(2 / np.pi) * deviation / (rows * shares[near])).mean())


def association(counts: Floats) -> float:
    """Cramér's V of the table of pairs, corrected for chance (Bergsma): 0 to 1."""
    total = counts.sum()
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    rows, columns = counts.shape
    if min(rows, columns) < 2 or total < 2:
        return 0.0
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / total
    phi = float(((counts - expected) ** 2 / expected).sum() / total)
    corrected = max(0.0, phi - (rows - 1) * (columns - 1) / (total - 1))
    sides = [size - (size - 1) ** 2 / (total - 1) for size in (rows, columns)]
    return float(min(1.0, np.sqrt(corrected / max(min(sides) - 1, _ROUNDING))))


def apart(shares: Floats, one: Floats, two: Floats) -> PairStanding:
    """Each column with its own groups and draw; `one` and `two` are their channels."""
    outputs = one.T @ shares @ two
    possible = np.maximum(outputs, 1e-300)
    mean = float((((one**2).T @ shares**2 @ two**2) / possible).sum())
    believed = shares * np.diag(one)[:, None] * np.diag(two) / possible
    norms = [_squares(channel) for channel in (one, two)]
    variance: Floats = np.full(shares.shape, np.inf)
    if norms[0] is not None and norms[1] is not None:
        variance = np.asarray(norms[0].T @ outputs @ norms[1] - shares, np.float64)
    columns = None
    if shares.size * max(shares.shape) <= _MOST_WORK:
        columns = (
            _in_one_column(shares, one, two),
            _in_one_column(np.ascontiguousarray(shares.T), two, one),
        )
    bound = least_variance(shares.ravel(), mean)
    return PairStanding(mean, float(believed[shares > 0].max()), columns, variance, bound)


def together(shares: Floats, ell: int) -> PairStanding:
    """Both in one draw of random groups: a row publishes the pair of one row of its group."""
    away = 1 - 1 / ell
    h = float((shares**2).sum())
    mean = 1 / ell**2 + (1 - 1 / ell**2) * h
    variance = ell**2 * shares * (1 - 2 * away * shares + away**2 * shares) - shares
    beliefs = []
    for axis in (1, 0):
        alone = shares.sum(axis=axis)
        mean_alone = 1 / ell**2 + (1 - 1 / ell**2) * float(alone @ alone)
        beliefs.append(ColumnBelief(mean_alone, 1 / ell + away * float(alone.max()), 0.0))
    largest = 1 / ell + away * float(shares.max())
    bound = least_variance(shares.ravel(), mean)
    return PairStanding(mean, largest, (beliefs[0], beliefs[1]), variance, bound)


def _squares(channel: Floats) -> Floats | None:
    """The squares of the inverse's elements; None if values cannot be told apart."""
    if np.linalg.cond(channel) > _SINGULAR:
        return None
    squares: Floats = np.asarray(np.linalg.inv(channel), np.float64) ** 2
    return squares


def _in_one_column(shares: Floats, one: Floats, two: Floats) -> ColumnBelief:
    """The belief in the values of the first column."""
    alone = shares.sum(axis=1)
    promised = alone * np.diag(one) / np.maximum(alone @ one, 1e-300)
    # How many rows with each value have another column that publishes t.
    beside = shares @ two
    outputs = np.maximum(one.T @ beside, 1e-300)
    mean = largest = 0.0
    above = np.zeros(outputs.shape, bool)
    for place in np.flatnonzero(alone > 0).tolist():
        rows = np.outer(one[place], beside[place])
        belief = rows / outputs
        mean += float((rows * belief).sum())
        largest = max(largest, float(belief.max()))
        above |= belief > _CLEARLY * promised[place]
    return ColumnBelief(mean, largest, float(outputs[above].sum()))
