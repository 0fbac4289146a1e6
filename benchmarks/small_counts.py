"""How near do answers come to small counts? Repeated releases of tables whose truth is known.

For counts of exactly 5, 10, 20, 50 and 100 rows: how many answers are within 30% of the truth.
First for a value in the whole table, where the published count is the answer (measured beside the
exact probability, with values of this size planted among the others); then for a value combined
with random conjunctive predicates of one to three plain columns, answered by the default method.
Prints Markdown, as kept in RESULTS.md.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import Table, tables
from countveil.maths.channel import view_of_release
from countveil.maths.estimate import shrunk_counts
from countveil.maths.groups import ColumnSettings, largest_ell
from countveil.maths.guarantees import chance_within
from tests.repeated_releases import releases

SIZES = (5, 10, 20, 50, 100)
ERROR = 0.3
PLANTED = 40


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--releases", type=int, default=5)
    parser.add_argument("--predicates", type=int, default=300)
    parser.add_argument("--ell", type=int, nargs="*", default=[5])
    options = parser.parse_args()
    print("| table | ell | answers within 30% |", *(f"{size} |" for size in SIZES))
    print("|---|---|---|" + "---|" * len(SIZES))
    for ell in options.ell:
        exact = (f"{chance_within(size, ell, ERROR):.3f}" for size in SIZES)
        print(f"| any | {ell} | whole table, exact |", " | ".join(exact), "|")
        for table in tables(options.rows, options.predicates):
            if ell <= largest_ell(table.counts):
                whole = [planted(table, ell, size, options.releases) for size in SIZES]
                line(table, ell, "whole table", whole)
                line(table, ell, "combined with columns", combined(table, ell, options.releases))


def line(table: Table, ell: int, what: str, shares: list[float]) -> None:
    """One line of the table."""
    cells = ("-" if np.isnan(share) else f"{share:.3f}" for share in shares)
    print(f"| {table.name} | {ell} | {what} |", " | ".join(cells), "|", flush=True)


def planted(table: Table, ell: int, size: int, number: int) -> float:
    """Some rows of the table get values of their own, each with exactly this many rows."""
    codes, first = table.codes.copy(), table.counts.size
    rows = np.random.default_rng(size).permutation(codes.size)[: PLANTED * size]
    codes[rows] = first + np.repeat(np.arange(PLANTED), size)
    near = [
        within(np.bincount(published, minlength=first + PLANTED)[first:].astype(float), size)
        for published in releases(codes, ColumnSettings(ell), number)
    ]
    return float(np.mean(near))


def combined(table: Table, ell: int, number: int) -> list[float]:
    """Counts within predicates that have exactly the size."""
    true = table.tallies(table.codes)
    near: dict[int, list[NDArray[np.bool_]]] = {size: [] for size in SIZES}
    for published in releases(table.codes, ColumnSettings(ell), number):
        histogram = np.bincount(published, minlength=table.counts.size)
        view = view_of_release(histogram, table.codes.size, ell, "mixed")
        answers = shrunk_counts(table.tallies(published), [view])
        for size, found in near.items():
            found.append(within(answers[true == size], size))
    return [
        float(np.concatenate(f).mean()) if np.concatenate(f).size else np.nan for f in near.values()
    ]


def within(answers: NDArray[np.float64], size: int) -> NDArray[np.bool_]:
    """Which answers are within 30%."""
    near: NDArray[np.bool_] = np.abs(answers - size) <= ERROR * size + 1e-9
    return near


if __name__ == "__main__":
    main()
