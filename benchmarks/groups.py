"""Greedy against mixed decoy groups: accuracy, and what they let an adversary guess.

For each number of rows and ell, on the histogram of an occupation column: the condition number of W
(how much inverting it amplifies noise), the median over published values of the perplexity of the
posterior over true values (how many candidates a published value leaves), and for mixed groups the
largest departure of the number of meetings from the design that analysts fit, the largest shift of
an estimate by it in standard errors (in brackets: of values with 300 rows or more), and the time.
With --coverage, how often 95% intervals hold the truth, from tallies drawn without rows.
Prints Markdown, as kept in RESULTS.md.

Tables: ACS 2024 from ../shared/data where it is present (not part of this project), else the
built-in census. Other numbers of rows scale the histogram and the predicates.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

import countveil as cv
from countveil.channel import (
    Templates,
    channel_matrix,
    design_channel,
    greedy_templates,
    view_of_release,
)
from countveil.decoys import mixed_groups
from countveil.estimate import unbiased_counts
from countveil.estimate.unbiased import unbiased_variance
from countveil.randomness import Randomness

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

ACS = (
    Path(__file__).parents[2] / "shared" / "data" / "acs2024" / "acs2024_census_like_500k_A.csv.gz"
)
BINS = ((0.0, 0.0001), (0.0001, 0.001), (0.001, 0.005), (0.005, 0.01), (0.01, 0.05))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[10**3, 10**4, 100_800, 10**7, 10**9]
    )
    parser.add_argument("--predicates", type=int, default=200)
    parser.add_argument("--coverage", type=int, default=0, help="releases per predicate")
    options = parser.parse_args()
    name, counts, predicates = histogram_and_predicates(options.predicates)
    print(f"{name}\n")
    if options.coverage:
        coverage(counts, predicates, options.rows, options.coverage)
        return
    titles = "condition of W", "perplexity", "largest C - C*", "worst shift", "time"
    print("| rows | ell | groups |", *(f"{title} |" for title in titles))
    print("|---|---|---|" + "---|" * len(titles))
    for rows in options.rows:
        for ell in (2, 5, 10):
            scaled, met = scale(counts, predicates, rows)
            compare(scaled, met, ell)


def histogram_and_predicates(n_predicates: int) -> tuple[str, Counts, Counts]:
    """Counts of the occupations, and in each random conjunctive predicate."""
    if ACS.exists():
        name, table = "ACS 2024, Occupation50", pa.csv.read_csv(ACS).slice(0, 100_800)
        plain = ["Age", "Gender", "Education", "Marital", "Race", "Workclass"]
        sensitive = "Occupation50"
    else:
        name, table = "built-in census, occupation", cv.generate(100_800, seed=1)
        plain = ["age", "gender", "education", "marital", "race", "workclass"]
        sensitive = "occupation"
    codes = np.unique(table[sensitive].to_numpy(), return_inverse=True)[1].astype(np.int64)
    columns = {column: table[column].to_numpy() for column in plain}
    rng = np.random.default_rng(5)
    n_values = int(codes.max()) + 1
    found: list[Counts] = []
    while len(found) < n_predicates:
        row = rng.integers(codes.size)
        chosen = rng.choice(plain, rng.integers(1, 4), replace=False)
        met = np.all([columns[column] == columns[column][row] for column in chosen], axis=0)
        if met.sum() >= 200:
            found.append(np.bincount(codes[met], minlength=n_values))
    return name, np.bincount(codes), np.array(found)


def scale(counts: Counts, predicates: Counts, rows: int) -> tuple[Counts, Counts]:
    """The histogram with exactly so many rows, and the predicates' parts of it."""
    ends = np.floor(np.cumsum(counts) / counts.sum() * rows + 0.5).astype(np.int64)
    scaled = np.diff(ends, prepend=0)
    shares = predicates / np.maximum(counts, 1)
    return scaled, np.rint(shares * scaled).astype(np.int64)


