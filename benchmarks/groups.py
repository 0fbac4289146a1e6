"""Greedy against mixed decoy groups: accuracy, and what they let an adversary guess.

For each number of rows and ell, on the histogram of an occupation column: the condition number of W
(how much inverting it amplifies noise), the median over published values of the perplexity of the
posterior over true values (how many candidates a published value leaves), and for mixed groups the
largest departure of the number of meetings from the design that analysts fit, the largest shift of
an estimate by it in standard errors (in brackets: of values with 300 rows or more), and the least
CPU time of five runs.
With --coverage, how often 95% intervals hold the truth, from tallies drawn without rows.
With --many, the same shift for many values and wide groups, over 100 made-up predicates; with
--skewed, for made-up histograms whose counts differ by powers of ten. With --floor, the shift that
no composition of whole groups can avoid. With --ties, what greedy groups owe to the order in which
they take values of equal counts.
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
from countveil.maths.channel import (
    ChannelView,
    Templates,
    channel_matrix,
    design_channel,
    greedy_templates,
    view_of_release,
)
from countveil.maths.estimate import unbiased_counts
from countveil.maths.groups import mixed_groups
from countveil.randomness import Randomness

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

ACS = (
    Path(__file__).parents[2] / "shared" / "data" / "acs2024" / "acs2024_census_like_500k_A.csv.gz"
)
MANY = (
    (529, 10**5, 5),
    (529, 10**7, 5),
    (529, 10**9, 5),
    (529, 10**9, 10),
    (200, 10**6, 100),
    (200, 10**7, 100),
    (200, 10**9, 100),
    (1_000, 10**7, 5),
    (2_000, 10**6, 5),
    (2_000, 10**7, 5),
    (2_000, 10**9, 5),
    (100_000, 10**9, 5),
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
    parser.add_argument("--many", action="store_true")
    parser.add_argument("--skewed", type=int, default=0, help="histograms")
    parser.add_argument("--floor", action="store_true")
    parser.add_argument("--ties", action="store_true")
    options = parser.parse_args()
    if options.many:
        many()
        return
    if options.skewed:
        skewed(options.skewed)
        return
    name, counts, predicates = histogram_and_predicates(options.predicates)
    print(f"{name}\n")
    if options.coverage:
        coverage(counts, predicates, options.rows, options.coverage)
        return
    if options.floor:
        floor(counts, options.rows)
        return
    if options.ties:
        ties(counts)
        return
    titles = "condition of W", "perplexity", "largest C - C*", "worst shift", "CPU time"
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
    times: dict[str, list[float]] = {"greedy": [], "mixed": []}
    for _ in range(5):
        started = time.process_time()
        greedy = greedy_templates(counts, ell)
        between = time.process_time()
        mixed = mixed_groups(counts, ell, Randomness(1).stream("groups"))
        times["greedy"].append(between - started)
        times["mixed"].append(time.process_time() - between)
    for name, groups in (("greedy", greedy), ("mixed", mixed)):
        whole = channel_matrix(groups)
        cells = [f"{np.linalg.cond(whole):.1f}", f"{perplexity(whole, counts):.1f}"]
        if name == "mixed":
            off = counts[:, None] * (whole - design_channel(counts, ell))
            np.fill_diagonal(off, 0.0)
            cells += [f"{ell * np.abs(off).max():.1f}", shift(off, counts, met, ell)]
        else:
            cells += ["", ""]
        cells.append(f"{min(times[name]):.3f} s")
        print(f"| {counts.sum():,} | {ell} | {name} |", " | ".join(cells), "|", flush=True)


def perplexity(whole: Floats, counts: Counts) -> float:
    """Median over published values of exp(entropy of the true value)."""
    joint = whole * counts[:, None]
    posterior = joint / joint.sum(axis=0)
    logs = np.log(np.where(posterior > 0, posterior, 1.0))
    return float(np.median(np.exp(-(posterior * logs).sum(axis=0))))


def shift(off: Floats, counts: Counts, met: Counts, ell: int) -> str:
    """The largest shift in standard errors: of all values, and of those with 300 rows or more."""
    moved = np.abs((met / np.maximum(counts, 1)) @ off) * per_row(counts, met, ell)
    usual = moved[np.broadcast_to(counts >= 300, moved.shape)]
    return f"{moved.max():.3f} ({usual.max():.3f})" if usual.size else f"{moved.max():.3f} (-)"


def per_row(counts: Counts, met: Counts, ell: int) -> Floats:
    """By how many standard errors one row more that publishes s moves the estimate of s."""
    rows, a = float(counts.sum()), 1 / ell
    b = counts * (1 - a) / (rows - counts)
    sizes = met.sum(axis=1, keepdims=True).astype(np.float64)
    at = np.maximum(met, 1).astype(np.float64)
    view = ChannelView(int(rows), a, counts.astype(np.float64), None, two_state_holds=True)
    variance = view.variance(at, sizes)
    result: Floats = 1 / ((a - b) * np.sqrt(variance))
    return result


def many() -> None:
    """Many values, wide groups, large tables: histograms by a power of the rank."""
    print("| values | rows | ell | largest C - C* | worst shift | templates | CPU time |")
    print("|---|---|---|---|---|---|---|")
    for n_values, rows, ell in MANY:
        shares = np.arange(1, n_values + 1) ** (-0.12 if n_values < 3 * ell else -0.7)
        counts = np.maximum((rows * shares / shares.sum()).astype(np.int64), 1)
        while counts.max() > counts.sum() // (ell + 1):
            counts = np.minimum(counts, counts.sum() // (ell + 1))
        started = time.process_time()
        groups = mixed_groups(counts, ell, Randomness(1).stream("groups"))
        seconds = time.process_time() - started
        cells = ["", ""]
        if n_values <= 2_000:
            off = counts[:, None] * (channel_matrix(groups) - design_channel(counts, ell))
            np.fill_diagonal(off, 0.0)
            cells = [f"{ell * np.abs(off).max():.1f}", shift(off, counts, made_up(counts), ell)]
        cells += [f"{groups.multiplicity.size:,}", f"{seconds:.1f} s"]
        print(f"| {n_values:,} | {rows:,} | {ell} |", " | ".join(cells), "|", flush=True)


def skewed(histograms: int) -> None:
    """Log-normal histograms: 3 to 119 values, ell 2 to 12, 10^4 to 10^9 rows, N // ell at most."""
    rng = np.random.default_rng(1)
    found: list[float] = []
    seconds: list[float] = []
    while len(found) < histograms:
        n_values = int(rng.integers(3, 120))
        ell, rows = int(rng.integers(2, min(n_values, 12) + 1)), int(10 ** rng.uniform(4, 9))
        weights = np.exp(rng.normal(0, rng.uniform(0, 3), n_values))
        counts = np.maximum((rows * weights / weights.sum()).astype(np.int64), 1)
        for _ in range(200):
            counts = np.minimum(counts, counts.sum() // ell)
        # Values in every group cannot be estimated: nothing to shift.
        usual = (counts >= 300) & (counts < counts.sum() // ell)
        if counts.max() > counts.sum() // ell or not usual.any():
            continue
        started = time.process_time()
        groups = mixed_groups(counts, ell, Randomness(1).stream("groups"))
        seconds.append(time.process_time() - started)
        off = counts[:, None] * (channel_matrix(groups) - design_channel(counts, ell))
        np.fill_diagonal(off, 0.0)
        met = made_up(counts)
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.abs((met / counts) @ off) * per_row(counts, met, ell)
        found.append(float(moved[:, usual].max()))
    print(
        "| histograms | worst shift, median | 9 in 10 below | largest | CPU time, median | most |"
    )
    print("|---|---|---|---|---|---|")
    parts = [np.median(found), np.quantile(found, 0.9), max(found)]
    cells = [*(f"{part:.3f}" for part in parts), f"{np.median(seconds):.2f} s"]
    print(f"| {histograms} |", " | ".join(cells), f"| {max(seconds):.1f} s |", flush=True)


def made_up(counts: Counts) -> Counts:
    """100 predicates that 1% to 50% of the rows meet, by shares that differ by a factor of four."""
    rng = np.random.default_rng(5)
    share = np.exp(rng.uniform(np.log(0.01), np.log(0.5), (100, 1)))
    met = np.minimum(share * np.exp(rng.normal(0, 0.7, (100, counts.size))), 1.0)
    result: Counts = np.rint(met * counts).astype(np.int64)
    return result


def floor(counts: Counts, rows: list[int]) -> None:
    """What no composition of whole groups can avoid.

    A value's meetings with the others are whole numbers with a given sum; the design's are not. The
    nearest such numbers leave a sum of |C - C*| that every composition has at least, and for every
    composition there is a predicate that an eighth of some values' people meet and half of the
    others', such that all of it moves the estimate one way.
    """
    print(
        "| rows | ell | rarest value | its least worst shift | floor above 0.2 up to a count of |"
    )
    print("|---|---|---|---|---|")
    for number in rows:
        for ell in (2, 5, 10):
            scaled, _ = scale(counts, counts[None, :], number)
            scaled = scaled[scaled > 0]
            design = ell * scaled[:, None] * design_channel(scaled, ell)
            least = [nearest(np.delete(design[:, s], s)) for s in range(scaled.size)]
            sizes = np.array([[0.125], [0.25], [0.375], [0.5]])
            met = np.rint(sizes * scaled).astype(np.int64)
            unit = per_row(scaled, met, ell).min(axis=0)
            moved = 0.375 * np.array(least) / 2 / ell * unit
            rare = int(np.argmin(scaled))
            above = scaled[moved > 0.2]
            most = str(above.max()) if above.size else "-"
            print(
                f"| {number:,} | {ell} | {scaled[rare]} | {moved[rare]:.2f} | {most} |", flush=True
            )


def nearest(wished: Floats) -> float:
    """Sum of distances to the nearest whole numbers of the same sum (convex: greedy is exact)."""
    found = np.rint(wished)
    lacking = round(float(wished.sum() - found.sum()))
    order = np.argsort(found - wished)
    if lacking > 0:
        found[order[:lacking]] += 1
    elif lacking < 0:
        found[order[lacking:]] -= 1
    return float(np.abs(found - wished).sum())


def ties(counts: Counts) -> None:
    """Greedy groups with values of equal counts taken in different orders."""
    rng = np.random.default_rng(1)
    number = np.arange(counts.size)
    orders = {
        "by number, first to last": -number,
        "by number, last to first": number,
        "the more frequent first": counts,
        "at random": None,
    }
    print("| ell | equal counts are taken | condition of W | perplexity |\n|---|---|---|---|")
    for ell in (2, 5, 10):
        for name, order in orders.items():
            left, pairs = counts.copy(), np.zeros((counts.size, counts.size))
            for _ in range(int(counts.sum()) // ell):
                last = rng.permutation(counts.size) if order is None else order
                chosen = np.lexsort((last, left))[-ell:]
                left[chosen] -= 1
                pairs[np.ix_(chosen, chosen)] += 1
            whole = pairs / np.diag(pairs)[:, None] / ell
            cells = f"{np.linalg.cond(whole):.1f} | {perplexity(whole, counts):.1f}"
            print(f"| {ell} | {name} | {cells} |", flush=True)


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
