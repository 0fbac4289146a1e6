"""How long publishing takes, against ell, on the largest table (section "Computational overhead").

`mechanism`: groups, draw and dealing, in memory; the paper's figure is of this. `publish`: the
whole way from a table to a release on disk, as a publisher does it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

import countveil as cv
from countveil.comparing.baselines import DecoyGroups
from study.data import PLAIN, StudyTable
from study.experiments.common import Parameters, Row, Scale, eligible, randomness_of

GROUPS = {"paper": "anatomy", "ours": "mixed"}


def cells(scale: Scale) -> list[Parameters]:
    """Every ell on the largest table."""
    return [
        {"rows": max(scale.sizes), "ell": ell, "method": method, "times": scale.times}
        for ell in scale.ells
        for method in GROUPS
    ]


def measure(table: StudyTable, rows: int, ell: int, method: str, times: int) -> list[Row]:
    """Each so many times."""
    table = table.first(rows)
    codes, size = table.occupation, table.size("Occupation")
    if not eligible(codes, ell):
        return []
    people = pa.table({name: table.columns[name] for name in (*PLAIN, "Occupation")})
    choices = DecoyGroups(ell, GROUPS[method])

    def mechanism(number: int) -> None:
        choices.publish(codes, size, randomness_of("publishing", ell, method, number))

    def publish(number: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cv.publish(
                people,
                {"Occupation": ell},
                Path(folder) / "release",
                groups=GROUPS[method],
                seed=number,
                keep=list(PLAIN),
            )

    return [
        {
            "rows": rows,
            "ell": ell,
            "method": method,
            "work": work.__name__,
            "repetition": number,
            **_costs(work, number),
        }
        for work in (mechanism, publish)
        for number in range(times)
    ]


def _costs(work: Callable[[int], None], number: int) -> Row:
    """By the clock, and of all cores together."""
    start, before = time.perf_counter(), time.process_time()
    work(number)
    return {
        "seconds": round(time.perf_counter() - start, 4),
        "cpu_seconds": round(time.process_time() - before, 4),
    }
