"""Values that were drawn in batches: errors and coverage beside those of one draw.

`python -m benchmarks.batches` publishes ACS 2024 (100,800 rows, Occupation50) in 1, 12 and 24
batches, with all rows and after rows of early batches have left, more of them with some values than
with others. It compares the answers to random conjunctive predicates, for every occupation, with
the truth: mean relative error by selectivity, and how often intervals hold the truth.
`--speed` measures how long questions take; `--changes` compares two releases of a ledger.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.asking.release import Release
from countveil.asking.series import ReleaseSeries
from tests.batched_releases import DrawnColumn, batched_release, drawn_column
from tests.repeated_releases import acs_2024, coded

PLAIN = ("Age", "Gender", "Education", "Marital", "Race", "Workclass")
CLASSES = ((1e-4, 1e-3), (1e-3, 5e-3), (5e-3, 1e-2), (1e-2, 2e-2), (2e-2, 5e-2))
CHANGED = (0, 1, 5, 20, 100)
LEVELS = (0.5, 0.9, 0.95, 0.99)
NAMES = " | ".join(f"{low:.2%}-{high:.2%}" for low, high in CLASSES)

Codes = NDArray[np.int64]


@dataclass
class Sums:
    """Relative errors, and how often intervals hold the truth, by class of counts."""

    error: list[list[float]] = field(default_factory=lambda: [[] for _ in CLASSES])
    covered: dict[float, list[list[float]]] = field(
        default_factory=lambda: {level: [[] for _ in CLASSES] for level in LEVELS}
    )


def main() -> None:
    """Print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=4)
    parser.add_argument("--predicates", type=int, default=150)
    parser.add_argument("--rows", type=int, default=100_800)
    parser.add_argument("--ell", type=int, default=5)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--changes", action="store_true")
    options = parser.parse_args()
    table = acs_2024(options.rows)
    if table is None:
        raise SystemExit("ACS 2024 is not at hand.")
    if options.speed:
        speed(table, options.ell)
        return
    if options.changes:
        report_changes(table, options)
        return
    for left in (False, True):
        print(f"\n{'Rows of early batches have left' if left else 'All rows'}, ell {options.ell}")
        for number in (1, 12, 24):
            report(table, number, left, options)


def values_of(table: pa.Table) -> tuple[dict[str, Codes], Codes]:
    """The plain columns and the sensitive one, as numbers."""
    plain = {name: coded(table[name]) for name in PLAIN if name != "Age"}
    plain["Age"] = table["Age"].to_numpy().astype(np.int64)
    return plain, coded(table["Occupation50"])


def who_stays(values: Codes, batch: Codes, seed: int) -> Codes:
    """Of early batches 10 to 30% leave, depending on the value."""
    rng = np.random.default_rng(seed)
    chance = 0.1 + 0.2 * (values % 3) / 2
    early = batch <= np.median(batch)
    return np.flatnonzero(~(early & (rng.random(values.size) < chance)))


