"""Persons with several rows: do the intervals of counts of rows hold the truth?

`python -m benchmarks.cases` makes up visits of persons with 1 to 3 and with 1 to 20 rows, publishes
them several times and compares the answers with the truth, for predicates about persons and rows.
The last lines are about pairs of two columns that are published together.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa

import countveil as cv

VALUES, ELL = 20, 4
PREDICATES: dict[str, tuple[str, ...]] = {
    "whole table": (), "by sex": ("sex",), "by region": ("region",), "by month": ("month",),
}  # fmt: skip


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=8)
    parser.add_argument("--rows", type=int, default=40_000)
    options = parser.parse_args()
    print(f"| rows per person | groups | {' | '.join(PREDICATES)} |")
    print("|---|---|" + "---|" * len(PREDICATES))
    for most in (3, 20):
        table = visits(options.rows, most)
        for groups in ("mixed", "random", "together"):
            covered = coverage(table, groups, options.releases)
            cells = " | ".join(f"{share:.3f}" for share in covered.values())
            print(f"| 1 to {most} | {groups} | {cells} |", flush=True)


def visits(rows: int, most: int) -> pa.Table:
    """Visits of persons; of those with many, some have other diagnoses."""
    rng = np.random.default_rng(most)
    persons = 2 * rows // (most + 1)
    shares = np.minimum(rng.dirichlet(np.full(VALUES, 4.0)), 0.15)
    shares /= shares.sum()
    each = rng.integers(1, most + 1, persons)
    who = np.repeat(np.arange(persons), each)
    usual = rng.choice(VALUES, persons, p=shares)[who]
    what = np.where(rng.random(who.size) < 0.7, usual, rng.choice(VALUES, who.size, p=shares))
    many = (each[who] > 0.7 * most) & (rng.random(who.size) < 0.3)
    what = np.where(many, rng.integers(0, 3, who.size), what)
    return pa.table({
        "patient": [f"p{number}" for number in who],
        "sex": np.array(["F", "M"])[rng.integers(0, 2, persons)[who]],
        "region": [f"r{number}" for number in rng.integers(0, 10, persons)[who]],
        "month": [f"m{number:02d}" for number in rng.integers(0, 12, who.size)],
        "diagnosis": [f"d{number:02d}" for number in what],
        "ward": [f"w{number}" for number in (who + (rng.random(who.size) < 0.1)) % 4],
    })  # fmt: skip


def coverage(table: pa.Table, groups: str, releases: int) -> dict[str, float]:
    """How often intervals hold the true count, for each kind of predicate."""
    together = groups == "together"
    protected = ["diagnosis", "ward"] if together else ["diagnosis"]
    how = {"together": True} if together else {"groups": groups, "drop": "ward"}
    held: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for _ in range(releases):
        with tempfile.TemporaryDirectory() as folder:
            release = cv.publish(
                table, dict.fromkeys(protected, ELL), Path(folder) / "r", person="patient", **how
            )
            for name, columns in PREDICATES.items():
                keys = [*columns, *protected]
                truth = Counter(zip(*(table[key].to_pylist() for key in keys), strict=True))
                query = f"SELECT {', '.join(keys)}, count(*) FROM release GROUP BY ALL"
                for row in release.sql(query).to_arrow().to_pylist():
                    count = truth[tuple(row[key] for key in keys)]
                    held[name] += row["low"] <= count <= row["high"]
                    asked[name] += 1
    return {name: held[name] / asked[name] for name in PREDICATES}


if __name__ == "__main__":
    main()
