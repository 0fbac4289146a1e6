"""A series under attack: for every linked row of every release, its case and what it publishes.

Enters: rows of releases that are linked to persons, as codes. Leaves: cases, and for each batch
what its cases publish. Must not know: files, values, ledgers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.auditing.target import AttackedColumn, Codes


@dataclass(frozen=True, slots=True)
class ReleasedRows:
    """Linked rows of one release: persons, true and published values or vectors, batches.

    `belongs` says whether the release was made with the ledger of the series; if not, the batches
    mean nothing.
    """

    person: Codes
    truth: Codes
    shown: Codes
    batch: Codes
    belongs: bool


@dataclass(frozen=True, slots=True)
class BatchWay:
    """How a batch was drawn; `complete` if all of its cases are known, and not only some."""

    groups: str
    common: tuple[int, ...]
    complete: bool


@dataclass(frozen=True)
class SeriesColumn:
    """A column, or columns together, in all releases of a series.

    Cases are numbered: `truth` and `person` have the value and the person of each, and `case` the
    number of the case of every row of every release.
    """

    name: str
    ell: int
    n_values: int
    truth: Codes
    person: Codes
    releases: Sequence[ReleasedRows]
    case: Sequence[Codes]
    ways: Mapping[int, BatchWay]

    @classmethod
    def of(
        cls,
        name: str,
        ell: int,
        n_values: int,
        releases: Sequence[ReleasedRows],
        ways: Mapping[int, BatchWay],
    ) -> SeriesColumn:
        """Find the cases."""
        keys = [rows.person * n_values + rows.truth for rows in releases]
        cases, number = np.unique(np.concatenate(keys), return_inverse=True)
        ends = np.cumsum([rows.person.size for rows in releases])[:-1]
        return cls(
            name, ell, n_values, cases % n_values, cases // n_values, releases,
            np.split(number, ends), ways,
        )  # fmt: skip

    @property
    def several(self) -> NDArray[np.bool_]:
        """Which cases are linked in more than one release."""
        times = sum(np.bincount(np.unique(c), minlength=self.truth.size) for c in self.case)
        more: NDArray[np.bool_] = np.asarray(times) > 1
        return more

    @cached_property
    def shown(self) -> Codes:
        """What the newest release with a row of a case publishes in it."""
        shown = np.full(self.truth.size, -1, np.int64)
        for rows, case in zip(self.releases, self.case, strict=True):
            shown[case] = rows.shown
        return shown

    @cached_property
    def batch(self) -> Codes:
        """The batch of every case, by the releases of the series; 0 if it is in none of them."""
        batch = np.zeros(self.truth.size, np.int64)
        for rows, case in zip(self.releases, self.case, strict=True):
            if rows.belongs:
                batch[case] = rows.batch
        return batch

    @cached_property
    def different(self) -> NDArray[np.bool_]:
        """Which cases publish more than one value, in one release or in several."""
        case = np.concatenate(list(self.case))
        shown = np.concatenate([rows.shown for rows in self.releases])
        pairs = np.unique(case * self.n_values + shown)
        more: NDArray[np.bool_] = np.bincount(pairs // self.n_values, minlength=self.truth.size) > 1
        return more

    def most_shown(self) -> Codes:
        """For each person, what most of its rows in all releases publish; -1 for no person."""
        person = np.concatenate([rows.person for rows in self.releases])
        shown = np.concatenate([rows.shown for rows in self.releases])
        pairs, times = np.unique(person * self.n_values + shown, return_counts=True)
        order = np.lexsort((pairs, -times))
        whose, first = np.unique(pairs[order] // self.n_values, return_index=True)
        most = np.full(int(person.max(initial=-1)) + 1, -1, np.int64)
        most[whose] = pairs[order][first] % self.n_values
        return most

    def batches(self) -> dict[int, AttackedColumn]:
        """The cases of each batch, as a column under attack."""
        columns = {}
        for number, way in sorted(self.ways.items()):
            cases = np.flatnonzero(self.batch == number)
            truth, shown = self.truth[cases], self.shown[cases]
            columns[number] = AttackedColumn(
                self.name, self.ell, way.groups,
                np.bincount(truth, minlength=self.n_values),
                np.bincount(shown, minlength=self.n_values),
                truth, shown, way.common,
            )  # fmt: skip
        return columns


@dataclass(frozen=True, slots=True)
class LedgerCases:
    """Cases of the table: of each its person, then its value in each of the columns."""

    columns: tuple[str, ...]
    cases: Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class LeakedLedger:
    """The files of a ledger, the true cases, and texts that must not be in the ledger."""

    path: Path
    key: Path
    cases: Sequence[LedgerCases]
    secrets: Sequence[str]


@dataclass(frozen=True)
class LinkedSeries:
    """All columns of a series, its releases and, if there is one, its ledger.

    `strangers` are the releases that were not made with the ledger of the newest one. `linked` rows
    of the newest release are linked.
    """

    columns: Sequence[SeriesColumn]
    releases: int
    strangers: int
    ledger: LeakedLedger | None
    linked: int
