"""A hospital that publishes every month: visits have a number, so that a test can link them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import countveil as cv

DIAGNOSES = [f"D{number:02d}" for number in range(8)]


class Hospital:
    """Visits, by number: patient and diagnosis. Sex follows from the patient."""

    def __init__(self, patients: Iterable[int], seed: int = 3, visits: int = 2) -> None:
        self._rng = np.random.default_rng(seed)
        self.visits: dict[int, tuple[int, str]] = {}
        self.admit(patients, visits)

    def admit(self, patients: Iterable[int], visits: int = 2) -> None:
        """New visits: of each patient one to `visits`, most of them for the same diagnosis."""
        for patient in patients:
            usual = self._rng.choice(DIAGNOSES)
            for _ in range(int(self._rng.integers(1, visits + 1))):
                value = usual if self._rng.random() < 0.7 else self._rng.choice(DIAGNOSES)
                self.visits[len(self.visits)] = (patient, str(value))

    def table(self, numbers: Iterable[int] | None = None, **columns: Any) -> pa.Table:
        """All visits, or those with some numbers, and more columns by function of the number."""
        chosen = sorted(self.visits if numbers is None else numbers)
        pairs = [self.visits[number] for number in chosen]
        return pa.table({
            "patient": [f"P{patient:05d}" for patient, _ in pairs],
            "sex": ["F" if patient % 2 else "M" for patient, _ in pairs],
            "number": chosen,
            "diagnosis": [value for _, value in pairs],
            **{name: [of(number) for number in chosen] for name, of in columns.items()},
        })  # fmt: skip


def publish(table: pa.Table, to: Path, ledger: Path, **options: Any) -> cv.Release:
    """One release of a ledger."""
    given: dict[str, Any] = {"sensitive": {"diagnosis": 3}, "person": "patient", "keep": ["number"]}
    return cv.publish(table, to=to, ledger=ledger, **{**given, **options})


def rows_of(release: Path, *columns: str) -> dict[int, tuple[Any, ...]]:
    """What each visit publishes."""
    table = pq.read_table(release / "data")
    names = columns or ("diagnosis", "batch")
    values = zip(*(table[name].to_pylist() for name in names), strict=True)
    return dict(zip(table["number"].to_pylist(), values, strict=True))


def by_case(
    rows: Mapping[int, tuple[Any, ...]], visits: Mapping[int, tuple[int, str]]
) -> dict[tuple[int, str], set[tuple[Any, ...]]]:
    """What the rows of every case publish: one thing, if all is well."""
    cases: dict[tuple[int, str], set[tuple[Any, ...]]] = {}
    for number, published in rows.items():
        cases.setdefault(visits[number], set()).add(published)
    return cases
