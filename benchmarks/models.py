"""Regressions and quantiles on releases, with known truth.

- `coverage`: how often 95% intervals hold what the same model gives on the true table, for errors
  about the table and for errors about the population; the spread of estimates over their standard
  errors; slopes from published rows, used as if they were true, over the true ones.
- `samples`: tables are samples of a large one; how often intervals hold what it gives.
- `quantiles`: medians, quantiles and standard deviations by gender and occupation.
- `cost`: seconds of the processor for a fit.

Models have the sensitive column as outcome and as predictor. The built-in census is used where
../shared/data has no ACS 2024, which is not part of this project. Prints Markdown, as kept in
RESULTS.md.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import statsmodels.api as sm
import statsmodels.formula.api as smf
from numpy.typing import NDArray

import countveil as cv
from benchmarks.speed import describe_machine
from countveil.asking.models.regression import Regression
from countveil.engines.contract import OpenedRelease
from countveil.engines.local.release_table import LocalRelease
from tests.repeated_releases import acs_2024

Floats = NDArray[np.float64]
FAMILIES = {
    "linear": sm.families.Gaussian,
    "logistic": sm.families.Binomial,
    "poisson": sm.families.Poisson,
}
# The values of the sensitive column, by rank, that models ask for one at a time.
RANKS = (0.0, 0.3, 0.6)
MOMENTS = ("median(age)", "quantile_cont(age, 0.9)", "stddev(age)")


@dataclass(frozen=True)
class Model:
    """A model in our words and, with `hit` for the condition, in those of statsmodels."""

    name: str
    family: str
    ours: str
    theirs: str


MODELS = (
    Model("outcome, logistic", "logistic", "{} ~ age + C(gender)", "hit ~ age + C(gender)"),
    Model("predictor, linear", "linear", "age ~ {} + C(gender)", "age ~ hit + C(gender)"),
    Model("predictor, logistic", "logistic", "gender = '1' ~ {} + age", "first ~ hit + age"),
    Model("predictor, Poisson", "poisson", "age ~ {} + C(gender)", "age ~ hit + C(gender)"),
    Model("predictor, all values, linear", "linear", "age ~ C(job) - 1", "age ~ C(job) - 1"),
    Model("outcome, all values, multinomial", "multinomial", "job ~ age >= 45", ""),
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--releases", type=int, default=20)
    parser.add_argument("--ell", type=int, nargs="*", default=[2, 5, 10])
    parser.add_argument("--groups", default="mixed")
    parser.add_argument("--cost-rows", type=int, default=500_000)
    parser.add_argument("--only", nargs="*", default=["coverage", "samples", "quantiles", "cost"])
    parser.add_argument("--quick", action="store_true", help="a look, in about a minute")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.releases, options.ell, options.cost_rows = 20_000, 3, [3], 20_000
    title, frame = people(options.rows)
    if "coverage" in options.only:
        coverage(title, frame, options)
    if "samples" in options.only:
        samples(options)
    if "quantiles" in options.only:
        quantiles(title, frame, options)
    if "cost" in options.only:
        cost(options.cost_rows, options.ell[-1])


def people(rows: int) -> tuple[str, pd.DataFrame]:
    """Age, gender and job of a table."""
    table = acs_2024(rows)
    if table is None:
        made = cv.generate(rows, seed=1)
        assert made is not None
        frame = made.select(["age", "gender", "occupation"]).to_pandas()
        frame["gender"] = np.where(frame["gender"] == "F", "1", "2")
        return "built-in census", frame.rename(columns={"occupation": "job"})
    frame = table.select(["Age", "Gender", "Occupation50"]).to_pandas()
    frame.columns = pd.Index(["age", "gender", "job"])
    frame["gender"] = frame["gender"].astype(str)
    frame["job"] = [f"job {number:02d}" for number in frame["job"]]
    return "ACS 2024", frame


def released(frame: pd.DataFrame, ell: int, groups: str, seed: int) -> cv.Release:
    """A release in a folder that is soon gone; its rows are read first."""
    with tempfile.TemporaryDirectory() as folder:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        release = cv.publish(
            table, {"job": ell}, Path(folder) / "r", groups=groups, seed=seed, keep=["age"]
        )
        rows = release.table.rows(["age", "gender", "job"])
        return _in_memory(release, rows.rename_columns(["age", "gender", "job"]))


def _in_memory(release: cv.Release, rows: pa.Table) -> cv.Release:
    manifest = release.manifest

    def open_table() -> LocalRelease:
        chosen = rows.select([column.name for column in manifest.columns])
        return LocalRelease(Path(), [], chosen.column_names, ["job"], rows=[chosen])

    return cv.Release.over("in memory", OpenedRelease(manifest, open_table))


def asked(frame: pd.DataFrame) -> Iterator[tuple[Model, str]]:
    """Every model with every condition that it is asked for; an empty one for all values."""
    ranked = frame["job"].value_counts().index
    values = [str(ranked[int(rank * len(ranked))]) for rank in RANKS]
    for model in MODELS:
        if "{}" in model.ours:
            yield from ((model, value) for value in values)
        else:
            yield model, ""


def fitted_to_rows(model: Model, value: str, frame: pd.DataFrame) -> dict[str, float]:
    """Coefficients, by our names, from rows taken as they are."""
    if model.family == "multinomial":
        return _multinomial(frame)
    counted = frame.value_counts(["age", "gender", "job"]).rename("n").reset_index()
    counted["hit"] = (counted["job"] == value) * 1
    counted["first"] = (counted["gender"] == "1") * 1
    family = FAMILIES[model.family]()
    fit = smf.glm(model.theirs, counted, family=family, freq_weights=counted["n"]).fit()
    return {name.replace("hit", f"job = '{value}'"): x for name, x in fit.params.items()}


def _multinomial(frame: pd.DataFrame) -> dict[str, float]:
    """Young and old: logarithms of ratios of counts."""
    counts = pd.crosstab(frame["job"], frame["age"] >= 45)
    logs = counts.div(counts.iloc[0]).map(np.log)
    answer = {}
    for job in counts.index[1:]:
        young, old = logs.loc[job]
        answer[f"{job}: Intercept"] = float(young)
        answer[f"{job}: age >= 45"] = float(old - young)
    return answer


@dataclass
class Measured:
    """What was estimated beside what is true, over releases."""

    z: dict[str, list[float]] = field(
        default_factory=lambda: {"table": [], "table, others": [], "population": []}
    )
    hidden: int = 0
    refused: int = 0
    naive: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)

    def add(self, about: str, fit: Regression, truth: dict[str, float]) -> None:
        """One fit."""
        names = [": ".join(map(str, term)) for term in fit.terms]
        true = np.array([truth[name] for name in names])
        z = (fit.estimates - true) / fit.std_errors
        outcome = fit.formula.startswith("job")
        for name, each in zip(names, z.tolist(), strict=True):
            if np.isfinite(each):
                others = about == "table" and not outcome and "job" not in name
                self.z["table, others" if others else about].append(each)
        self.hidden += int(np.isnan(fit.estimates).sum()) if about == "table" else 0

    def covered(self, about: str) -> str:
        """The share of intervals that hold the truth."""
        z = np.abs(self.z[about])
        return f"{np.mean(z < 1.959964):.3f}" if z.size else "-"

    @property
    def spread(self) -> str:
        """Of errors over standard errors, about the table."""
        z = self.z["table"]
        return f"{np.sqrt(np.mean(np.square(z))):.2f}" if z else "-"


def coverage(title: str, frame: pd.DataFrame, options: argparse.Namespace) -> None:
    """A line for every model and ell."""
    print(f"{title}, {len(frame):,} rows, {options.releases} releases, {options.groups} groups.\n")
    print(
        "| model | ell | coefficients | covered | error / std. error | other coefficients, covered "
        "| all, population's errors | hidden | refused | slope from rows / true | ours / true |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    truths = {(m.name, v): fitted_to_rows(m, v, frame) for m, v in asked(frame)}
    for ell in options.ell:
        measured = {model.name: Measured() for model in MODELS}
        for seed in range(options.releases):
            release = released(frame, ell, options.groups, seed)
            rows = release.table.rows(["age", "gender", "job"])
            published = rows.rename_columns(["age", "gender", "job"]).to_pandas()
            for model, value in asked(frame):
                one = measured[model.name]
                abouts = ("table", "population") if seed < 4 else ("table",)
                _measure(one, release, model, value, truths[model.name, value], abouts)
                if seed < 3:
                    naive = fitted_to_rows(model, value, published)
                    one.naive += _slopes(naive, truths[model.name, value])
        for name, one in measured.items():
            print(
                f"| {name} | {ell} | {len(one.z['table']):,} | {one.covered('table')} | "
                f"{one.spread} | {one.covered('table, others')} | {one.covered('population')} | "
                f"{one.hidden} | {one.refused} | "
                f"{_middle(one.naive)} | {_middle(one.ours)} |",
                flush=True,
            )
    print()


def _middle(ratios: Sequence[float]) -> str:
    return f"{np.median(ratios):.2f}" if ratios else "-"


def _measure(
    one: Measured,
    release: cv.Release,
    model: Model,
    value: str,
    truth: dict[str, float],
    abouts: Sequence[str],
) -> None:
    formula = model.ours.format(f"job = '{value}'")
    try:
        for about in abouts:
            fit = release.regress(formula, family=model.family, about=about)
            one.add(about, fit, truth)
    except cv.CountveilError:
        one.refused += 1
        return
    names = [": ".join(map(str, term)) for term in fit.terms]
    one.ours += _slopes(dict(zip(names, fit.estimates.tolist(), strict=True)), truth)


def _slopes(estimates: dict[str, float], truth: dict[str, float]) -> list[float]:
    """Estimated over true, of coefficients that the sensitive column is part of.

    Those that are nearly 0 are left out.
    """
    slopes = {n: t for n, t in truth.items() if not n.endswith("Intercept")}
    if any(name.startswith("C(job)[") for name in slopes):
        # These are means.
        return []
    sizes: dict[str, list[float]] = {name.split(" ")[0]: [] for name in slopes}
    for name, true in slopes.items():
        sizes[name.split(" ")[0]].append(abs(true))
    outcome = not any(name.startswith(("job =", "C(job)")) for name in slopes)
    return [
        estimates[name] / true
        for name, true in slopes.items()
        if (outcome or name.startswith(("job =", "C(job)")))
        and abs(true) >= np.median(sizes[name.split(" ")[0]])
        and np.isfinite(estimates.get(name, np.nan))
    ]


def samples(options: argparse.Namespace) -> None:
    """Tables that are drawn from a large one, which is the population."""
    title, population = people(500_000)
    rows, number, ell = 20_000, 2 * options.releases, 5
    print(
        f"Samples of {rows:,} of {title}, {number} of them, ell {ell}, {options.groups} groups.\n"
    )
    print("| model | coefficients | covered, about the population |\n|---|---|---|")
    rng = np.random.default_rng(1)
    models = [(m, v) for m, v in asked(population) if v]
    truths = {(m.name, v): fitted_to_rows(m, v, population) for m, v in models}
    measured = {model.name: Measured() for model, _ in models}
    for seed in range(number):
        sample = population.iloc[rng.integers(0, len(population), rows)]
        release = released(sample, ell, options.groups, seed)
        for model, value in models:
            formula = model.ours.format(f"job = '{value}'")
            try:
                fit = release.regress(formula, family=model.family)
            except cv.CountveilError:
                measured[model.name].refused += 1
                continue
            measured[model.name].add("population", fit, truths[model.name, value])
    for name, one in measured.items():
        print(f"| {name} | {len(one.z['population']):,} | {one.covered('population')} |")
    print()


def quantiles(title: str, frame: pd.DataFrame, options: argparse.Namespace) -> None:
    """Coverage of quantiles by gender and occupation."""
    print(f"{title}, {len(frame):,} rows, age by gender and occupation, {options.groups} groups.\n")
    print("| statistic | ell | cells | covered | median width / true | hidden |")
    print("|---|---|---|---|---|---|")
    for ell in options.ell:
        releases = [
            released(frame, ell, options.groups, seed) for seed in range(options.releases // 2 + 1)
        ]
        for moment in MOMENTS:
            query = f"SELECT gender, job, {moment} FROM release GROUP BY gender, job"
            rows = duckdb.execute(query.replace("release", "frame")).fetchall()
            truth = {row[:2]: row[2] for row in rows}
            inside, widths, hidden = [], [], 0
            for release in releases:
                answer = release.sql(query)
                for group, cell in zip(answer.groups, answer.estimates, strict=True):
                    true = truth.get(tuple(group))
                    if cell.low is None or cell.high is None or true is None:
                        hidden += 1
                        continue
                    inside.append(cell.low <= true <= cell.high)
                    widths.append((cell.high - cell.low) / true)
            print(
                f"| {moment} | {ell} | {len(inside):,} | {np.mean(inside):.3f} | "
                f"{np.median(widths):.2f} | {hidden} |", flush=True,
            )  # fmt: skip
    print()


def cost(rows: int, ell: int) -> None:
    """Seconds of each model on a release that was just opened."""
    print(describe_machine())
    title, frame = people(rows)
    print(f"\n{title}, {len(frame):,} rows, ell {ell}.\n")
    print("| what | seconds of the processor |\n|---|---|")
    release = released(frame, ell, "mixed", 1)
    release.count()
    for model, value in asked(frame):
        formula = model.ours.format(f"job = '{value}'")

        def fit(formula: str = formula, family: str = model.family) -> object:
            return release.regress(formula, family=family)

        if value in ("", asked_first(frame)):
            print(f"| {model.name}: `{formula}` | {seconds(fit):.1f} |")
    wide = frame.assign(pay=np.random.default_rng(1).normal(size=len(frame)))
    table = pa.Table.from_pandas(wide, preserve_index=False)
    with tempfile.TemporaryDirectory() as folder:
        opened = cv.publish(table, {"job": ell}, Path(folder) / "r", seed=1, keep=["age", "pay"])
        value = asked_first(frame)
        formula = f"job = '{value}' ~ pay + age + C(gender)"
        took = seconds(lambda: opened.regress(formula, family="logistic"))
        print(f"| all rows different: `{formula}` | {took:.1f} |")
        took = seconds(lambda: sum(batch.num_rows for batch in opened.weights("job")))
        print(f"| weights of all values, streamed | {took:.1f} |")


def asked_first(frame: pd.DataFrame) -> str:
    """The most frequent value."""
    return str(frame["job"].value_counts().index[0])


def seconds(work: Callable[[], object]) -> float:
    """How long it keeps the processor busy."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
