"""Do the intervals cover what they promise? Repeated releases of tables whose truth is known.

For each table and ell: random conjunctive predicates of one to three plain columns, combined with
every sensitive value. Measured, by selectivity (true count over rows): how often the 95% interval
holds the true count; how often it would if the two-state channel were trusted as it is; the
average relative error. Prints Markdown, as kept in RESULTS.md.

Tables: the built-in census; and, where the folder is present, ACS 2024 and UCI Adult from
../shared/data (not part of this project).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

import countveil as cv
from countveil.channel import view_of_release
from countveil.decoys import ColumnSettings, form_groups, largest_ell
from countveil.estimate import unbiased_counts
from countveil.mechanism import Dealer, draw_published
from countveil.randomness import Randomness

SHARED = Path(__file__).parents[2] / "shared" / "data"
BINS = ((0.0, 0.0001), (0.0001, 0.001), (0.001, 0.005), (0.005, 0.01), (0.01, 0.02), (0.02, 0.05))


@dataclass(frozen=True)
class Table:
    """A table whose truth is known."""

    name: str
    codes: NDArray[np.int64]
    predicates: list[NDArray[np.int64]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--predicates", type=int, default=150)
    parser.add_argument("--groups", choices=["mixed", "anatomy"], default="mixed")
    options = parser.parse_args()
    print("| table | ell | measure |", *(f"{a:.2%}-{b:.2%} |" for a, b in BINS))
    print("|---|---|---|" + "---|" * len(BINS))
    for table in tables(options.rows, options.predicates):
        top = largest_ell(np.bincount(table.codes))
        for ell in (2, 5, 10):
            if ell <= top:
                measure(table, ColumnSettings(ell, options.groups), options.releases)


def tables(rows: int, n_predicates: int) -> Iterator[Table]:
    """The built-in census, and what else is at hand."""
    census = cv.generate(rows, seed=1)
    assert census is not None
    plain = ["age", "gender", "education", "marital", "race", "workclass"]
    yield prepare("built-in census, occupation", census, plain, "occupation", n_predicates)
    acs = SHARED / "acs2024" / "acs2024_census_like_500k_A.csv.gz"
    if acs.exists():
        table = pa.csv.read_csv(acs).slice(0, rows)
        plain = ["Age", "Gender", "Education", "Marital", "Race", "Workclass"]
        yield prepare("ACS 2024, Occupation50", table, plain, "Occupation50", n_predicates)
    adult = SHARED / "uci_adult" / "adult.csv.gz"
    if adult.exists():
        table = pa.csv.read_csv(adult)
        plain = ["age", "sex", "education", "marital-status", "race", "workclass"]
        yield prepare("UCI Adult, occupation", table, plain, "occupation", n_predicates)


def prepare(
    name: str, table: pa.Table, plain: list[str], sensitive: str, n_predicates: int
) -> Table:
    """Codes, and random predicates that at least 200 rows meet."""
    codes = np.unique(table[sensitive].to_numpy(), return_inverse=True)[1].astype(np.int64)
    columns = {column: table[column].to_numpy() for column in plain}
    rng = np.random.default_rng(5)
    predicates: list[NDArray[np.int64]] = []
    while len(predicates) < n_predicates:
        row = rng.integers(codes.size)
        chosen = rng.choice(plain, rng.integers(1, 4), replace=False)
        met = np.all([columns[column] == columns[column][row] for column in chosen], axis=0)
        if met.sum() >= 200:
            predicates.append(np.flatnonzero(met))
    return Table(name, codes, predicates)


def measure(table: Table, settings: ColumnSettings, releases: int) -> None:
    """Two lines of coverage and one of error."""
    ell = settings.ell
    counts = np.bincount(table.codes)
    rows, n_values = table.codes.size, counts.size
    sizes = np.array([float(p.size) for p in table.predicates])
    true = np.array([np.bincount(table.codes[p], minlength=n_values) for p in table.predicates])
    covered, naive, errors = (np.zeros(true.shape) for _ in range(3))
    for number in range(releases):
        randomness = Randomness(number)
        groups = form_groups(counts, settings, randomness.stream("groups"))
        drawn = draw_published(groups, randomness.stream("draw"))
        published = Dealer(drawn, randomness.stream("deal")).deal(table.codes)
        histogram = np.bincount(published, minlength=n_values)
        view = view_of_release(histogram, rows, ell, settings.groups)
        y = np.array([np.bincount(published[p], minlength=n_values) for p in table.predicates])
        found = unbiased_counts(y.astype(np.float64), sizes, view, 0.95)
        covered += (found.low <= true) & (true <= found.high)
        two_states = replace(view, two_state_holds=True, whole=None)
        trusting = unbiased_counts(y * 1.0, sizes, two_states, 0.95)
        naive += (trusting.low <= true) & (true <= trusting.high)
        estimate = np.nan_to_num(np.maximum(found.estimate, 0))
        errors += np.abs(estimate - true) / np.maximum(true, 1)
    share = true / rows
    inside = [(share > a) & (share <= b) & (true > 0) for a, b in BINS]
    measures = {
        "coverage": covered,
        "coverage if the two-state channel is trusted": naive,
        "relative error": errors,
    }
    for name, sums in measures.items():
        cells = (f"{sums[mask].mean() / releases:.3f}" if mask.any() else "-" for mask in inside)
        print(f"| {table.name} | {ell} | {name} |", *(f"{cell} |" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
