"""Several columns at once: published together beside apart, with known truth.

- `errors`: mean relative error of counts of (predicate, value of one column, value of another),
  unbiased / shrunk, by class of the true count over the rows; three columns too.
- `coverage`: how often intervals hold the truth, by class: of pairs, of each column alone, and of
  formulas over both (one value of the first column or the last one of the other).
- `cost`: publishing and asking, beside mixed groups.

Predicates are random conjunctions over other columns that at least 1,000 rows meet. The built-in
census is used where ../shared/data has no ACS 2024, which is not part of this project. Prints
Markdown, as kept in RESULTS.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import countveil as cv
from benchmarks.coverage import Covered, classes, holds, show
from benchmarks.estimators import joint
from benchmarks.speed import Cost, best, describe_machine, run
from benchmarks.tables import Table, prepare
from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.channel.skewed_views import RandomView, joint_view
from countveil.maths.estimate import shrunk_counts
from countveil.maths.estimate.products import product_likelihood
from countveil.maths.estimate.unbiased import unbiased_counts, unbiased_likelihood
from countveil.maths.groups import ColumnSettings, largest_ell
from countveil.maths.mechanism import Dealer, draw_column
from countveil.randomness import Randomness
from tests.repeated_releases import acs_2024, coded

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

BINS = ((0.0001, 0.001), (0.001, 0.007), (0.007, 0.02))
LEAST = 1_000
COMMAND = (sys.executable, "-m", "countveil")


@dataclass(frozen=True)
class Columns:
    """Some sensitive columns of a table as codes, and predicates over other columns."""

    name: str
    asked: Table
    codes: tuple[Codes, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each column has."""
        return tuple(int(codes.max()) + 1 for codes in self.codes)

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return int(self.codes[0].size)

    def tallies(self, codes: Sequence[Codes]) -> Floats:
        """Rows of every predicate by the values of all columns, true or published."""
        return joint(self.asked, tuple(codes), self.shape)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--releases", type=int, default=6)
    parser.add_argument("--predicates", type=int, default=120)
    parser.add_argument("--ell", type=int, nargs="*", default=[2, 4, 6, 8])
    parser.add_argument("--levels", type=float, nargs="*", default=[0.5, 0.9, 0.95, 0.99])
    parser.add_argument("--only", nargs="*", default=["errors", "coverage"])
    parser.add_argument(
        "--columns", type=int, nargs="*", default=[0, 1, 2], help="choices, by place"
    )
    parser.add_argument("--questions", nargs="*", help="words in their names; all of them")
    parser.add_argument("--spread", action="store_true", help="standard errors of coverage, too")
    parser.add_argument("--together", action="store_true", help="errors together only, not apart")
    parser.add_argument("--cost-rows", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="a look, in about a minute")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.releases, options.predicates = 30_000, 2, 10
        options.ell, options.levels, options.cost_rows = [4], [0.95], 100_000
    every = list(chosen_columns(options.rows, options.predicates))
    several = [every[place] for place in options.columns]
    if "errors" in options.only:
        all_errors(several, options)
    if "coverage" in options.only:
        all_coverage(several, options)
    if "cost" in options.only:
        cost(options.cost_rows, 1 if options.quick else 3)


