"""What changed between two releases of a ledger.

Enters: two releases that continue each other, and questions. Leaves: answers about the difference.
Must not know: the publisher's side, which method estimates. Theory: docs/theory/cases.md,
"Changes".

A row that both releases have publishes the same in both. So the change of a count is that of the
rows which only the later one has, less that of the rows which only the earlier one has: both are
estimated batch by batch, and errors of what stayed cancel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.asking.answer import (
    EstimationSettings,
    MeasureEstimates,
    existing_cells,
    keys_of,
    labelled,
)
from countveil.asking.batch import count_question
from countveil.asking.release import Release
from countveil.asking.result import Answer, Cells
from countveil.engines.choice import changes_between
from countveil.engines.contract import OpenedRelease
from countveil.errors import QueryError
from countveil.maths.estimate import Estimates, make_estimator
from countveil.maths.estimate.changes import difference
from countveil.release import Manifest, SensitiveColumn
from countveil.release.batches import Batch, BatchedColumns
from countveil.release.values import NUMBER
from countveil.sql.query import Question, TallyResult, plan_question
from countveil.sql.query.expressions import AllOf, ColumnReference
from countveil.sql.query.plan import is_composed

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

# No column of a release has this name.
_CAME = "\0came"
_MANY_MOVED = 0.01


class Changes(Release):
    """The rows that only one of two releases has, opened for questions."""

    def __init__(self, earlier: Release, later: Release) -> None:
        """Compare the rows; both belong to one ledger and have the same columns."""
        names = [column.name for column in later.columns]
        table, rows = changes_between(earlier.table, later.table, names, _CAME)
        manifest = replace(_both(earlier.manifest, later.manifest), rows=max(rows, 1))
        self._open(later.place, OpenedRelease(manifest, lambda: table))
        self._before, self._moved = earlier.rows, self._moved_rows(earlier.manifest)

    def changed(
        self, query: str, settings: EstimationSettings, *, weighted: bool = False
    ) -> Answer:
        """By how much every measure of a query changed, for every group."""
        return self._changed(self._question(query, weighted), settings)

    def changed_count(
        self,
        where: str,
        values: Mapping[str, Any],
        settings: EstimationSettings,
        *,
        weighted: bool = False,
    ) -> Answer:
        """By how much the rows changed that meet `where` and have these values."""
        conditions = [self._conditions.formula(where)]
        conditions += [self._conditions.equals(name, value) for name, value in values.items()]
        question = count_question(AllOf(tuple(conditions)))
        return self._changed(self._weighted(question) if weighted else question, settings)

    def _changed(self, question: Question, settings: EstimationSettings) -> Answer:
        if is_composed(question):
            raise QueryError(
                "Changes are not estimated for groups by an expression of a sensitive column, for "
                "grouping sets, count(DISTINCT x), min and max. Ask for them in each release."
            )
        if any(m.denominator is not None or m.arithmetic for m in question.measures):
            raise QueryError(
                "The change of an average or a share is not estimated: rows that stayed matter for "
                "it too. Ask for the changes of counts and sums, or for the average in each "
                "release."
            )
        plan = plan_question(question, self._columns)
        estimator = settings.estimator()
        channels = self._channels(plan, estimator)
        tally, domains = channels.counted(plan)
        # What came and what left are groups of one tally.
        tally = replace(tally, keys=(*tally.keys, ColumnReference(_CAME, NUMBER)))
        tallied = self.table.tally(tally, domains)
        warnings = [*self._unlisted(plan), *self._notes()]
        if not tallied.keys:
            return labelled(question, plan, self._none(question, settings), warnings)
        counted = tallied.truths, tallied.moments, tallied.ranges
        tallies = channels.tallies(*counted, plan.grouped)
        unbiased = make_estimator("unbiased", "exact", settings.level)
        exact = MeasureEstimates(plan, tallies, unbiased)
        told = MeasureEstimates(plan, tallies, estimator)
        pairs = _Pairs(tallied)
        columns = [
            pairs.change(exact.grid(measure)[0], told.grid(measure)[0])
            for measure in question.measures
        ]
        exists = pairs.either(existing_cells(question, plan, tallies))
        keys = keys_of(question, plan, pairs.keys, tallies, exists)
        cells = [
            Cells(grid.at(exists), np.full(int(exists.sum()), np.inf), settings.within)
            for grid in columns
        ]
        warnings += estimator.warnings()
        return labelled(question, plan, (keys, cells), warnings)

    def _none(
        self, question: Question, settings: EstimationSettings
    ) -> tuple[list[list[Any]], list[Cells]]:
        """Nothing changed: no groups, or the one group of a question without any, unchanged."""
        size = 0 if question.keys else 1
        zeros = Estimates(*(np.zeros(size) for _ in range(4)))
        cells = Cells(zeros, np.full(size, np.inf), settings.within)
        return [[] for _ in question.keys], [cells for _ in question.measures]

    def _moved_rows(self, earlier: Manifest) -> int:
        """How many rows that came are of batches that the earlier release had already."""
        moved = 0
        for entry in earlier.batches:
            if entry.batch is not None:
                listed = ", ".join(str(batch.number) for batch in entry.drawn)
                condition = self._conditions.formula(f'"{entry.batch}" IN ({listed})')
                plan = plan_question(count_question(condition), self._columns)
                came = ColumnReference(_CAME, NUMBER)
                tallied = self.table.tally(replace(plan.tally, keys=(came,)), plan.domains)
                counts = dict(zip(tallied.keys, tallied.moments[0].sum(axis=1), strict=True))
                moved = max(moved, int(counts.get((1,), 0)))
        return moved

    def _notes(self) -> list[str]:
        if self._moved <= _MANY_MOVED * self._before:
            return []
        return [self._many_moved()]

    def _many_moved(self) -> str:
        return (
            f"{self._moved:,} rows of cases that the earlier release had already are new or have "
            f"other plain values. A row counts as unchanged if the earlier release has one with "
            f"the same values: where persons took the place of others, as when everybody's age "
            f"grows, errors of changes by such a column are too small."
        )


class _Pairs:
    """The groups of a tally, whose last key says whether rows came or left, in pairs."""

    def __init__(self, tallied: TallyResult) -> None:
        numbers: dict[tuple[Any, ...], int] = {}
        for key in tallied.keys:
            numbers.setdefault(key[:-1], len(numbers))
        self.keys = list(numbers)
        # The place of what came and of what left; the end, where there is nothing, for neither.
        self._places = np.full((2, len(numbers)), len(tallied.keys))
        for place, key in enumerate(tallied.keys):
            self._places[0 if key[-1] else 1, numbers[key[:-1]]] = place

    def either(self, exists: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which cells have rows that came, or that left."""
        padded = np.vstack([exists, np.zeros((1, exists.shape[1]), bool)])
        either: NDArray[np.bool_] = padded[self._places[0]] | padded[self._places[1]]
        return either

    def change(self, exact: Estimates, told: Estimates) -> Estimates:
        """What came less what left, from unbiased estimates and those that are told."""
        came, left = (self._at(exact, place) for place in self._places)
        points = [self._at(told, place).estimate for place in self._places]
        return difference(came, left, (points[0], points[1]))

    def _at(self, grid: Estimates, places: Numbers) -> Estimates:
        # Of no rows everything is known.
        padded = (np.vstack([array, np.zeros((1, array.shape[1]))]) for array in grid.arrays())
        return Estimates(*padded).at(places)


