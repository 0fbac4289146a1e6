"""How near do the methods come? Repeated releases of tables whose truth is known.

One column: the average relative error of every method, by the true count over the rows, and that
of `shrunk` over the best of the others; bins with fewer than ten different values are left out.
Two columns: Occupation50 and age in ten intervals of equal frequency (ACS 2024, or the built-in
census), with the paper's own choices beside ours. Efficiency: the root mean square error over the
Cramer-Rao bound, for predicates of less than 5% of the rows. Prints Markdown, as kept in
RESULTS.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

import countveil as cv
from benchmarks.tables import Table, prepare, tables
from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.estimate import shrunk_counts, unbiased_counts
from countveil.maths.estimate.products import product_likelihood
from countveil.maths.groups import ColumnSettings, largest_ell
from countveil.maths.paper import bayes_counts
from countveil.maths.paper.iteration import PAPER_TOLERANCE
from tests.repeated_releases import acs_2024, releases

Floats = NDArray[np.float64]

BINS = ((0.0001, 0.001), (0.001, 0.005), (0.005, 0.01), (0.01, 0.02), (0.02, 0.05))
TWO_COLUMN_BINS = ((0.0001, 0.001), (0.001, 0.007))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_800)
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--predicates", type=int, default=300)
    parser.add_argument("--ell", type=int, nargs="*", default=[2, 3, 5, 8, 10])
    parser.add_argument("--more", action="store_true", help="tables of other shapes, too")
    parser.add_argument("--only", choices=["one", "two"], help="columns")
    options = parser.parse_args()
    bounds: list[str] = []
    if options.only != "two":
        _head("| table | ell | method |", BINS)
        for table in tables(options.rows, options.predicates, more=options.more):
            for ell in options.ell:
                if ell <= largest_ell(table.counts):
                    bounds += one_column(table, ell, options.releases)
        print("\n| table | ell | unbiased / bound | shrunk / bound |\n|---|---|---|---|")
        print("\n".join(bounds), "\n")
    if options.only != "one":
        _head("| table | ell | method |", TWO_COLUMN_BINS)
        two_columns(options.rows, options.releases, options.predicates // 2)


def _head(first: str, bins: tuple[tuple[float, float], ...]) -> None:
    print(first, *(f"{a:.2%}-{b:.2%} |" for a, b in bins))
    print("|---|---|---|" + "---|" * len(bins))


def one_column(table: Table, ell: int, number: int) -> list[str]:
    """Lines of error; returns a line of efficiency."""
    rows = table.codes.size
    true, sizes = table.tallies(table.codes), np.array([float(p.size) for p in table.predicates])
    errors: dict[str, Floats] = {}
    squares = {"unbiased": 0 * true, "shrunk": 0 * true}
    bound = 0 * true
    for published in releases(table.codes, ColumnSettings(ell), number):
        histogram = np.bincount(published, minlength=table.counts.size)
        view = view_of_release(histogram, rows, ell, "mixed")
        found = answers(table.tallies(published), sizes, view)
        for name, estimate in found.items():
            relative = np.abs(np.maximum(estimate, 0) - true) / np.maximum(true, 1)
            errors[name] = errors.get(name, 0 * true) + relative / number
        for name, sums in squares.items():
            np.add(sums, (found[name] - true) ** 2 / number, out=sums)
        bound += cramer_rao(true, view) / number
    inside = [(true / rows > a) & (true / rows <= b) & (true > 0) for a, b in BINS]
    _print(f"| {table.name} | {ell} |", errors, inside)
    narrow = (sizes < 0.05 * rows)[:, None] & np.isfinite(bound) & np.isfinite(squares["unbiased"])
    ratios = [np.sqrt(squares[m][narrow].sum() / bound[narrow].sum()) for m in squares]
    return [f"| {table.name} | {ell} |" + "".join(f" {ratio:.3f} |" for ratio in ratios)]


def answers(y: Floats, sizes: Floats, view: ChannelView) -> dict[str, Floats]:
    """What each method says."""
    independent = sizes[:, None] * view.published / view.rows
    plain = unbiased_counts(y, sizes, view, 0.95).estimate
    found = {
        "unbiased": np.where(np.isnan(plain), independent, plain),
        "published count": y,
        "independence": independent,
    }
    for channel in ("exact", "printed"):
        result = bayes_counts(
            y, view.published, [view.keep], channel=channel, tolerance=1e-4, max_iterations=3_000
        )
        found[f"bayes, {channel}"] = result.estimate
    paper = bayes_counts(
        y, view.published, [view.keep], channel="printed", tolerance=PAPER_TOLERANCE
    )
    found["bayes, printed, stop at 1%"] = paper.estimate
    found["shrunk"] = shrunk_counts(y, [view])
    return found


def cramer_rao(true: Floats, view: ChannelView) -> Floats:
    """The least variance of an unbiased estimate, given W and independent rows."""
    if view.whole is None:
        return np.full(true.shape, np.nan)
    back = np.linalg.inv(view.whole)
    found = np.empty(true.shape)
    for place, x in enumerate(true):
        spread = np.diag(x @ view.whole) - view.whole.T @ (x[:, None] * view.whole)
        found[place] = np.einsum("uv,uw,wv->v", back, spread, back, optimize=True)
    return found


def _print(start: str, errors: Mapping[str, Floats], inside: list[NDArray[np.bool_]]) -> None:
    shown = [mask if len(set(np.nonzero(mask)[1])) >= 10 else None for mask in inside]
    means = {
        name: [None if mask is None else float(error[mask].mean()) for mask in shown]
        for name, error in errors.items()
    }
    for name, line in means.items():
        print(start, name, "|", *(f"{_text(mean)} |" for mean in line), flush=True)
    others = [line for name, line in means.items() if name != "shrunk"]
    best = [
        min((value for value in column if value is not None), default=None)
        for column in zip(*others, strict=True)
    ]
    ratio = [
        None if mean is None or least is None else mean / least
        for mean, least in zip(means["shrunk"], best, strict=True)
    ]
    print(start, "shrunk / best of the others |", *(f"{_text(mean)} |" for mean in ratio))


def _text(number: float | None) -> str:
    return "-" if number is None else f"{number:.3f}"


def two_column_table(
    rows: int, n_predicates: int
) -> tuple[str, Table, tuple[NDArray[np.int64], ...]]:
    """Occupation and age in ten intervals of equal frequency; predicates over the other columns."""
    table = acs_2024(rows)
    if table is not None:
        name, first, age = "ACS 2024, Occupation50", "Occupation50", "Age"
        plain = ["Gender", "Education", "Marital", "Race", "Workclass"]
    else:
        table = cv.generate(rows, seed=1)
        name, first, age = "built-in census, occupation", "occupation", "age"
        plain = ["gender", "education", "marital", "race", "workclass"]
        assert table is not None
    asked = prepare(name, table, plain, first, n_predicates, least=1_000)
    years = table[age].to_numpy()
    edges = np.quantile(years, np.arange(1, 10) / 10)
    intervals = np.unique(np.searchsorted(edges, years, side="right"), return_inverse=True)[1]
    return name, asked, (asked.codes, intervals.astype(np.int64))


def two_columns(rows: int, number: int, n_predicates: int) -> None:
    """The paper's choices, ours, and the unbiased products."""
    name, asked, columns = two_column_table(rows, n_predicates)
    shape = tuple(int(codes.max()) + 1 for codes in columns)
    true = joint(asked, columns, shape)
    top = min(largest_ell(np.bincount(codes)) for codes in columns)
    for ell in (2, 4, 6, 8):
        if ell > top:
            continue
        errors: dict[str, Floats] = {}
        for groups in ("anatomy", "mixed"):
            settings = ColumnSettings(ell, groups)
            pairs = zip(
                releases(columns[0], settings, number),
                releases(columns[1], settings, number, first=1_000),
                strict=True,
            )
            for published in pairs:
                for method, found in two_column_answers(asked, published, shape, settings).items():
                    relative = np.abs(np.maximum(found, 0) - true) / np.maximum(true, 1)
                    errors[method] = errors.get(method, 0 * true) + relative / number
        inside = [(true / rows > a) & (true / rows <= b) & (true > 0) for a, b in TWO_COLUMN_BINS]
        for method, error in errors.items():
            means = (f"{error[mask].mean():.3f} |" for mask in inside)
            print(f"| {name} | {ell} | {method} |", *means, flush=True)


