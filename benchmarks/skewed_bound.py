"""Skewed columns: how near could any unbiased method come in the same cells, at the same belief?

The bound of docs/theory/frontier.md is on the variance of all values together, at a mean belief B.
The channel that attains it is that of random groups of some size ell*, not always a whole number:
ell*^2 = (1 - h) / (B - h). The bound is split over values as this channel splits it: if x of n rows
have the value, with a = 1/ell* + (1 - 1/ell*) p and b = (1 - 1/ell*) p,

    Var = ell*^2 (x a(1 - a) + (n - x) b(1 - b)),     mean of |error| = sqrt(2 / pi) sqrt(Var) / x.

The same with what drawing without replacement saves, as our groups do, is the column after it.
Measured errors are means over cells, then over releases; after +- is the standard error over
releases. Prints Markdown, as kept in RESULTS.md.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from benchmarks.skewed import BINS, relative_errors, released, skewed_tables
from benchmarks.tables import Table
from countveil.maths.channel import view_of_release
from countveil.maths.channel.skewed_views import random_variance
from countveil.maths.guarantees.frontier import standing

Floats = NDArray[np.float64]

ELL = 5
TARGETS = (0.135, 0.06, 0.045, 0.035)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--releases", type=int, default=12)
    parser.add_argument("--predicates", type=int, default=100)
    parser.add_argument("--tables", nargs="*", default=["ACS"], help="words in their names")
    options = parser.parse_args()
    print("| table | method | B | over the bound | class | cells | target | bound |", end=" ")
    print("without replacement | unbiased | shrunk |\n|---|---|" + "---|" * 9)
    for table in skewed_tables(options.rows, options.predicates):
        if any(word in table.name for word in options.tables):
            for method in ("random", "common"):
                beside_the_bound(table, method, options.releases)


def beside_the_bound(table: Table, method: str, number: int) -> None:
    """A line for every class."""
    true = table.tallies(table.codes)
    rows, shares = table.codes.size, table.counts / table.codes.size
    release = released(table, method, ELL, 0)
    view = view_of_release(table.counts, rows, ELL, release.groups, release.common)
    assert view.whole is not None
    stands = standing(view.whole, shares)
    h = float(shares @ shares)
    keep = float(np.sqrt((stands.belief - h) / (1 - h)))
    n = np.broadcast_to(true.sum(axis=1)[:, None], true.shape)
    apart = _independent_variance(true, n, shares, keep)
    dealt = random_variance((true, true), (n - true, n - true), shares, rows, keep)
    masks = [(true / rows > a) & (true / rows <= b) for a, b in BINS]
    measured = [
        [[relative[name][mask].mean() for mask in masks] for name in ("unbiased", "shrunk")]
        for relative in relative_errors(table, method, ELL, number)
    ]
    mean, spread = np.mean(measured, axis=0), np.std(measured, axis=0, ddof=1) / np.sqrt(number)
    for place, (mask, (low, high)) in enumerate(zip(masks, BINS, strict=True)):
        least = [
            np.mean(np.sqrt(2 / np.pi * variance[mask]) / true[mask]) for variance in (apart, dealt)
        ]
        print(
            f"| {table.name} | {method} | {stands.belief:.3f} | {stands.distance:.2f} | "
            f"{low:.1%}-{high:.1%} | {mask.sum()} | {TARGETS[place]} | "
            f"{least[0]:.3f} | {least[1]:.3f} |",
            *(f"{m[place]:.3f} +- {s[place]:.3f} |" for m, s in zip(mean, spread, strict=True)),
            flush=True,
        )


def _independent_variance(x: Floats, n: Floats, shares: Floats, keep: float) -> Floats:
    a, b = keep + (1 - keep) * shares, (1 - keep) * shares
    variance: Floats = (x * a * (1 - a) + (n - x) * b * (1 - b)) / keep**2
    return variance


if __name__ == "__main__":
    main()
