"""A bound on the odds: what noise costs, and do intervals cover?

One column, published with noise over its declared values before groups, for several bounds K, with
mixed groups, random groups and common values. Prints the mean relative error of counts of
(predicate, value) over that without noise, unbiased and shrunk, and how often intervals hold the
true count, by class. Columns: occupation (50 values) and detailed occupation (about 500) of ACS
2024 where ../shared/data has it, and those of the built-in census. Prints Markdown, as kept in
RESULTS.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import countveil as cv
from benchmarks.coverage import Covered, classes, holds, show
from benchmarks.tables import Table, prepare
from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.channel.common import frequent_values
from countveil.maths.estimate import shrunk_counts, unbiased_counts
from countveil.maths.estimate.unbiased import unbiased_likelihood
from countveil.maths.groups import ColumnSettings
from countveil.maths.guarantees.odds import gamma_for
from countveil.maths.mechanism import Dealer, draw_column
from countveil.maths.mechanism.noise import draw_noise
from countveil.randomness import Randomness
from tests.repeated_releases import acs_2024

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

ELL = 5
WAYS = ("mixed", "random", "common")
# The class in which the cost of noise is compared, by the true count over the rows.
LEAST, MOST = 0.001, 0.05


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--releases", type=int, default=20)
    parser.add_argument("--predicates", type=int, default=100)
    parser.add_argument("--odds", type=float, nargs="*", default=[10, 20, 50, 200, 1000])
    parser.add_argument("--levels", type=float, nargs="*", default=[0.5, 0.9, 0.95, 0.99])
    parser.add_argument("--only", nargs="*", default=["errors", "coverage"])
    parser.add_argument("--columns", nargs="*", default=[""], help="words in their names")
    parser.add_argument("--spread", action="store_true", help="standard errors over releases")
    parser.add_argument("--quick", action="store_true", help="a look, in about a minute")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.releases, options.predicates = 20_000, 3, 40
        options.odds, options.levels = [20], [0.95]
    several = [
        table
        for table in declared_columns(options.rows, options.predicates)
        if any(word in table.name for word in options.columns)
    ]
    if "errors" in options.only:
        all_errors(several, options.odds, options.releases)
    if "coverage" in options.only:
        all_coverage(several, options)


def all_errors(several: list[Table], bounds: list[float], number: int) -> None:
    """A line for every column, kind of groups and K."""
    print("| column | values | groups | K | gamma | unbiased / without noise | shrunk / without |")
    print("|---|---|---|---|---|---|---|")
    for table in several:
        size = table.counts.size
        for way in WAYS:
            plain = errors(table, way, None, number)
            for odds in bounds:
                noised = errors(table, way, odds, number)
                gamma = gamma_for(odds, size, ELL, different=way == "mixed")
                ratios = " | ".join(
                    f"{noised[name]:.3f} / {plain[name]:.3f} = {noised[name] / plain[name]:.2f}"
                    for name in ("unbiased", "shrunk")
                )
                print(
                    f"| {table.name} | {size} | {way} | {odds:g} | {gamma:.3f} | {ratios} |",
                    flush=True,
                )
    print()


def all_coverage(several: list[Table], options: argparse.Namespace) -> None:
    """A line for every column, kind of groups, K and level."""
    print("| column, groups | K | level |", *(f"{head} |" for head in HEADS))
    print("|---|---|---|" + "---|" * len(HEADS))
    for table in several:
        true = table.tallies(table.codes)
        for way in WAYS:
            for odds in options.odds:
                covered = coverage(table, way, odds, options)
                start = f"| {table.name}, {way} | {odds:g} |"
                show(start, covered, true, table.codes.size, options.releases)


HEADS = (
    "0", "1-9", "10-49", "0.0%-0.1%", "0.1%-0.5%", "0.5%-1.0%", "1.0%-2.0%", "2.0%-5.0%",
)  # fmt: skip


def declared_columns(rows: int, predicates: int) -> Iterator[Table]:
    """Columns with few values and with many."""
    acs = acs_2024(rows)
    if acs is not None:
        plain = ["Age", "Gender", "Education", "Marital", "Race", "Workclass"]
        yield prepare("ACS 2024, occupation", acs, plain, "Occupation50", predicates)
        yield prepare("ACS 2024, detailed occupation", acs, plain, "OccupationDetail", predicates)
        return
    census = cv.generate(rows, seed=1)
    assert census is not None
    plain = ["age", "gender", "education", "marital", "race", "workclass"]
    yield prepare("built-in census, occupation", census, plain, "occupation", predicates)


def errors(table: Table, way: str, odds: float | None, number: int) -> dict[str, float]:
    """Mean relative errors of counts of `LEAST` to `MOST` of the rows, by method."""
    true = table.tallies(table.codes)
    sizes = true.sum(axis=1)
    share = true / table.codes.size
    inside = (share > LEAST) & (share <= MOST)
    mean = {"unbiased": 0.0, "shrunk": 0.0}
    for seed in range(number):
        published, view = released(table, way, odds, seed)
        y = table.tallies(published)
        plain = unbiased_counts(y, sizes, view, 0.95).estimate
        independent = sizes[:, None] * view.shares
        answers = {
            "unbiased": np.where(np.isnan(plain), independent, plain),
            "shrunk": shrunk_counts(y, [view]),
        }
        for method, answer in answers.items():
            relative = np.abs(np.maximum(answer, 0) - true) / np.maximum(true, 1)
            mean[method] += float(relative[inside].mean()) / number
    return mean


def coverage(table: Table, way: str, odds: float, options: argparse.Namespace) -> list[Covered]:
    """How often the intervals of each level held the truth."""
    true = table.tallies(table.codes)
    sizes, masks = true.sum(axis=1), classes(true, table.codes.size)
    covered = [Covered(f"{level}", 0 * true) for level in options.levels]
    for seed in range(options.releases):
        published, view = released(table, way, odds, seed)
        likelihood = unbiased_likelihood(table.tallies(published), sizes, view)
        for kind, level in zip(covered, options.levels, strict=True):
            kind.add(holds(likelihood.estimates(level), true), masks if options.spread else None)
    return covered


def released(table: Table, way: str, odds: float | None, seed: int) -> tuple[Codes, ChannelView]:
    """What rows publish, and the channel; all values are declared."""
    randomness = Randomness(seed)
    codes, values, noise = table.codes, table.counts.size, None
    if odds is not None:
        gamma = gamma_for(odds, values, ELL, different=way == "mixed")
        drawn = draw_noise(table.counts, gamma, randomness.stream("noise"))
        codes = Dealer(drawn, randomness.stream("deal noise")).deal(codes)
        noise = gamma, values
    counts = np.bincount(codes, minlength=values)
    common = tuple(frequent_values(counts, ELL).tolist()) if way == "common" else ()
    groups = "random" if way == "random" else "mixed"
    streams = randomness.stream("groups"), randomness.stream("draw")
    table_of = draw_column(counts, ColumnSettings(ELL, groups), streams, common)
    published = Dealer(table_of, randomness.stream("deal")).deal(codes)
    histogram = np.bincount(published, minlength=values)
    return published, view_of_release(histogram, codes.size, ELL, groups, common, noise)


if __name__ == "__main__":
    main()
