"""Do the intervals cover what they promise? Repeated releases of tables whose truth is known.

For each table and ell: random conjunctive predicates of one to three plain columns, combined with
every sensitive value. Measured, by the true count (below 50 rows) or its share of the rows (from 50
on): how often the interval of each level holds the true count. `unbiased` and `shrunk` have the
same intervals. With greedy groups also how often it would if the two-state channel were trusted.
With --columns 2: combinations of the sensitive value with age in ten intervals of equal frequency.
Prints Markdown, as kept in RESULTS.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.estimators import joint, two_column_table
from benchmarks.tables import Table, tables
from countveil.maths.channel import view_of_release
from countveil.maths.estimate import Estimates, shrunk_counts, unbiased_counts
from countveil.maths.estimate.products import product_likelihood
from countveil.maths.groups import ColumnSettings, largest_ell
from tests.repeated_releases import releases

Floats = NDArray[np.float64]

SMALL = ((-1, 0), (0, 9), (9, 49))
SHARES = ((0.0, 0.001), (0.001, 0.005), (0.005, 0.01), (0.01, 0.02), (0.02, 0.05))


@dataclass
class Covered:
    """How often the intervals of one kind held the truth, summed over releases.

    `each` has the shares of every release by class, where they were kept for a standard error:
    counts of one release share its noise, so cells do not tell how far a mean is off by chance.
    """

    name: str
    times: Floats
    each: list[list[float]] = field(default_factory=list)

    def add(self, inside: NDArray[np.bool_], masks: list[NDArray[np.bool_]] | None = None) -> None:
        """One more release; `masks` are the classes, if their shares are to be kept."""
        self.times += inside
        if masks is not None:
            self.each.append([float(inside[m].mean()) if m.any() else 0.0 for m in masks])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_800)
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--predicates", type=int, default=150)
    parser.add_argument("--groups", choices=["mixed", "anatomy"], default="mixed")
    parser.add_argument("--levels", type=float, nargs="*", default=[0.95])
    parser.add_argument("--ell", type=int, nargs="*", default=[2, 5, 10])
    parser.add_argument("--columns", type=int, choices=[1, 2], default=1)
    parser.add_argument("--more", action="store_true", help="tables of other shapes, too")
    options = parser.parse_args()
    heads = ["0", "1-9", "10-49", *(f"{a:.1%}-{b:.1%}" for a, b in SHARES)]
    print("| table | ell | level |", *(f"{head} |" for head in heads))
    print("|---|---|---|" + "---|" * len(heads))
    for ell in options.ell:
        if options.columns == 2:
            two_columns(options.rows, options.predicates, ell, options.releases, options.levels)
            continue
        for table in tables(options.rows, options.predicates, more=options.more):
            if ell <= largest_ell(table.counts):
                settings = ColumnSettings(ell, options.groups)
                one_column(table, settings, options.releases, options.levels)


def one_column(table: Table, settings: ColumnSettings, number: int, levels: list[float]) -> None:
    """A line per level, two with greedy groups."""
    rows, ell = table.codes.size, settings.ell
    true, sizes = table.tallies(table.codes), np.array([float(p.size) for p in table.predicates])
    greedy = settings.groups == "anatomy"
    names = [f"{level}" for level in levels]
    names += [f"{level}, two states trusted" for level in levels] if greedy else []
    covered = [Covered(name, 0 * true) for name in names]
    for published in releases(table.codes, settings, number):
        histogram = np.bincount(published, minlength=table.counts.size)
        view = view_of_release(histogram, rows, ell, settings.groups)
        y = table.tallies(published)
        trusted = replace(view, two_state_holds=True, whole=None)
        for place, level in enumerate(levels):
            covered[place].times += holds(unbiased_counts(y, sizes, view, level), true)
            if greedy:
                found = unbiased_counts(y, sizes, trusted, level)
                covered[len(levels) + place].times += holds(found, true)
    show(f"| {table.name} | {ell} |", covered, true, rows, number)


def two_columns(rows: int, n_predicates: int, ell: int, number: int, levels: list[float]) -> None:
    """Combinations of values of two columns."""
    name, asked, columns = two_column_table(rows, n_predicates)
    shape = tuple(int(codes.max()) + 1 for codes in columns)
    if ell > min(largest_ell(np.bincount(codes)) for codes in columns):
        return
    true = joint(asked, columns, shape)
    covered = [Covered(f"{level}", 0 * true) for level in levels]
    settings = ColumnSettings(ell)
    pairs: Iterator[tuple[NDArray[np.int64], ...]] = zip(
        releases(columns[0], settings, number),
        releases(columns[1], settings, number, first=1_000),
        strict=True,
    )
    for published in pairs:
        y = joint(asked, published, shape)
        views = [
            view_of_release(np.bincount(codes, minlength=size), codes.size, ell, "mixed")
            for codes, size in zip(published, shape, strict=True)
        ]
        margins = [shrunk_counts(y.sum(axis=2 - k), [view]) for k, view in enumerate(views)]
        signal = product_likelihood(y, views, margins)
        for place, level in enumerate(levels):
            covered[place].times += holds(signal.estimates(level), true)
    show(f"| {name}, with age | {ell} |", covered, true, rows, number)


def holds(found: Estimates, true: Floats) -> NDArray[np.bool_]:
    """Whether each interval holds the truth."""
    inside: NDArray[np.bool_] = (found.low <= true) & (true <= found.high)
    return inside


def classes(true: Floats, rows: int) -> list[NDArray[np.bool_]]:
    """Which counts belong to each class."""
    masks = [(true > a) & (true <= b) for a, b in SMALL]
    return masks + [(true / rows > a) & (true / rows <= b) & (true >= 50) for a, b in SHARES]


def show(
    start: str, covered: list[Covered], true: Floats, rows: int, number: int, last: str = ""
) -> None:
    """A line per kind; `last` is one more cell."""
    masks = classes(true, rows)
    for kind in covered:
        cells = [f"{kind.times[m].mean() / number:.3f}" if m.any() else "-" for m in masks]
        if len(kind.each) > 1:
            errors = np.std(kind.each, axis=0, ddof=1) / np.sqrt(len(kind.each))
            pairs = zip(cells, errors, strict=True)
            cells = [cell if cell == "-" else f"{cell} +- {error:.3f}" for cell, error in pairs]
        print(start, kind.name, "|", " | ".join(cells), f"| {last}".strip(), flush=True)


if __name__ == "__main__":
    main()
