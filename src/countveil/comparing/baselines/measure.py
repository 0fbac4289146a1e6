"""How accurate a method is, and how much it reveals: the figures of every comparison.

Enters: a method, codes, predicates, how many publications. Leaves: average relative errors by
selectivity, how often small counts are off, beliefs, each with its standard error. Must not know:
how predicates were chosen, how the method works.

The selectivity of a count is its share of all rows. Every publication gives one average per figure;
the mean of these is the figure, and their spread its standard error: the randomness of the
publication, not of the choice of predicates. Answers are used as they are: an analyst who cuts
negative ones at 0 is slightly more accurate.

Where a method stands on the frontier is not measured but computed, from the chances with which it
publishes: docs/theory/frontier.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from countveil.comparing.baselines.method import (
    Codes,
    Floats,
    PublishedAnswers,
    PublishingMethod,
    Rows,
    tallies,
)
from countveil.maths.guarantees.frontier import largest_factor, standing
from countveil.randomness import Randomness

# Selectivities from (not included) to (included).
BINS = ((0.001, 0.005), (0.005, 0.01), (0.01, 0.02), (0.02, 0.05))
# Of combinations of several columns, which are rarer.
JOINT_BINS = ((0.0005, 0.001), (0.001, 0.007), (0.007, 0.02), (0.02, 0.05))
SMALL, OFF = 10, 0.3
_LEAST_CELLS = 5
# The quantiles of the rows at which beliefs are reported; the last are the most exposed.
QUANTILES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
# Standard errors on the frontier are those of counts among this many rows.
ASKED_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class Workload:
    """The rows of a table as codes of `size` values, and the predicates to ask."""

    codes: Codes
    size: int
    predicates: Sequence[Rows]

    def true_counts(self) -> Floats:
        """The count of every value (columns) in every predicate (lines)."""
        return tallies(self.codes, self.size, self.predicates)


@dataclass(frozen=True, slots=True)
class Mean:
    """An average over publications.

    Attributes:
        value: The average.
        std_error: Its standard error; None from a single publication.
    """

    value: float
    std_error: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """From one value per publication."""
        spread = float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else None
        return cls(float(np.mean(values)), spread)


@dataclass(frozen=True, slots=True)
class OnFrontier:
    """Where a method is: how much is believed, how accurate it is, how accurate any could be.

    None where there is no unbiased estimate, or where no rows are published.

    Attributes:
        mean_belief: In the true value of a linked row, by somebody who knows the table's shares.
        error: The root of the mean variance of the counts of all values, among 1,000 rows with the
            shares of the table, by the best unbiased estimate.
        least_error: The least that any way to publish rows one by one has at this belief.
        distance: The ratio of the two variances.
        odds: The largest factor by which a linked row changes the odds of a value; None where it
            may reveal it for certain.
    """

    mean_belief: float
    error: float | None = None
    least_error: float | None = None
    distance: float | None = None
    odds: float | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured for one method.

    Attributes:
        errors: The relative error by range of selectivity; None where the table has too few such
            counts.
        small_off: How likely a count of 1 to 10 is off by more than 30%.
        belief: In the true value of a linked row, on average.
        most_believed: The same for the 1% most exposed rows, the smallest among them.
        candidates: Among how many values the true one hides, for half of the rows.
        beliefs: Those that each of several shares of the rows does not exceed.
        frontier: Where the method is beside the best possible one.
    """

    errors: Sequence[Mean | None]
    small_off: Mean | None
    belief: Mean
    most_believed: Mean
    candidates: Mean
    beliefs: Sequence[float]
    frontier: OnFrontier | None = None


def answers(
    method: PublishingMethod, workload: Workload, randomness: Randomness
) -> tuple[Floats, PublishedAnswers]:
    """What a publication answers to all predicates, and the publication.

    Where a publication answers a limited number, the table is published again for the next ones:
    every answer is then as good as the first.
    """
    published = method.publish(workload.codes, workload.size, randomness)
    if method.most_queries is None:
        return published.counts_of(workload.predicates), published
    batches = [np.zeros((0, workload.size))]
    for first in range(0, len(workload.predicates), method.most_queries):
        again = method.publish(workload.codes, workload.size, randomness)
        batches.append(again.counts_of(workload.predicates[first : first + method.most_queries]))
    return np.concatenate(batches), published


def errors_by_bin(
    true: Floats, estimates: Floats, rows: int, bins: Sequence[tuple[float, float]] = BINS
) -> list[float | None]:
    """The average relative error of the counts of each selectivity; None where there are few."""
    errors: list[float | None] = []
    for low, high in bins:
        inside = (true > 0) & (true > low * rows) & (true <= high * rows)
        if np.count_nonzero(inside) < _LEAST_CELLS:
            errors.append(None)
            continue
        errors.append(float((np.abs(estimates - true)[inside] / true[inside]).mean()))
    return errors


def share_off(
    true: Floats, estimates: Floats, most: int = SMALL, error: float = OFF
) -> float | None:
    """Of the counts from 1 to `most`, the share that is off by more than this relative error."""
    small = (true >= 1) & (true <= most)
    if np.count_nonzero(small) < _LEAST_CELLS:
        return None
    return float((np.abs(estimates - true)[small] > error * true[small]).mean())


def measure(
    method: PublishingMethod,
    workload: Workload,
    randomness: Sequence[Randomness],
    bins: Sequence[tuple[float, float]] = BINS,
) -> Figures:
    """The figures of a method, from one publication per source of randomness."""
    true = workload.true_counts()
    errors: list[list[float | None]] = []
    small: list[float | None] = []
    averages: list[tuple[float, float, float]] = []
    beliefs = []
    for source in randomness:
        estimates, published = answers(method, workload, source)
        errors.append(errors_by_bin(true, estimates, workload.codes.size, bins))
        small.append(share_off(true, estimates))
        belief = published.belief()
        in_truth = belief.in_truth(workload.codes)
        beliefs.append(np.quantile(in_truth, QUANTILES))
        left = float(np.median(belief.candidates()))
        averages.append((float(in_truth.mean()), float(beliefs[-1][-1]), left))
    average, most, candidates = (Mean.of(values) for values in zip(*averages, strict=True))
    by_bin = [_mean(values) for values in zip(*errors, strict=True)]
    usual = np.mean(beliefs, axis=0).tolist()
    place = on_frontier(method, np.bincount(workload.codes, minlength=workload.size))
    place = place or OnFrontier(average.value)
    return Figures(by_bin, _mean(small), average, most, candidates, usual, place)


def on_frontier(method: PublishingMethod, counts: Codes) -> OnFrontier | None:
    """Where a method stands on a table with these counts; None if it publishes no rows."""
    chances = method.chances(counts)
    if chances is None:
        return None
    shares = counts / counts.sum()
    place, factor = standing(chances, shares), largest_factor(chances, shares)
    odds = factor if np.isfinite(factor) else None
    if not np.isfinite(place.variance):
        return OnFrontier(place.belief, odds=odds)
    error, least = (
        typical_error(variance, int(np.count_nonzero(counts)))
        for variance in (place.variance, place.bound)
    )
    return OnFrontier(place.belief, error, least, place.distance, odds)


def typical_error(variance: float, values: int) -> float:
    """Of the count of a value among `ASKED_ROWS`, from the total variance per row."""
    # Rounding may make the variance of a method that tells the truth slightly negative.
    return float((ASKED_ROWS * max(variance, 0.0) / values) ** 0.5)


def _mean(values: Sequence[float | None]) -> Mean | None:
    known = [value for value in values if value is not None]
    return Mean.of(known) if known else None