def two_column_answers(
    asked: Table,
    published: tuple[NDArray[np.int64], ...],
    shape: tuple[int, ...],
    settings: ColumnSettings,
) -> dict[str, Floats]:
    """Greedy groups: the paper's iteration; mixed groups: ours."""
    y = joint(asked, published, shape)
    views = [
        view_of_release(
            np.bincount(codes, minlength=size), codes.size, settings.ell, settings.groups
        )
        for codes, size in zip(published, shape, strict=True)
    ]
    if settings.groups == "anatomy":
        flat = np.ravel_multi_index(published, shape)
        everybody = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(float)
        keeps = [view.keep for view in views]
        result = bayes_counts(y, everybody, keeps, channel="printed", tolerance=PAPER_TOLERANCE)
        return {"greedy, printed, bayes with stop at 1% (the paper)": result.estimate}
    margins = [y.sum(axis=2), y.sum(axis=1)]
    return {
        "mixed, unbiased": product_likelihood(y, views, margins).estimate,
        "mixed, shrunk": shrunk_counts(y, views),
    }


def joint(asked: Table, columns: tuple[NDArray[np.int64], ...], shape: tuple[int, ...]) -> Floats:
    """Rows of every predicate by the values of both columns."""
    flat = np.ravel_multi_index(columns, shape)
    size = int(np.prod(shape))
    found = [np.bincount(flat[rows], minlength=size).reshape(shape) for rows in asked.predicates]
    return np.array(found, np.float64)


if __name__ == "__main__":
    main()