def predicates(plain: dict[str, Codes], number: int, seed: int = 3) -> Iterator[str]:
    """Conjunctions of one to three conditions."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        parts = []
        for name in rng.choice(PLAIN, rng.integers(1, 4), replace=False):
            row = int(rng.integers(0, plain[name].size))
            value = int(plain[name][row])
            parts.append(f"{name} BETWEEN {value - 5} AND {value + 5}" if name == "Age"
                         else f"{name} = {value}")  # fmt: skip
        yield " AND ".join(parts)


def true_rows(condition: str, plain: dict[str, Codes]) -> NDArray[np.bool_]:
    """Which rows meet a condition of `predicates`."""
    rows = np.ones(next(iter(plain.values())).size, bool)
    for part in condition.replace("BETWEEN ", "").split(" AND "):
        words = part.split()
        if len(words) == 1:
            rows &= plain["Age"] <= int(words[0])
        elif words[0] == "Age":
            rows &= plain["Age"] >= int(words[1])
        else:
            rows &= plain[words[0]] == int(words[2])
    return rows


def report(table: pa.Table, number: int, left: bool, options: argparse.Namespace) -> None:
    """One line of errors and one of coverage for every level."""
    plain, values = values_of(table)
    sums = Sums()
    alone: list[bool] = []
    for seed in range(options.releases):
        batch = 1 + np.random.default_rng(seed).integers(0, number, values.size)
        column = drawn_column("occ", values, batch, ell=options.ell, seed=seed)
        rows = who_stays(values, batch, seed) if left else np.arange(values.size)
        release = batched_release(plain, [column], rows)
        measure(
            release, column, plain, values, rows, list(predicates(plain, options.predicates)), sums
        )
        if number > 1:
            alone += by_batch(release, values[rows], batch[rows])
    errors = " | ".join(f"{np.mean(e):.3f}" for e in sums.error)
    print(f"\n| {number} batches | {NAMES} |\n|---|---|---|---|---|---|\n| error | {errors} |")
    for level, covered in sums.covered.items():
        print(f"| {level:.0%} | {' | '.join(f'{np.mean(c):.3f}' for c in covered)} |", flush=True)
    if alone:
        print(f"GROUP BY batch, value: 95% intervals hold the truth {np.mean(alone):.3f}")


def measure(
    release: Release,
    column: DrawnColumn,
    plain: dict[str, Codes],
    values: Codes,
    rows: Codes,
    conditions: list[str],
    sums: Sums,
) -> None:
    """All occupations under every condition."""
    domain = column.domains[0]
    texts = [f"({c}) AND occ = '{value}'" for c in conditions for value in domain]
    truth = np.concatenate([
        np.bincount(values[rows][true_rows(c, plain)[rows]], minlength=len(domain))
        for c in conditions
    ])  # fmt: skip
    for level in LEVELS:
        grid = release.counts(texts, level=level).blocks[0].estimates.grid
        for place, (low, high) in enumerate(CLASSES):
            here = (truth >= low * rows.size) & (truth < high * rows.size)
            inside = (grid.low <= truth) & (truth <= grid.high)
            sums.covered[level][place] += inside[here].tolist()
            if level == LEVELS[0]:
                error = np.abs(grid.estimate - truth)[here] / truth[here]
                sums.error[place] += error.tolist()


def by_batch(release: Release, values: Codes, batch: Codes) -> list[bool]:
    """Whether intervals of GROUP BY batch and value hold the truth."""
    truth = {(int(b), f"o{v:03d}"): 0 for b in np.unique(batch) for v in np.unique(values)}
    for pair in zip(batch.tolist(), values.tolist(), strict=True):
        truth[pair[0], f"o{pair[1]:03d}"] += 1
    answer = release.sql("SELECT batch, occ, count(*) FROM release GROUP BY batch, occ")
    inside = []
    for batch_number, value, _, _, low, high, _ in answer.rows():
        inside.append(low <= truth.get((batch_number, value), 0) <= high)
    return inside


def speed(table: pa.Table, ell: int) -> None:
    """CPU seconds of some kinds of questions, with 1 and with 24 batches."""
    plain, values = values_of(table)
    texts = [f"({c}) AND occ = 'o{n % 50:03d}'" for n, c in enumerate(predicates(plain, 1_000, 7))]
    questions: dict[str, Callable[[Release], Any]] = {
        "count": lambda r: r.count("Age > 40 AND Gender = 1", occ="o003"),
        "GROUP BY plain": lambda r: r.sql(
            "SELECT Age, count(*) FROM release WHERE occ = 'o003' GROUP BY Age"
        ),
        "GROUP BY sensitive": lambda r: r.sql("SELECT occ, count(*) FROM release GROUP BY occ"),
        "GROUP BY both": lambda r: r.sql("SELECT Age, occ, count(*) FROM release GROUP BY ALL"),
        "1,000 counts": lambda r: r.counts(texts),
    }
    print("| question | 1 batch | 24 batches | ratio |\n|---|---|---|---|")
    releases = []
    for number in (1, 24):
        batch = 1 + np.random.default_rng(0).integers(0, number, values.size)
        releases.append(batched_release(plain, [drawn_column("occ", values, batch, ell=ell)]))
    for name, ask in questions.items():
        # In turn, so that whatever else the machine does slows both down.
        seconds = [[_seconds(ask, release) for release in releases] for _ in range(25)]
        one, many = (min(each) for each in zip(*seconds, strict=True))
        print(f"| {name} | {one * 1e3:.2f} ms | {many * 1e3:.2f} ms | {many / one:.2f} |")


def report_changes(table: pa.Table, options: argparse.Namespace) -> None:
    """Twelve batches; then a thirteenth comes, and of the first six 10 to 30% leave."""
    plain, values = values_of(table)
    covered: dict[float, list[list[bool]]] = {level: [[] for _ in CHANGED] for level in LEVELS}
    squares: list[list[tuple[float, float]]] = [[] for _ in CHANGED]
    for seed in range(options.releases):
        batch = 1 + np.random.default_rng(seed).integers(0, 13, values.size)
        column = drawn_column("occ", values, batch, ell=options.ell, seed=seed)
        before = np.flatnonzero(batch < 13)
        stay = who_stays(values, batch, seed)
        anew = drawn_column("occ", values, batch * 0 + 1, ell=options.ell, seed=1_000 + seed)
        first, last = (
            batched_release(plain, [column], before),
            batched_release(plain, [column], stay, 2),
        )
        other = batched_release(plain, [anew], stay, 2)
        series = ReleaseSeries([first, last])
        for condition in predicates(plain, options.predicates):
            query = f"SELECT occ, count(*) FROM release WHERE {condition} GROUP BY occ"
            inside = true_rows(condition, plain)
            truth = np.bincount(values[stay][inside[stay]], minlength=50).astype(float)
            truth -= np.bincount(values[before][inside[before]], minlength=50)
            group = np.digitize(np.abs(truth), CHANGED) - 1
            for level in LEVELS:
                answer = series.changes(query, level=level)
                if len(answer) < truth.size:
                    break
                grid = answer.blocks[0].estimates.grid
                for place, within in zip(
                    group, (grid.low <= truth) & (truth <= grid.high), strict=True
                ):
                    covered[level][place].append(bool(within))
            if len(answer) < truth.size:
                continue
            apart = [r.sql(query).blocks[0].estimates.grid.estimate for r in (first, other)]
            for place, one, two in zip(
                group, (grid.estimate - truth) ** 2, (apart[1] - apart[0] - truth) ** 2, strict=True
            ):
                squares[place].append((float(one), float(two)))
    names = " | ".join(f"from {low}" for low in CHANGED)
    print(f"| true change | {names} |\n|---|{'---|' * len(CHANGED)}")
    print(f"| cells | {' | '.join(str(len(each)) for each in squares)} |")
    for level, each in covered.items():
        print(f"| {level:.0%} | {' | '.join(f'{np.mean(c):.3f}' for c in each)} |")
    for place, what in enumerate(("changes", "two draws")):
        roots = [np.sqrt(np.mean([pair[place] for pair in each])) for each in squares]
        print(f"| root mean square error, {what} | {' | '.join(f'{r:.1f}' for r in roots)} |")


def _seconds(ask: Callable[[Release], Any], release: Release) -> float:
    """Of all threads, and not of what else the machine does."""
    start = time.process_time()
    ask(release)
    return time.process_time() - start


if __name__ == "__main__":
    main()
