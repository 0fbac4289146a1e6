"""Do errors of sets of values, and of comparisons, keep what they promise?

Repeated releases of tables whose truth is known. `--what`:

sets          counts of 2 values, of 10, of half of all and of all but 3, in random predicates, in
              half of the table and in all of it: how often the 95% interval holds the true count,
              and the printed standard error over the true one
differences   shares of sets and single values in two groups (complementary, disjoint, nested):
              difference, ratio and odds ratio
tests         how often tests reject at 0.05 what is true
empty         how often the lower end for a value that no row of the predicate has is above 0
averages      averages of a number over rows with one value, by their true count

Prints Markdown, as kept in RESULTS.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import Table, tables
from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.estimate import ALWAYS, NEVER, Tallies, make_estimator
from countveil.maths.groups import ColumnSettings, largest_ell
from tests.repeated_releases import releases

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

SIZES = ("2", "10", "half", "all but 3")
SHARES = (("below 2%", 0.0, 0.02), ("2-30%", 0.02, 0.3), ("30-99%", 0.3, 0.99), ("all", 0.99, 2.0))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--what", default="sets")
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--releases", type=int, default=100)
    parser.add_argument("--predicates", type=int, default=12)
    parser.add_argument("--groups", choices=["mixed", "random"], default="mixed")
    parser.add_argument("--ell", type=int, nargs="*", default=[2, 5, 10])
    parser.add_argument("--table", default="", help="only tables with this in their name")
    options = parser.parse_args()
    measure = {"sets": sets}[options.what]
    for ell in options.ell:
        for table in tables(options.rows, options.predicates, more=True):
            if options.table in table.name and ell <= largest_ell(table.counts):
                measure(table, ColumnSettings(ell, options.groups), options.releases)


def sets(table: Table, settings: ColumnSettings, number: int) -> None:
    """Counts of sets of values."""
    rng = np.random.default_rng(11)
    size, rows = table.counts.size, table.codes.size
    predicates = [*table.predicates, np.flatnonzero(rng.random(rows) < 0.5), np.arange(rows)]
    chosen = [_sets(size, rng) for _ in predicates]
    true = _of_sets(_tallied(table.codes, predicates, size), chosen)
    held, error, estimate = 0 * true, 0 * true, []
    for _, y, view in published(table, settings, number, predicates):
        answers = [_answer(line, lines, view) for line, lines in zip(y, chosen, strict=True)]
        low, high, told, unbiased = np.moveaxis(np.array(answers), 2, 0)
        held += (low <= true) & (true <= high)
        error += told
        estimate.append(unbiased)
    spread = np.std(estimate, axis=0, ddof=1)
    ratio = error / number / np.maximum(spread, 1e-9)
    shares = np.array([predicate.size / rows for predicate in predicates])
    for name, least, most in SHARES:
        here = (shares >= least) & (shares < most)
        if here.any():
            cells = [
                f"{held[here, k].mean() / number:.3f} ({np.median(ratio[here, k]):.2f})"
                for k in range(len(SIZES))
            ]
            print(f"| {table.name} | {settings.ell} | {name} |", " | ".join(cells), "|", flush=True)


def published(
    table: Table, settings: ColumnSettings, number: int, predicates: list[Codes]
) -> Iterator[tuple[Codes, Floats, ChannelView]]:
    """Published codes, their tallies and the view of each release."""
    size = table.counts.size
    for codes in releases(table.codes, settings, number):
        histogram = np.bincount(codes, minlength=size)
        view = view_of_release(histogram, codes.size, settings.ell, settings.groups)
        yield codes, _tallied(codes, predicates, size), view


def _sets(size: int, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
    lines = []
    for chosen in (2, min(10, size // 3), size // 2, size - 3):
        line = np.zeros(size, bool)
        line[rng.choice(size, chosen, replace=False)] = True
        lines.append(line)
    return lines


def _tallied(codes: Codes, predicates: list[Codes], size: int) -> Floats:
    found = [np.bincount(codes[rows], minlength=size) for rows in predicates]
    return np.array(found, np.float64)


def _of_sets(counts: Floats, chosen: list[list[NDArray[np.bool_]]]) -> Floats:
    return np.array([
        [line[values].sum() for values in lines]
        for line, lines in zip(counts, chosen, strict=True)
    ])  # fmt: skip


def _answer(
    y: Floats, chosen: list[NDArray[np.bool_]], view: ChannelView
) -> list[tuple[float, float, float, float]]:
    tallies = Tallies(np.zeros((1, 0), bool), y[None, None, None], np.zeros(0), [view], [False])
    estimator = make_estimator("unbiased", "exact", 0.95)
    answers = []
    for values in chosen:
        total = tallies.total(np.where(values, ALWAYS, NEVER), None)
        cells = estimator.total(tallies, total, is_count=True).flat()
        arrays = (cells.low, cells.high, cells.std_error, cells.estimate)
        low, high, error, estimate = (float(array[0]) for array in arrays)
        answers.append((low, high, error, estimate))
    return answers


if __name__ == "__main__":
    main()
