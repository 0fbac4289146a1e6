"""Columns in which one value is very frequent: how near the answers come, and do intervals cover?

Random groups, common values, and removing rows of the frequent value until mixed groups exist
(what had to be done without them), on columns in which one value has 40% to 90% of the rows.

- `errors`: mean relative error of counts of (predicate, value), shrunk and unbiased, by class.
- `coverage`: how often intervals hold the true count, by class, and for the frequent value.
- `sums`: the same for sums, averages and weighted counts, asked as an analyst asks them.
- `cost`: publishing with each method beside mixed groups, and asking.

The built-in census is always there. Its country has a frequent value; of its occupation most of
the young and the old are made to have none: a made-up skew, said in the name. Real tables are used
where ../shared/data has them; they are not part of this project. Prints Markdown, as kept in
RESULTS.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

import countveil as cv
from benchmarks.coverage import Covered as Kind
from benchmarks.coverage import classes, holds, show
from benchmarks.speed import Cost, best, describe_machine, run
from benchmarks.tables import Table, prepare
from countveil.maths.channel import view_of_release
from countveil.maths.channel.common import frequent_values
from countveil.maths.estimate import shrunk_counts, unbiased_counts
from countveil.maths.estimate.unbiased import unbiased_likelihood
from countveil.maths.groups import ColumnSettings, largest_ell
from countveil.maths.mechanism import Dealer, draw_column
from countveil.randomness import Randomness
from tests.repeated_releases import SHARED, acs_2024

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

BINS = ((0.001, 0.005), (0.005, 0.01), (0.01, 0.02), (0.02, 0.05))
METHODS = ("random", "common", "removed")
NO_JOB = "(none)"
COMMAND = (sys.executable, "-m", "countveil")
_CENSUS = ["age", "gender", "education", "marital", "race", "workclass"]
_ACS = ["Age", "Gender", "Education", "Marital", "Race", "Workclass"]


@dataclass(frozen=True)
class Published:
    """A release of one column: which rows it has, and what they publish."""

    kept: Codes
    codes: Codes
    common: tuple[int, ...]
    groups: str


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--predicates", type=int, default=150)
    parser.add_argument("--ell", type=int, nargs="*", default=[3, 5, 10])
    parser.add_argument("--levels", type=float, nargs="*", default=[0.5, 0.9, 0.95, 0.99])
    parser.add_argument("--only", nargs="*", default=["errors", "coverage", "sums"])
    parser.add_argument("--tables", nargs="*", default=[""], help="words in their names")
    parser.add_argument("--methods", nargs="*", default=["random", "common"], help="for coverage")
    parser.add_argument("--spread", action="store_true", help="standard errors over releases")
    parser.add_argument("--cost-rows", type=int, default=5_000_000)
    parser.add_argument("--quick", action="store_true", help="a look, in about a minute")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.releases, options.predicates = 20_000, 3, 40
        options.ell, options.levels = [5], [0.95]
    tables = [
        table
        for table in skewed_tables(options.rows, options.predicates)
        if any(word in table.name for word in options.tables)
    ]
    if "errors" in options.only:
        all_errors(tables, options.releases)
    if "coverage" in options.only:
        all_coverage(tables, options)
    if "sums" in options.only:
        sums(options.rows // 5, options.releases, options.ell, options.quick)
    if "cost" in options.only:
        cost(options.cost_rows, 1 if options.quick else 3)


def all_errors(tables: list[Table], number: int) -> None:
    """A line for every table and method, at ell = 5."""
    print("| table | most frequent | method |", *(f"{a:.1%}-{b:.1%} |" for a, b in BINS))
    print("|---|---|---|" + "---|" * len(BINS))
    for table in tables:
        for method in METHODS:
            errors(table, method, 5, number)
    print()


def all_coverage(tables: list[Table], options: argparse.Namespace) -> None:
    """A line for every table, method, ell and level."""
    heads = "0 | 1-9 | 10-49 | 0.0%-0.1% | 0.1%-0.5% | 0.5%-1.0% | 1.0%-2.0% | 2.0%-5.0% |"
    print(f"| table, method | ell | level | {heads} frequent value |")
    print("|---|---|---|" + "---|" * 9)
    for table in tables:
        for method in options.methods:
            for ell in options.ell:
                coverage(table, method, ell, options)
    print()


def skewed_tables(rows: int, n_predicates: int) -> Iterator[Table]:
    """The built-in census, and what else is at hand."""
    census = cv.generate(rows, seed=1)
    assert census is not None
    yield prepare("built-in census, country", census, _CENSUS, "country", n_predicates)
    masked = without_job(census, "age", "occupation")
    name = "built-in census, occupation, none for half (made up)"
    yield prepare(name, masked, _CENSUS, "occupation", n_predicates)
    acs = acs_2024(rows)
    if acs is None:
        print(
            f"No real tables at {SHARED.name}: the built-in census alone is measured.",
            file=sys.stderr,
        )
        return
    yield prepare("ACS 2024, Hispanic origin", acs, _ACS, "Hispanic", n_predicates)
    masked = without_job(acs, "Age", "Occupation50")
    name = "ACS 2024, Occupation50, none for half (made up)"
    yield prepare(name, masked, _ACS, "Occupation50", n_predicates)
    adult = SHARED / "uci_adult" / "adult.csv.gz"
    if adult.exists():
        table = pa.csv.read_csv(adult).slice(0, rows)
        plain = ["age", "sex", "education", "marital-status", "race", "workclass"]
        yield prepare("UCI Adult, native-country", table, plain, "native-country", n_predicates)
    nist = SHARED / "nist_acs_excerpts" / "national2018.csv.gz"
    if nist.exists():
        texts = pa.csv.ConvertOptions(column_types={"INDP_CAT": pa.string()})
        table = pa.csv.read_csv(nist, convert_options=texts).slice(0, rows)
        plain = ["AGEP", "SEX", "MSP", "RAC1P", "EDU", "PUMA"]
        yield prepare("NIST 2018, INDP_CAT", table, plain, "INDP_CAT", n_predicates)


def without_job(table: pa.Table, age: str, job: str) -> pa.Table:
    """The table with one value for the job of most young and old, about half of the rows."""
    years = table[age].to_numpy()
    apart = np.abs(years - np.median(years))
    chance = np.where(apart > np.median(apart), 0.85, 0.15)
    none = np.random.default_rng(7).random(years.size) < chance
    jobs = np.where(none, NO_JOB, table[job].to_numpy(zero_copy_only=False).astype(str))
    return table.set_column(table.schema.get_field_index(job), job, pa.array(jobs.tolist()))


def released(table: Table, method: str, ell: int, seed: int) -> Published:
    """One release of the column."""
    randomness = Randomness(seed)
    kept = np.arange(table.codes.size)
    groups = "random" if method == "random" else "mixed"
    if method == "removed":
        kept = _eligible_rows(table, ell, np.random.default_rng(seed))
    codes = table.codes[kept]
    counts = np.bincount(codes, minlength=table.counts.size)
    common = tuple(frequent_values(counts, ell).tolist()) if method == "common" else ()
    drawn = draw_column(
        counts,
        ColumnSettings(ell, groups),
        (randomness.stream("groups"), randomness.stream("draw")),
        common,
    )
    published = Dealer(drawn, randomness.stream("deal")).deal(codes)
    return Published(kept, published, common, groups)


def _eligible_rows(table: Table, ell: int, rng: np.random.Generator) -> Codes:
    """All rows, but of too frequent values only as many as mixed groups can hold."""
    kept = np.arange(table.codes.size)
    while True:
        counts = np.bincount(table.codes[kept], minlength=table.counts.size)
        if largest_ell(counts) >= ell:
            return np.sort(kept)
        value = int(counts.argmax())
        most = int((kept.size - counts[value]) // (ell - 1))
        mine = kept[table.codes[kept] == value]
        rest = kept[table.codes[kept] != value]
        kept = np.concatenate([rest, rng.choice(mine, min(most, mine.size - 1), replace=False)])


def tallies(table: Table, codes: Codes, kept: Codes) -> Floats:
    """Rows of every predicate by published value; rows that were removed are nowhere."""
    whole = np.full(table.codes.size, -1)
    whole[kept] = codes
    size = table.counts.size
    return np.array(
        [np.bincount(whole[rows] + 1, minlength=size + 1)[1:] for rows in table.predicates],
        np.float64,
    )


def relative_errors(
    table: Table, method: str, ell: int, number: int
) -> Iterator[dict[str, Floats]]:
    """Of every release: the relative error of every predicate and value, by estimate."""
    true = table.tallies(table.codes)
    for seed in range(number):
        release = released(table, method, ell, seed)
        y = tallies(table, release.codes, release.kept)
        sizes = y.sum(axis=1)
        histogram = np.bincount(release.codes, minlength=table.counts.size)
        view = view_of_release(histogram, release.kept.size, ell, release.groups, release.common)
        plain = unbiased_counts(y, sizes, view, 0.95).estimate
        independent = sizes[:, None] * view.published / view.rows
        answers = {
            "shrunk": shrunk_counts(y, [view]),
            "unbiased": np.where(np.isnan(plain), independent, plain),
        }
        # The publisher says how many rows of which value were removed, and an analyst undoes it.
        grown = table.counts / np.maximum(np.bincount(table.codes[release.kept]), 1)
        yield {
            name: np.abs(np.maximum(answer * grown, 0) - true) / np.maximum(true, 1)
            for name, answer in answers.items()
        }


def errors(table: Table, method: str, ell: int, number: int) -> None:
    """A line: mean relative error, shrunk / unbiased."""
    rows = table.codes.size
    share = table.tallies(table.codes) / rows
    mean = {"shrunk": 0 * share, "unbiased": 0 * share}
    for release in relative_errors(table, method, ell, number):
        for name, relative in release.items():
            mean[name] += relative / number
    cells = [
        f"{mean['shrunk'][m].mean():.3f} / {mean['unbiased'][m].mean():.3f} |"
        if m.sum() > 9
        else "- |"
        for m in ((share > a) & (share <= b) for a, b in BINS)
    ]
    frequent = table.counts.max() / rows
    print(f"| {table.name} | {frequent:.0%} | {method} |", *cells, flush=True)


def coverage(table: Table, method: str, ell: int, options: argparse.Namespace) -> None:
    """A line per level; the frequent value has a column of its own."""
    rows, most = table.codes.size, int(table.counts.argmax())
    true = table.tallies(table.codes)
    sizes = true.sum(axis=1)
    others = true.copy()
    others[:, most] = -2
    masks = classes(others, rows)
    kinds = [Kind(f"{level}", 0 * true) for level in options.levels]
    frequent: list[list[float]] = [[] for _ in kinds]
    for seed in range(options.releases):
        release = released(table, method, ell, seed)
        histogram = np.bincount(release.codes, minlength=table.counts.size)
        view = view_of_release(histogram, rows, ell, release.groups, release.common)
        y = tallies(table, release.codes, release.kept)
        likelihood = unbiased_likelihood(y, sizes, view)
        for kind, level, mine in zip(kinds, options.levels, frequent, strict=True):
            inside = holds(likelihood.estimates(level), true)
            kind.add(inside, masks if options.spread else None)
            mine.append(float(inside[:, most].mean()))
    for kind, mine in zip(kinds, frequent, strict=True):
        last = f"{np.mean(mine):.3f}"
        if options.spread:
            last += f" +- {np.std(mine, ddof=1) / np.sqrt(len(mine)):.3f}"
        start = f"| {table.name}, {method} | {ell} |"
        show(start, [kind], others, rows, options.releases, f"{last} |")


def sums(rows: int, number: int, ells: list[int], quick: bool) -> None:
    """A line per method and ell, of 95% intervals by the number of rows with the value."""
    census = cv.generate(rows, seed=1)
    assert census is not None
    table = without_job(census, "age", "occupation")
    weights = np.random.default_rng(2).choice([0.5, 1.0, 1.5, 3.0], rows)
    table = table.append_column("weight", pa.array(weights))
    asked = {
        "sum": "SELECT education, occupation, sum(age) FROM release GROUP BY ALL",
        "average": "SELECT education, occupation, avg(age) FROM release GROUP BY ALL",
        "weighted count": "SELECT education, occupation, count(*) FROM release GROUP BY ALL",
    }
    kept = ["age", "education", "gender", "weight", "occupation"]
    truth = _truth(table)
    print("| method | ell | what | 20-99 rows | 100-499 | 500 or more | frequent value |")
    print("|---|---|---|" + "---|" * 4)
    ways: dict[str, dict[str, Any]] = {
        "random": {"groups": "random"},
        "common": {"common": "auto"},
    }
    for method, more in ways.items():
        for ell in ells:
            found: dict[str, list[tuple[int, bool, bool]]] = {what: [] for what in asked}
            for seed in range(2 if quick else number):
                with tempfile.TemporaryDirectory() as folder:
                    release = cv.publish(
                        table, {"occupation": ell}, Path(folder) / "r", seed=seed,
                        columns=kept, weight="weight", **more,
                    )  # fmt: skip
                    for what, query in asked.items():
                        answer = release.sql(query, weighted=what == "weighted count")
                        cells = answer.blocks[0].estimates
                        for key, cell in zip(answer.groups, cells, strict=True):
                            count, *values = truth.get(tuple(key), (0, 0, 0, 0))
                            value = values[list(asked).index(what)]
                            low, high = cell.low, cell.high
                            inside = low is None or high is None or low <= value <= high
                            found[what].append((count, key[1] == NO_JOB, inside))
            for what, held in found.items():
                _print_sums(f"| {method} | {ell} | {what} |", np.array(held))


def _truth(table: pa.Table) -> dict[tuple[str, str], tuple[int, float, float, float]]:
    """Rows, sum of age, mean age and sum of weights, by education and job."""
    grouped = table.group_by(["education", "occupation"]).aggregate(
        [("age", "count"), ("age", "sum"), ("age", "mean"), ("weight", "sum")]
    )
    return {
        (row["education"], row["occupation"]): (
            row["age_count"], row["age_sum"], row["age_mean"], row["weight_sum"],
        )
        for row in grouped.to_pylist()
    }  # fmt: skip


def _print_sums(start: str, cells: Codes) -> None:
    count, frequent, inside = cells.T
    masks = [
        (count >= least) & (count < most) & (frequent == 0)
        for least, most in ((20, 100), (100, 500), (500, np.inf))
    ]
    masks.append(frequent == 1)
    print(start, *(f"{inside[m].mean():.3f} |" if m.any() else "- |" for m in masks), flush=True)


# Replaced by a file with the values of the census.
DOMAIN = "occupation=FILE"
WAYS = {
    "mixed groups, occupation": ("occupation:5",),
    "random groups, occupation": ("occupation:5", "--groups", "random"),
    "common values, occupation": ("occupation:5", "--common", "auto"),
    "random groups, country": ("country:5", "--groups", "random"),
    "common values, country": ("country:5", "--common", "auto"),
    "odds at most 20, occupation": ("occupation:5", "--odds", "20", "--domain", DOMAIN),
    "two columns apart": ("occupation:5", "-s", "salary:5"),
    "two columns together": ("occupation:5", "-s", "salary:5", "--together"),
}


def cost(rows: int, times: int) -> None:
    """Publishing a column of the census with each method, taking turns; and asking.

    Country has a value with 84% of the rows, for which there are no mixed groups. Auto finds no
    common value in occupation, so that its time is what looking for them takes.
    """
    print(describe_machine(), "\n")
    print("| what | seconds | CPU seconds | MB | over mixed (by CPU) |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="countveil-bench-") as folder:
        place = Path(folder)
        source = place / "census.parquet"
        run([*COMMAND, "generate", "--rows", str(rows), "--seed", "1", "--to", source])
        listed = place / "occupations.txt"
        values = cv.generate(10_000, seed=1)["occupation"].unique().to_pylist()
        listed.write_text("\n".join(sorted(map(str, values))))
        targets = [place / str(number) for number in range(len(WAYS))]
        pairs = list(zip(WAYS.values(), targets, strict=True))
        spent = best(times, *(partial(_publish, source, *pair) for pair in pairs))
        _print_costs(f"publish, {rows:,} rows", spent)
        columns = [words[0].partition(":")[0] for words in WAYS.values()]
        queries = [
            f"SELECT gender, {column}, count(*) FROM release GROUP BY ALL" for column in columns
        ]
        asked = list(zip(targets, queries, strict=True))
        spent = best(times, *(partial(_query, *pair) for pair in asked))
        _print_costs("query, all values by gender", spent)
        for name, (target, query) in zip(WAYS, asked, strict=True):
            release = cv.open(target)
            release.sql(query)
            begun = time.perf_counter()
            for _ in range(5):
                release.sql(query)
            each = (time.perf_counter() - begun) / 5
            print(f"| the same once more in one process: {name} | {each:.3f} | - | - | - |")


def _publish(source: Path, words: tuple[str, ...], target: Path, _turn: int) -> Cost:
    more = ("--force", "--again", "--to", target)
    declared = f"occupation={source.parent / 'occupations.txt'}"
    given = [declared if word == DOMAIN else word for word in words]
    return run([*COMMAND, "publish", source, "-s", *given, *more])


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
