"""Skewed columns: what could an estimate reach that knows more than a release tells?

The unbiased estimate and the shrunk one of every release, and beside them estimates that look at
the true counts, or at more of the release:

- *true weights*: shrunk in the same way, with the weights of the mixture fitted to the true counts
  of the predicate (their own spread taken as that of Poisson counts). What learning costs.
- *true factor*: e + c (unbiased - e), with e the count expected beside frequent values, and for
  every class of counts the one c that has the least error in these cells and releases. The least
  of any linear shrinkage with one factor a class.
- *true departures*: it knows which departures x / e the values of the predicate have, but not which
  value has which: the posterior mean with each of them equally likely. An estimate that treats the
  values of a predicate alike, one by one, cannot know more about them.
- *by conditions*: shrunk, but towards what the conditions of the predicate, each alone, show of
  every value: e is n p, times the departure of the value under each condition. No truth, but a
  tally of every condition. *Both*: that with weights fitted to the truth.

The first line is computed: normal errors with the variance at the true counts. Classes are those of
`benchmarks.skewed`; after +- is the standard error over releases. Prints Markdown, as kept in
RESULTS.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.skewed import BINS, Published, released, skewed_tables, tallies
from benchmarks.tables import Table
from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.estimate import shrunk
from countveil.maths.estimate.estimates import Likelihood

Floats = NDArray[np.float64]

ELL = 5
# Weights that are fitted to the truth may take longer to settle than those of noisy counts.
_STEPS = 60
_FACTORS = np.linspace(0.0, 1.0, 101)
_FREQUENT = 0.2


@dataclass(frozen=True)
class Seen:
    """What one release shows of all predicates, and what is true."""

    y: Floats
    view: ChannelView
    true: Floats
    likelihood: Likelihood
    centre: Floats

    @property
    def n(self) -> Floats:
        """The rows of each predicate."""
        sizes: Floats = self.y.sum(axis=1, keepdims=True)
        return sizes


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--releases", type=int, default=12)
    parser.add_argument("--first", type=int, default=0, help="the number of the first release")
    parser.add_argument("--predicates", type=int, default=100)
    parser.add_argument("--tables", nargs="*", default=["ACS 2024, Occupation50"])
    parser.add_argument("--methods", nargs="*", default=["common"])
    options = parser.parse_args()
    print("| table | method | estimate |", *(f"{a:.1%}-{b:.1%} |" for a, b in BINS))
    print("|---|---|---|" + "---|" * len(BINS))
    for table in skewed_tables(options.rows, options.predicates):
        if any(word in table.name for word in options.tables):
            for method in options.methods:
                seeds = range(options.first, options.first + options.releases)
                beside_the_truth(table, method, seeds)


def beside_the_truth(table: Table, method: str, seeds: range) -> None:
    """A line for every estimate."""
    true, rows = table.tallies(table.codes), table.codes.size
    masks = [(true / rows > a) & (true / rows <= b) for a, b in BINS]
    errors: dict[str, list[list[float]]] = {}
    linear: list[tuple[Floats, Floats]] = []
    for seed in seeds:
        release = released(table, method, ELL, seed)
        seen = look(table, release, true)
        linear.append((seen.likelihood.estimate, seen.centre))
        for name, estimate in answers(table, release, seen):
            relative = np.abs(np.maximum(estimate, 0) - true) / np.maximum(true, 1)
            errors.setdefault(name, []).append([float(relative[mask].mean()) for mask in masks])
    start = f"| {table.name} | {method} |"
    release = released(table, method, ELL, 0)
    view = view_of_release(table.counts, rows, ELL, release.groups, release.common)
    error = np.sqrt(2 / np.pi * view.variance(true, true.sum(axis=1, keepdims=True)))
    print(f"{start} unbiased, computed |", *(f"{(error[m] / true[m]).mean():.4f} |" for m in masks))
    for name, measured in errors.items():
        print(f"{start} {name} |", *_with_spread(np.array(measured)), flush=True)
    fitted = [_best_linear(linear, true, mask) for mask in masks]
    print(f"{start} true factor |", *_with_spread(np.array(fitted).T), flush=True)


def look(table: Table, release: Published, true: Floats) -> Seen:
    """A release as an analyst sees it."""
    histogram = np.bincount(release.codes, minlength=table.counts.size)
    view = view_of_release(histogram, table.codes.size, ELL, release.groups, release.common)
    y = tallies(table, release.codes, release.kept)
    return Seen(y, view, true, *shrunk.likelihood_and_centre(y, [view]))


def answers(table: Table, release: Published, seen: Seen) -> Iterator[tuple[str, Floats]]:
    """Every estimate by its name."""
    yield "unbiased", seen.likelihood.estimate
    yield "shrunk", shrunk.shrunk_counts(seen.y, [seen.view])
    yield "true weights", with_true_weights(seen)
    yield "true departures", with_true_departures(seen)
    better = replace(seen, centre=by_conditions(table, release, seen))
    towards = shrunk.shrunk_from(seen.likelihood, better.centre, seen.y, [seen.view])
    yield "by conditions", towards
    yield "both", with_true_weights(better)


def with_true_weights(seen: Seen) -> Floats:
    """The shrunk estimate, whose weights are fitted to the true counts."""
    none = 0 * seen.true
    exact = Likelihood(seen.true, none + 0.25, none + 1, none, none + seen.n, none + 1)
    evidence, _, known = shrunk.components(exact, seen.centre)
    weights = shrunk.mixture(evidence, known, _STEPS)
    evidence, moment, known = shrunk.components(seen.likelihood, seen.centre)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = (moment @ weights)[..., 0] / (evidence @ weights)[..., 0]
    means = np.where(known, means, seen.centre)
    summed = shrunk.adding_up(means, seen.n, seen.likelihood)
    return shrunk.made_consistent(summed, seen.y, [seen.view])


def with_true_departures(seen: Seen) -> Floats:
    """Posterior means, every true departure of the predicate being equally likely for a value."""
    frequent = seen.view.shares > _FREQUENT
    means = seen.likelihood.estimate.copy()
    parts = np.stack(seen.likelihood.arrays()[:4])
    for place, (centre, true) in enumerate(zip(seen.centre, seen.true, strict=True)):
        departures = (true / np.maximum(centre, 1e-300))[~frequent]
        counts = centre[~frequent, None] * departures
        estimate, constant, linear, square = parts[:, place, ~frequent, None]
        variance = np.maximum(constant + counts * (linear + counts * square), 1e-9)
        logs = -0.5 * ((counts - estimate) ** 2 / variance + np.log(variance))
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        means[place, ~frequent] = (chances * counts).sum(axis=1) / chances.sum(axis=1)
    return means


def by_conditions(table: Table, release: Published, seen: Seen) -> Floats:
    """Counts expected from what every condition shows alone; of one condition, as ever."""
    size, view = table.counts.size, seen.view
    departures = {}
    for name, column in table.columns.items():
        cells = column[release.kept] * size + release.codes
        tallied = np.bincount(cells, minlength=(int(column.max()) + 1) * size)
        y = tallied.reshape(-1, size).astype(np.float64)
        expected = np.maximum(y.sum(axis=1, keepdims=True) * view.shares, 1e-9)
        departures[name] = shrunk.shrunk_counts(y, [view]) / expected
    centre = seen.centre.copy()
    for place, conditions in enumerate(table.conditions):
        if len(conditions) > 1:
            alone = [departures[name][code] for name, code in conditions.items()]
            shares = view.shares * np.prod(alone, axis=0)
            centre[place] = seen.n[place] * shares / shares.sum()
    return centre


def _best_linear(
    linear: list[tuple[Floats, Floats]], true: Floats, mask: NDArray[np.bool_]
) -> list[float]:
    """The mean error of every release with the factor that is best for all of them."""
    plain, centre = (np.array([pair[place][mask] for pair in linear]) for place in (0, 1))
    errors = [
        (np.abs(np.maximum(centre + factor * (plain - centre), 0) - true[mask]) / true[mask])
        for factor in _FACTORS
    ]
    best = min(errors, key=lambda error: float(error.mean()))
    return [float(mean) for mean in best.mean(axis=1)]


def _with_spread(measured: Floats) -> list[str]:
    spread = measured.std(axis=0, ddof=1) / np.sqrt(len(measured))
    pairs = zip(measured.mean(axis=0), spread, strict=True)
    return [f"{mean:.4f} +- {error:.4f} |" for mean, error in pairs]


if __name__ == "__main__":
    main()