def chosen_columns(rows: int, predicates: int) -> Iterator[Columns]:
    """Two columns, two others, and all three."""
    table = acs_2024(rows)
    names = ["Gender", "Education", "Marital", "Race", "Workclass"]
    job, age, pay, title = "Occupation50", "Age", "SalaryClass50", "ACS 2024"
    if table is None:
        table = cv.generate(rows, seed=1)
        names = [name.lower() for name in names]
        job, age, pay, title = "occupation", "age", "salary", "built-in census"
    assert table is not None
    asked = prepare(title, table, names, job, predicates, least=min(LEAST, rows // 20))
    by_name = {"occupation": asked.codes, "age": _ten(table, age), "salary": coded(table[pay])}
    for chosen in (("occupation", "age"), ("occupation", "salary"), tuple(by_name)):
        yield Columns(
            f"{title}, {' x '.join(chosen)}", asked, tuple(by_name[name] for name in chosen)
        )


def _ten(table: pa.Table, age: str) -> Codes:
    """Age in ten intervals of equal frequency."""
    years = table[age].to_numpy()
    edges = np.quantile(years, np.arange(1, 10) / 10)
    intervals = np.unique(np.searchsorted(edges, years, side="right"), return_inverse=True)[1]
    return intervals.astype(np.int64)


@dataclass(frozen=True)
class Asked:
    """One release: published counts of every predicate, and the channels."""

    y: Floats
    views: tuple[ChannelView, ...]
    joint: ChannelView | None

    def answers(self) -> dict[str, Floats]:
        """Estimates of all combinations, by method."""
        y = self.y
        if self.joint is not None:
            flat = y.reshape(y.shape[0], -1)
            found = {
                "unbiased": unbiased_counts(flat, flat.sum(axis=1), self.joint, 0.95).estimate,
                "shrunk": np.concatenate([shrunk_counts(one[None], [self.joint]) for one in flat]),
            }
            return {name: array.reshape(y.shape) for name, array in found.items()}
        unbiased, shrunk = [], []
        for one in y:
            margins = [
                shrunk_counts(one.sum(axis=1 - k)[None], [v]) for k, v in enumerate(self.views)
            ]
            unbiased.append(product_likelihood(one[None], self.views, margins).estimate[0])
            shrunk.append(shrunk_counts(one[None], self.views)[0])
        return {"unbiased": np.array(unbiased), "shrunk": np.array(shrunk)}


def released(columns: Columns, ell: int, seed: int, *, together: bool) -> Asked:
    """Publish once, and tally every predicate."""
    randomness = Randomness(seed)
    if together:
        true = np.ravel_multi_index(columns.codes, columns.shape)
        codes = dealt(true, ColumnSettings(ell, "random"), randomness, "all")
        grid = np.bincount(codes, minlength=int(np.prod(columns.shape))).reshape(columns.shape)
        view = joint_view(grid.astype(np.float64), columns.rows, ell)
        published: Sequence[Codes] = np.unravel_index(codes, columns.shape)
        alone = tuple(view.margin((axis,)) for axis in range(len(columns.shape)))
        return Asked(columns.tallies(published), alone, view)
    published = [
        dealt(codes, ColumnSettings(ell), randomness, str(number))
        for number, codes in enumerate(columns.codes)
    ]
    views = tuple(
        view_of_release(np.bincount(codes, minlength=size), codes.size, ell, "mixed")
        for codes, size in zip(published, columns.shape, strict=True)
    )
    return Asked(columns.tallies(published), views, None)


def dealt(codes: Codes, settings: ColumnSettings, randomness: Randomness, name: str) -> Codes:
    """What each row publishes."""
    streams = randomness.stream("groups", name), randomness.stream("draw", name)
    counts = np.bincount(codes)
    drawn = draw_column(counts, settings, streams)
    return Dealer(drawn, randomness.stream("deal", name)).deal(codes)


def all_errors(several: Sequence[Columns], options: argparse.Namespace) -> None:
    """A line for every choice of columns, ell and method."""
    heads = " | ".join(f"{a:.2%}-{b:.2%}" for a, b in BINS)
    print(f"| columns | ell | published | {heads} |")
    print("|---|---|---|" + "---|" * len(BINS))
    for columns in several:
        true = columns.tallies(columns.codes)
        for ell in options.ell:
            apart = len(columns.codes) == 2 and _eligible(columns, ell) and not options.together
            for together in (False, True) if apart else (True,):
                errors(columns, true, ell, options.releases, together=together)
    print()


def _eligible(columns: Columns, ell: int) -> bool:
    return all(ell <= largest_ell(np.bincount(codes)) for codes in columns.codes)


def errors(columns: Columns, true: Floats, ell: int, number: int, *, together: bool) -> None:
    """Mean relative errors, negative estimates taken for 0, with standard errors over releases."""
    share = true / columns.rows
    masks = [(share >= a) & (share < b) for a, b in BINS]
    each: list[list[list[float]]] = []
    for seed in range(number):
        answers = released(columns, ell, seed, together=together).answers()
        relative = (
            np.abs(np.maximum(answers[name], 0) - true) / np.maximum(true, 1)
            for name in ("unbiased", "shrunk")
        )
        each.append([[float(one[m].mean()) if m.any() else 0.0 for m in masks] for one in relative])
    cells = ["-"] * len(masks)
    for place, mask in enumerate(masks):
        if mask.any():
            cells[place] = " / ".join(
                with_error(np.array([one[kind][place] for one in each])) for kind in (0, 1)
            )
    method = "together" if together else "apart"
    print(f"| {columns.name} | {ell} | {method} | {' | '.join(cells)} |", flush=True)


def with_error(values: Floats) -> str:
    """A mean over releases, and its standard error where there are several."""
    if values.size < 2:
        return f"{values.mean():.3f}"
    return f"{values.mean():.3f} +- {np.std(values, ddof=1) / np.sqrt(values.size):.3f}"


def all_coverage(several: Sequence[Columns], options: argparse.Namespace) -> None:
    """A line for every choice of columns, ell, kind of question and level."""
    heads = "0 | 1-9 | 10-49 | 0.0%-0.1% | 0.1%-0.5% | 0.5%-1.0% | 1.0%-2.0% | 2.0%-5.0%"
    print(f"| columns, question | ell | level | {heads} |")
    print("|---|---|---|" + "---|" * 8)
    for columns in several:
        for ell in options.ell:
            coverage(columns, ell, options)
    print()


def coverage(columns: Columns, ell: int, options: argparse.Namespace) -> None:
    """Combinations, margins and formulas: each is a set of combinations."""
    true = columns.tallies(columns.codes)
    kinds: dict[str, tuple[Floats, list[Covered]]] = {}
    for seed in range(options.releases):
        release = released(columns, ell, seed, together=True)
        sizes = release.y.sum(axis=tuple(range(1, true.ndim)))
        for name, x, y, view in questions(true, release):
            if options.questions and not any(word in name for word in options.questions):
                continue
            if name not in kinds:
                kinds[name] = x, [Covered(f"{level}", 0 * x) for level in options.levels]
            likelihood = unbiased_likelihood(y, sizes, view)
            masks = classes(x, columns.rows) if options.spread else None
            for covered, level in zip(kinds[name][1], options.levels, strict=True):
                covered.add(holds(likelihood.estimates(level), x), masks)
    for name, (x, covered_at) in kinds.items():
        counted = " ".join(f"{int(m.sum()):,}" for m in classes(x, columns.rows))
        print(
            f"<!-- {columns.name}, {name}: cells by class {counted}; "
            f"releases {options.releases} -->"
        )
        show(f"| {columns.name}, {name} | {ell} |", covered_at, x, columns.rows, options.releases)


def questions(true: Floats, release: Asked) -> Iterator[tuple[str, Floats, Floats, ChannelView]]:
    """Names, true counts, published counts and channels, each with a last axis of sets."""
    assert release.joint is not None
    several = true.shape[0]
    yield "combinations", true.reshape(several, -1), release.y.reshape(several, -1), release.joint
    for axis, view in enumerate(release.views):
        others = tuple(place for place in range(1, true.ndim) if place != 1 + axis)
        yield (
            "each alone" if axis == 0 else f"column {axis + 1} alone",
            true.sum(axis=others),
            release.y.sum(axis=others),
            view,
        )
    inside = np.zeros(true.shape[1:], bool)
    sets = []
    for value in range(true.shape[1]):
        one = inside.copy()
        one[value], one[..., -1] = True, True
        sets.append(one.ravel())
    chosen = np.array(sets, np.float64).T
    x, y = (array.reshape(several, -1) @ chosen for array in (true, release.y))
    published = release.joint.published @ chosen
    view = RandomView(release.joint.rows, release.joint.keep, published, None, two_state_holds=True)
    yield "either of two", x, y, view


# The same columns each time: what differs is how they are published.
WAYS = {
    "mixed groups, apart": (),
    "random groups, apart": ("--groups", "random"),
    "together": ("--together",),
}
QUESTIONS = {
    "one column by gender": "SELECT gender, occupation, count(*) FROM release GROUP BY ALL",
    "pairs": "SELECT occupation, salary, count(*) FROM release GROUP BY ALL",
    "one pair by gender": (
        "SELECT gender, count(*) FROM release "
        "WHERE occupation = 'nurse' AND salary = '30-40k' GROUP BY gender"
    ),
}


def cost(rows: int, times: int) -> None:
    """Publishing two columns of the census each way, taking turns; then every question."""
    print(describe_machine(), "\n")
    print("| what | seconds | CPU seconds | MB | over mixed (by CPU) |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="countveil-bench-") as folder:
        place = Path(folder)
        source = place / "census.parquet"
        run([*COMMAND, "generate", "--rows", str(rows), "--seed", "1", "--to", source])
        targets = [place / str(number) for number in range(len(WAYS))]
        words = [("-s", "occupation:4", "-s", "salary:4", *more) for more in WAYS.values()]
        spent = best(times, *map(partial(partial, _publish, source), words, targets))
        _print_costs(f"publish, {rows:,} rows", spent)
        for what, query in QUESTIONS.items():
            spent = best(times, *(partial(_query, target, query) for target in targets))
            _print_costs(f"query, {what}", spent)


def _publish(source: Path, words: tuple[str, ...], target: Path, _turn: int) -> Cost:
    more = ("--force", "--again", "--to", target)
    return run([*COMMAND, "publish", source, *words, *more])


def _query(target: Path, query: str, _turn: int) -> Cost:
    return run([*COMMAND, "query", target, query])


def _print_costs(what: str, costs: list[Cost]) -> None:
    for name, spent in zip(WAYS, costs, strict=True):
        print(
            f"| {what}: {name} | {spent.seconds:.2f} | {spent.cpu:.2f} | {spent.megabytes:,.0f} | "
            f"{spent.over(costs[0])} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