def _both(earlier: Manifest, later: Manifest) -> Manifest:
    """What both releases say of values and batches together."""
    domains = {
        name: tuple(dict.fromkeys([*entry.domain, *earlier.sensitive[name].domain]))
        for name, entry in later.sensitive.items()
    }
    sensitive: dict[str, SensitiveColumn] = {
        name: replace(entry, domain=domains[name]) for name, entry in later.sensitive.items()
    }
    drawn: dict[tuple[str, ...], dict[int, Batch]] = {}
    for manifest in (earlier, later):
        for entry in manifest.batches:
            batches = drawn.setdefault(entry.columns, {})
            for batch in entry.drawn:
                moved = _in_domains(batch, entry.columns, manifest, domains)
                known = batches.get(batch.number, moved)
                effect = max(known.design_effect, moved.design_effect)
                batches[batch.number] = replace(moved, design_effect=effect)
    entries = tuple(
        BatchedColumns(entry.columns, entry.batch, tuple(
            drawn[entry.columns][number] for number in sorted(drawn[entry.columns])
        ))
        for entry in later.batches
    )  # fmt: skip
    return replace(later, sensitive=sensitive, batches=entries)


def _in_domains(
    batch: Batch,
    names: Sequence[str],
    manifest: Manifest,
    domains: Mapping[str, tuple[Any, ...]],
) -> Batch:
    """The same batch, with values by their places in larger domains."""
    places = [
        [domains[name].index(value) for value in manifest.sensitive[name].domain] for name in names
    ]
    if batch.vectors:
        vectors = tuple(
            tuple(line[place] for place in vector)
            for line, vector in zip(places, batch.vectors, strict=True)
        )
        return replace(batch, vectors=vectors)
    counts = [0] * len(domains[names[0]])
    for place, count in zip(places[0], batch.counts, strict=True):
        counts[place] = count
    common = tuple(places[0][place] for place in batch.common)
    return replace(batch, counts=tuple(counts), common=common)