def compare(counts: Counts, met: Counts, ell: int) -> None:
    """One line for greedy and one for mixed groups."""
    started = time.perf_counter()
    greedy = greedy_templates(counts, ell)
    between = time.perf_counter()
    mixed = mixed_groups(counts, ell, Randomness(1).stream("groups"))
    ended = time.perf_counter()
    for name, groups, seconds in (
        ("greedy", greedy, between - started),
        ("mixed", mixed, ended - between),
    ):
        whole = channel_matrix(groups)
        cells = [f"{np.linalg.cond(whole):.1f}", f"{perplexity(whole, counts):.1f}"]
        if name == "mixed":
            off = counts[:, None] * (whole - design_channel(counts, ell))
            np.fill_diagonal(off, 0.0)
            cells += [f"{ell * np.abs(off).max():.1f}", shift(off, counts, met, ell)]
        else:
            cells += ["", ""]
        cells.append(f"{seconds:.2f} s")
        print(f"| {counts.sum():,} | {ell} | {name} |", " | ".join(cells), "|", flush=True)


def perplexity(whole: Floats, counts: Counts) -> float:
    """Median over published values of exp(entropy of the true value)."""
    joint = whole * counts[:, None]
    posterior = joint / joint.sum(axis=0)
    logs = np.log(np.where(posterior > 0, posterior, 1.0))
    return float(np.median(np.exp(-(posterior * logs).sum(axis=0))))


def shift(off: Floats, counts: Counts, met: Counts, ell: int) -> str:
    """The largest shift in standard errors: of all values, and of those with 300 rows or more."""
    rows, a = float(counts.sum()), 1 / ell
    b = counts * (1 - a) / (rows - counts)
    sizes = met.sum(axis=1, keepdims=True).astype(np.float64)
    at = np.maximum(met, 1).astype(np.float64)
    variance = unbiased_variance(at, sizes, counts.astype(np.float64), rows, a)
    moved = np.abs((met / np.maximum(counts, 1)) @ off / (a - b)) / np.sqrt(variance)
    usual = moved[np.broadcast_to(counts >= 300, moved.shape)]
    return f"{moved.max():.3f} ({usual.max():.3f})" if usual.size else f"{moved.max():.3f} (-)"


def coverage(counts: Counts, predicates: Counts, sizes: list[int], releases: int) -> None:
    """How often intervals hold the truth, by true count over rows."""
    print("| rows | ell |", *(f"{a:.2%}-{b:.2%} |" for a, b in BINS))
    print("|---|---|" + "---|" * len(BINS))
    rng = np.random.default_rng(1)
    for rows in sizes:
        for ell in (2, 5, 10):
            scaled, met = scale(counts, predicates, rows - rows % ell)
            groups = mixed_groups(scaled, ell, Randomness(1).stream("groups"))
            hits, shares = [], []
            for x in np.repeat(met, releases, axis=0):
                y, g = published_tallies(groups, x, rng)
                view = view_of_release(g, int(scaled.sum()), ell, "mixed")
                found = unbiased_counts(
                    y[None, :].astype(np.float64), np.array([float(x.sum())]), view, 0.95
                )
                hits.append(((found.low <= x) & (x <= found.high))[0])
                shares.append(x / rows)
            hit, share = np.array(hits), np.array(shares)
            bins = [(share > a) & (share <= b) for a, b in BINS]
            cells = (f"{hit[inside].mean():.3f} |" if inside.any() else "- |" for inside in bins)
            print(f"| {scaled.sum():,} | {ell} |", *cells, flush=True)


def published_tallies(
    groups: Templates, inside: Counts, rng: np.random.Generator
) -> tuple[Counts, Counts]:
    """Published counts of a predicate's rows and of all rows, drawn from the templates."""
    size = int(groups.sizes[0])
    members = groups.members.reshape(-1, size)
    order = np.argsort(members.ravel(), kind="stable")
    template, times = order // size, np.repeat(groups.multiplicity, size)[order]
    ends = np.cumsum(np.bincount(members.ravel(), minlength=groups.n_values))
    taken = np.zeros(order.size, np.int64)
    for value, end in enumerate(ends.tolist()):
        places = slice(0 if value == 0 else int(ends[value - 1]), end)
        drawn = int(inside[value])
        taken[places] = rng.multivariate_hypergeometric(times[places], drawn, method="marginals")
    tallies = []
    for part in (taken, times - taken):
        tally = np.zeros(groups.n_values, np.int64)
        np.add.at(tally, members[template], rng.multinomial(part, [1 / size] * size))
        tallies.append(tally)
    return tallies[0], tallies[0] + tallies[1]


if __name__ == "__main__":
    main()
