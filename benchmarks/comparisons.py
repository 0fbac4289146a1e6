"""Do errors of sets of values, and of comparisons, keep what they promise?

Repeated releases of tables whose truth is known. `--what`:

sets          counts of 2 values, of 10, of half of all and of all but 3, in random predicates, in
              half of the table and in all of it: how often the 95% interval holds the true count
              (with its standard error between releases), and the printed standard error over the
              true one
apart         the same for sets of two columns that have a draw each: 2 values and 2, 2 and half,
              half and half, all but 3 and half
differences   differences of shares of sets and single values in two groups (complementary,
              disjoint, nested)
tests         how often tests reject at 0.05 what is true
empty         how often the lower end for a value that no row of the predicate has is above 0

Prints Markdown, as kept in RESULTS.md.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Iterator
from functools import partial
from statistics import NormalDist

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import countveil as cv
from benchmarks.tables import Table, tables
from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.estimate import ALWAYS, NEVER, Tallies, make_estimator
from countveil.maths.estimate.unbiased import unbiased_likelihood
from countveil.maths.groups import ColumnSettings, largest_ell
from tests.repeated_releases import coded, releases

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

SIZES = ("2", "10", "half", "all but 3")
SHARES = (("below 2%", 0.0, 0.02), ("2-30%", 0.02, 0.3), ("30-99%", 0.3, 0.99), ("all", 0.99, 2.0))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    what = ["sets", "apart", "differences", "tests", "empty"]
    parser.add_argument("--what", choices=what, default="sets")
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--releases", type=int, default=100)
    parser.add_argument("--predicates", type=int, default=12)
    parser.add_argument("--sets", type=int, default=1, help="of each size in a predicate")
    parser.add_argument("--groups", choices=["mixed", "random"], default="mixed")
    parser.add_argument("--ell", type=int, nargs="*", default=[2, 5, 10])
    parser.add_argument("--table", default="", help="only tables with this in their name")
    options = parser.parse_args()
    public = {"differences": differences, "tests": tests}
    if options.what in public:
        for ell in options.ell:
            public[options.what](options.rows, ell, options.releases)
        return
    of_sets = {"sets": sets, "apart": apart}
    measure = (
        empty if options.what == "empty" else partial(of_sets[options.what], different=options.sets)
    )
    for ell in options.ell:
        for table in tables(options.rows, options.predicates, more=True):
            if options.table in table.name and ell <= largest_ell(table.counts):
                measure(table, ColumnSettings(ell, options.groups), options.releases)


def sets(table: Table, settings: ColumnSettings, number: int, different: int) -> None:
    """Counts of sets of values: `different` ones of each size in every predicate.

    Intervals of one release depend on each other, so standard errors are those between releases.
    """
    rng = np.random.default_rng(11)
    size, rows = table.counts.size, table.codes.size
    predicates = [*table.predicates, np.flatnonzero(rng.random(rows) < 0.5), np.arange(rows)]
    # By size, then by number.
    chosen = [line for lines in zip(*(_sets(size, rng) for _ in range(different)), strict=True)
              for line in lines]  # fmt: skip
    true = _of_sets(_tallied(table.codes, predicates, size), chosen)
    held = np.zeros((number, *true.shape), bool)
    error, estimate = np.zeros((2, number, *true.shape))
    for place, (_, y, view) in enumerate(published(table, settings, number, predicates)):
        low, high, error[place], estimate[place] = _answers(y, chosen, view)
        held[place] = (low <= true) & (true <= high)
    shares = np.array([predicate.size / rows for predicate in predicates])
    _print(table.name, settings.ell, shares, held, error, estimate, len(SIZES))


def _print(
    name: str,
    ell: int,
    shares: Floats,
    held: NDArray[np.bool_],
    error: Floats,
    estimate: Floats,
    kinds: int,
) -> None:
    """By share of the table and kind of set: how often, and the printed error over the true one."""
    ratio = np.sqrt((error**2).mean(axis=0)) / np.maximum(estimate.std(axis=0, ddof=1), 1e-9)
    number = len(held)
    held = held.reshape(number, shares.size, kinds, -1)
    ratio = ratio.reshape(shares.size, kinds, -1)
    for size, least, most in SHARES:
        here = (shares >= least) & (shares < most)
        if here.any():
            by_release = held[:, here].mean(axis=(1, 3))
            share, spread = by_release.mean(axis=0), by_release.std(axis=0, ddof=1) / number**0.5
            cells = [
                f"{share[k]:.3f} +- {spread[k]:.3f} ({np.median(ratio[here, k]):.2f})"
                for k in range(kinds)
            ]
            print(f"| {name} | {ell} | {size} |", " | ".join(cells), "|", flush=True)


# Of both columns: how many values, and how the sets are called.
BOTH = (("2", "2"), ("2", "half"), ("half", "half"), ("all but 3", "half"))


def apart(table: Table, settings: ColumnSettings, number: int, different: int) -> None:
    """Counts of sets of values of two columns with a draw each, the second one of age."""
    rng = np.random.default_rng(12)
    age = next(name for name in table.columns if name.lower().startswith("age"))
    codes = (table.codes, table.columns[age])
    sizes = [int(each.max()) + 1 for each in codes]
    if settings.ell > largest_ell(np.bincount(codes[1])):
        return
    rows = codes[0].size
    with_plain = zip(table.predicates, table.conditions, strict=True)
    predicates = [met for met, condition in with_plain if age not in condition]
    predicates += [np.flatnonzero(rng.random(rows) < 0.5), np.arange(rows)]
    chosen = []
    for pair in BOTH:
        for _ in range(different):
            lines = [
                _sets(size, rng)[SIZES.index(of)] for size, of in zip(sizes, pair, strict=True)
            ]
            chosen.append(np.outer(*lines))
    flat = codes[0] * sizes[1] + codes[1]
    counts = _tallied(flat, predicates, math.prod(sizes))
    true = _of_sets(counts, [values.ravel() for values in chosen])
    held = np.zeros((number, *true.shape), bool)
    error, estimate = np.zeros((2, number, *true.shape))
    drawn = (releases(codes[0], settings, number), releases(codes[1], settings, number, 10**6))
    for place, columns in enumerate(zip(*drawn, strict=True)):
        views = [
            view_of_release(np.bincount(each, minlength=size), rows, settings.ell, settings.groups)
            for each, size in zip(columns, sizes, strict=True)
        ]
        y = _tallied(columns[0] * sizes[1] + columns[1], predicates, math.prod(sizes))
        answers = _answers(y.reshape(-1, *sizes), chosen, *views)
        low, high, error[place], estimate[place] = answers
        held[place] = (low <= true) & (true <= high)
    shares = np.array([predicate.size / rows for predicate in predicates])
    name = f"{table.name} and {age}"
    _print(name, settings.ell, shares, held, error, estimate, len(BOTH))


CONDITIONS = (
    "occupation = 'secretary'",
    "occupation = 'driver'",
    "occupation IN ('driver', 'cook', 'nurse', 'secretary', 'accountant')",
    "occupation NOT IN ('driver', 'cook', 'nurse')",
)
GROUPS = {
    "complementary": (("gender = 'F'", "gender = 'M'"), ("age < 40", "age >= 40")),
    "disjoint": (("marital = 'married'", "marital = 'divorced'"), ("age < 25", "age > 60")),
    "nested": (("age < 40", "age < 200"), ("gender = 'F' AND age < 40", "gender = 'F'")),
}


def differences(rows: int, ell: int, number: int) -> None:
    """How often intervals of differences of shares hold the truth; the error over the true one.

    The interval is that of `release.compare`: normal, with the covariance of both counts.
    """
    census = cv.generate(rows, seed=1)
    assert census is not None
    codes = coded(census["occupation"])
    names = np.unique(census["occupation"].to_numpy().astype(str))
    chosen = [_rows(of, pa.table({"occupation": names})) for of in CONDITIONS]
    pairs = [(kind, pair) for kind, pairs in GROUPS.items() for pair in pairs]
    groups = [[_rows(group, census) for group in pair] for _, pair in pairs]
    off, error = np.zeros((2, number, len(pairs), len(chosen)))
    for place, published in enumerate(releases(codes, ColumnSettings(ell, "mixed"), number)):
        histogram = np.bincount(published, minlength=names.size)
        view = view_of_release(histogram, rows, ell, "mixed")
        for pair, met in enumerate(groups):
            for which, values in enumerate(chosen):
                told, variance = _difference(published, view, met, values)
                true = [values[codes[group]].mean() for group in met]
                off[place, pair, which] = told - (true[0] - true[1])
                error[place, pair, which] = np.sqrt(variance)
    held = np.abs(off) <= NormalDist().inv_cdf(0.975) * error
    ratio = np.sqrt((error**2).mean(axis=0)) / off.std(axis=0, ddof=1)
    for kind in GROUPS:
        here = [place for place, (name, _) in enumerate(pairs) if name == kind]
        shares = held[:, here].mean(axis=(1, 2))
        spread = shares.std(ddof=1) / np.sqrt(number)
        print(
            f"| {ell} | {kind} | {shares.mean():.3f} | {spread:.3f} | {held[:, here].size:,} | "
            f"{ratio[here].min():.2f}-{ratio[here].max():.2f} |",
            flush=True,
        )


def _rows(condition: str, table: pa.Table) -> NDArray[np.bool_]:
    connection = duckdb.connect()
    connection.register("rows", table)
    (column,) = connection.sql(f"SELECT {condition} AS met FROM rows").fetchnumpy().values()
    return np.asarray(column, bool)


def _difference(
    published: Codes,
    view: ChannelView,
    met: list[NDArray[np.bool_]],
    values: NDArray[np.bool_],
) -> tuple[float, float]:
    """The estimated difference of the shares of some values in two groups, and its variance."""
    pattern = 2 * met[0].astype(np.int64) + met[1]
    counts = np.bincount(pattern * values.size + published, minlength=4 * values.size)
    moments = counts.reshape(1, 1, 4, values.size).astype(np.float64)
    truths = np.array([[False, False], [False, True], [True, False], [True, True]])
    tallies = Tallies(truths, moments, np.zeros(0), [view], [False])
    one, two = (tallies.total(np.where(values, group, NEVER), None) for group in range(2))
    n, m = (float(group.sum()) for group in met)
    first, both, second = (float(array[0, 0]) for array in one.pair(two, 0))
    told = float(one.estimate[0, 0]) / n - float(two.estimate[0, 0]) / m
    return told, first / n**2 + second / m**2 - 2 * both / (n * m)


def empty(table: Table, settings: ColumnSettings, number: int) -> None:
    """How often the lower end for a value that no row of the predicate has is above 0."""
    levels = (0.95, 0.97, 0.99, 0.995, 0.999)
    true = table.tallies(table.codes)
    none = true == 0
    above = np.zeros(len(levels))
    for _, y, view in published(table, settings, number, table.predicates):
        likelihood = unbiased_likelihood(y, y.sum(axis=1), view)
        above += [float((likelihood.estimates(level).low > 0)[none].mean()) for level in levels]
    if none.any():
        cells = [f"{share / number:.4f}" for share in above]
        print(
            f"| {table.name} | {settings.ell} |", " | ".join(cells), f"| {none.sum()} |", flush=True
        )


def tests(rows: int, ell: int, number: int) -> None:
    """How often a true hypothesis is rejected at 0.05."""
    census = cv.generate(rows, seed=1)
    assert census is not None
    rejected: dict[str, list[bool]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(number):
            rng = np.random.default_rng(seed)
            coins = {f"coin{k}": rng.integers(0, k, rows) for k in (2, 5)}
            rare = (rng.random(rows) < 0.03).astype(np.int64)
            shares = np.full(20, 0.05)
            drawn = rng.choice(20, rows, p=shares)
            table = pa.table({**coins, "rare": rare, "drawn": drawn,
                              "occupation": census["occupation"]})  # fmt: skip
            ells = {"occupation": ell, "drawn": ell}
            release = cv.publish(table, ells, f"{folder}/{seed}", seed=seed, keep=["drawn"])
            for column in (*coins, "rare"):
                p = release.independence(column, "occupation").p_value
                rejected.setdefault(f"occupation and {column}", []).append(p < 0.05)
            p = release.goodness_of_fit("drawn", dict(enumerate(shares.tolist()))).p_value
            rejected.setdefault("shares of 20 values", []).append(p < 0.05)
    for name, times in rejected.items():
        print(f"| {ell} | {name} | {np.mean(times):.3f} | {len(times)} |", flush=True)


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


def _of_sets(counts: Floats, chosen: list[NDArray[np.bool_]]) -> Floats:
    return np.stack([counts[:, values].sum(axis=1) for values in chosen], axis=1)


def _answers(y: Floats, chosen: list[NDArray[np.bool_]], *views: ChannelView) -> Floats:
    """Both ends, the error and the estimate, by predicate and set."""
    by_value = [False] * len(views)
    tallies = Tallies(np.zeros((1, 0), bool), y[None, :, None], np.zeros(0), views, by_value)
    estimator = make_estimator("unbiased", "exact", 0.95)
    answers = []
    for values in chosen:
        total = tallies.total(np.where(values, ALWAYS, NEVER), None)
        cells = estimator.total(tallies, total, is_count=True).flat()
        answers.append([cells.low, cells.high, cells.std_error, cells.estimate])
    return np.moveaxis(np.array(answers), 0, 2)


if __name__ == "__main__":
    main()
