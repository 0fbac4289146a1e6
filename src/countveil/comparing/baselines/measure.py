"""How far off a method is, and how much it gives away: the figures of every comparison.

Enters: a method, codes, predicates, how many publications. Leaves: average relative errors by
selectivity, how often small counts are off, beliefs, each with its standard error. Must not know:
how predicates were found, what the method does.

The selectivity of a count is its share of all rows. Every publication gives one average per figure;
the mean of these is the figure, and their spread its standard error: chance of the publication, not
of which predicates were asked. Answers are taken as they come: an analyst who cuts negative ones at
0 is a little nearer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from countveil.comparing.baselines.method import Codes, Floats, Method, Published, Rows, tallies
from countveil.randomness import Randomness

# Selectivities from (not included) to (included).
BINS = ((0.001, 0.005), (0.005, 0.01), (0.01, 0.02), (0.02, 0.05))
SMALL, OFF = 10, 0.3
_LEAST_CELLS = 5
# The parts of the rows up to which beliefs are told; the last are the most exposed.
PARTS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Asked:
    """The rows of a table as codes of `size` values, and the predicates to ask."""

    codes: Codes
    size: int
    predicates: Sequence[Rows]

    def true_counts(self) -> Floats:
        """The count of every value (columns) in every predicate (lines)."""
        return tallies(self.codes, self.size, self.predicates)


@dataclass(frozen=True, slots=True)
class Mean:
    """An average over publications; no standard error from a single one."""

    value: float
    std_error: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """From one value per publication."""
        spread = float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else None
        return cls(float(np.mean(values)), spread)


@dataclass(frozen=True, slots=True)
class Figures:
    """What was found about one method.

    `errors` by bin, None where the table has too few counts of that selectivity. `small_off`: how
    likely a count of 1 to 10 is off by more than 30%. `belief` in the true value of a linked row,
    on average, and `most_believed` for the 1% most exposed rows (that of the least of them);
    `beliefs` are those that each of `PARTS` of the rows does not exceed. `candidates`: among how
    many values the true one hides, for half of the rows.
    """

    errors: Sequence[Mean | None]
    small_off: Mean | None
    belief: Mean
    most_believed: Mean
    candidates: Mean
    beliefs: Sequence[float]


def answers(method: Method, asked: Asked, randomness: Randomness) -> tuple[Floats, Published]:
    """What a publication answers to all predicates, and the publication.

    Where a publication answers only so many, the table is published anew for the next ones: every
    answer is then as it would be among the first.
    """
    published = method.publish(asked.codes, asked.size, randomness)
    if method.most_queries is None:
        return published.counts_of(asked.predicates), published
    parts = [np.zeros((0, asked.size))]
    for first in range(0, len(asked.predicates), method.most_queries):
        anew = method.publish(asked.codes, asked.size, randomness)
        parts.append(anew.counts_of(asked.predicates[first : first + method.most_queries]))
    return np.concatenate(parts), published


def errors_by_bin(
    true: Floats, estimates: Floats, rows: int, bins: Sequence[tuple[float, float]] = BINS
) -> list[float | None]:
    """The average relative error of the counts of each selectivity; None where there are few."""
    found: list[float | None] = []
    for low, high in bins:
        inside = (true > 0) & (true > low * rows) & (true <= high * rows)
        if np.count_nonzero(inside) < _LEAST_CELLS:
            found.append(None)
            continue
        found.append(float((np.abs(estimates - true)[inside] / true[inside]).mean()))
    return found


def share_off(
    true: Floats, estimates: Floats, most: int = SMALL, error: float = OFF
) -> float | None:
    """Of the counts from 1 to `most`, the share that is off by more than this relative error."""
    small = (true >= 1) & (true <= most)
    if np.count_nonzero(small) < _LEAST_CELLS:
        return None
    return float((np.abs(estimates - true)[small] > error * true[small]).mean())


def measure(
    method: Method,
    asked: Asked,
    randomness: Sequence[Randomness],
    bins: Sequence[tuple[float, float]] = BINS,
) -> Figures:
    """The figures of a method, from one publication per source of randomness."""
    true = asked.true_counts()
    errors: list[list[float | None]] = []
    small: list[float | None] = []
    averages: list[tuple[float, float, float]] = []
    beliefs = []
    for source in randomness:
        estimates, published = answers(method, asked, source)
        errors.append(errors_by_bin(true, estimates, asked.codes.size, bins))
        small.append(share_off(true, estimates))
        belief = published.belief()
        in_truth = belief.in_truth(asked.codes)
        beliefs.append(np.quantile(in_truth, PARTS))
        left = float(np.median(belief.candidates()))
        averages.append((float(in_truth.mean()), float(beliefs[-1][-1]), left))
    average, most, candidates = (Mean.of(values) for values in zip(*averages, strict=True))
    by_bin = [_mean(values) for values in zip(*errors, strict=True)]
    usual = np.mean(beliefs, axis=0).tolist()
    return Figures(by_bin, _mean(small), average, most, candidates, usual)


def _mean(values: Sequence[float | None]) -> Mean | None:
    known = [value for value in values if value is not None]
    return Mean.of(known) if known else None
