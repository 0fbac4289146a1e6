"""Many counts at once.

Enters: formulas, a release's table and channels. Leaves: the same estimates as if each formula were
answered alone. Must not know: SQL text, where the tallies come from, which method estimates.

A condition of the form "plain AND sensitive" is estimated from the published values of the rows
that meet the plain condition. So the plain conditions of all counts are tallied together, and are
the groups of one call of the estimator: one call for all counts of single values, and one for every
other sensitive condition. A formula that mixes both kinds under OR or NOT is not accepted here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.asking.answer import Channels
from countveil.asking.result import Cells
from countveil.engines.contract import ReleaseTable
from countveil.maths.estimate import ALWAYS, NEVER, Estimates, Estimator, Tallies
from countveil.sql.query import (
    Question,
    ReleaseColumns,
    TallyPlan,
    as_condition,
    plan_question,
    split_conjunction,
)
from countveil.sql.query.expressions import Expression, Formula
from countveil.sql.query.question import Aggregate, Measure, SelectedItem

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
ChannelsOf = Callable[[TallyPlan], Channels]

# How many numbers are estimated at once; intermediate arrays are about twenty times as large.
NUMBERS_AT_ONCE = 1 << 19
_MOST_PLANS = 64


def count_question(condition: Formula) -> Question:
    """How many rows meet the condition."""
    output = SelectedItem("measure", 0, "")
    return Question(condition, (), (Measure(Aggregate(None, condition)),), (output,))


@lru_cache(_MOST_PLANS)
def _planned(sensitive: Formula, columns: ReleaseColumns) -> TallyPlan:
    """Analysts ask in series: the same sensitive condition under many others."""
    return plan_question(count_question(sensitive), columns)


@dataclass
class _SharedCounts:
    """The counts with the same sensitive condition: their numbers, and their plain conditions."""

    plan: TallyPlan
    numbers: list[int] = field(default_factory=list)
    conditions: list[Expression] = field(default_factory=list)


class CountBatch:
    """Counts to answer together; `add` refuses those that must be answered alone."""

    def __init__(self, columns: ReleaseColumns, size: int) -> None:
        self._columns = columns
        self._shared: dict[Formula, _SharedCounts] = {}
        self._arrays = [np.zeros(size) for _ in range(4)]
        self._rows = np.zeros(size)

    @property
    def plans(self) -> list[TallyPlan]:
        """The plans of the sensitive conditions."""
        return [shared.plan for shared in self._shared.values()]

    def add(self, number: int, formula: Formula) -> bool:
        """Add one count; False if its plain and sensitive conditions are mixed."""
        both = split_conjunction(formula)
        if both is None:
            return False
        plain, sensitive = both
        if sensitive not in self._shared:
            self._shared[sensitive] = _SharedCounts(_planned(sensitive, self._columns))
        shared = self._shared[sensitive]
        shared.numbers.append(number)
        shared.conditions.append(as_condition(plain))
        return True

    def put(self, number: int, alone: Cells) -> None:
        """Add a count that was answered alone."""
        self._keep(np.array([number]), alone.grid, alone.sizes)

    def answer(
        self, table: ReleaseTable, channels_of: ChannelsOf, estimator: Estimator, within: float
    ) -> Cells:
        """All counts, by number."""
        for shared in self._with_same_columns():
            plan = shared[0].plan
            tallied = _TalliedCounts(table, plan, channels_of(plan), shared)
            for numbers, estimates, rows in tallied.estimates(estimator):
                self._keep(numbers, estimates, rows)
        return Cells(Estimates(*self._arrays), self._rows, within)

    def _keep(self, numbers: Numbers, estimates: Estimates, rows: Floats) -> None:
        for array, values in zip(self._arrays, estimates.arrays(), strict=True):
            array[numbers] = values
        self._rows[numbers] = rows

    def _with_same_columns(self) -> list[list[_SharedCounts]]:
        """The sensitive conditions grouped by their columns and domains."""
        by_columns: dict[Any, list[_SharedCounts]] = {}
        for shared in self._shared.values():
            tally = shared.plan.tally
            key = tally.sensitive, shared.plan.domains, tally.axes
            by_columns.setdefault(key, []).append(shared)
        return list(by_columns.values())


class _TalliedCounts:
    """The published values under all plain conditions that go with the same sensitive columns."""

    def __init__(
        self,
        table: ReleaseTable,
        plan: TallyPlan,
        channels: Channels,
        shared: Sequence[_SharedCounts],
    ) -> None:
        self._shared, self._channels = shared, channels
        place: dict[Expression, int] = {}
        self._lines = [
            np.array([place.setdefault(c, len(place)) for c in one.conditions], np.int64)
            for one in shared
        ]
        tally, domains = channels.counted(plan)
        self._counts = table.tally_each(list(place), tally.sensitive, domains, tally.axes)
        self._cells = next(iter(plan.aggregates.values())).condition_of.shape

    def estimates(self, estimator: Estimator) -> Iterator[tuple[Numbers, Estimates, Floats]]:
        """The numbers of some counts, their estimates, and the rows that each is taken from."""
        single: list[tuple[_SharedCounts, Numbers, int]] = []
        for shared, lines in zip(self._shared, self._lines, strict=True):
            value = _single_value(shared.plan)
            if value is not None:
                single.append((shared, lines, value))
                continue
            condition_of = next(iter(shared.plan.aggregates.values())).condition_of
            numbers = np.array(shared.numbers)
            for some in _slices(lines.size, math.prod(self._cells)):
                tallies = self._tallies(lines[some], grouped=False)
                total = tallies.total(condition_of, None)
                estimates = estimator.total(tallies, total, is_count=True)
                yield numbers[some], estimates.at((slice(None), 0)), total.rows[:, 0]
        if single:
            yield from self._single_values(single, estimator)

    def _single_values(
        self, single: Sequence[tuple[_SharedCounts, Numbers, int]], estimator: Estimator
    ) -> Iterator[tuple[Numbers, Estimates, Floats]]:
        """Counts of single values: all values under a plain condition are estimated together."""
        numbers = np.concatenate([np.array(shared.numbers) for shared, _, _ in single])
        lines = np.concatenate([lines for _, lines, _ in single])
        values = np.repeat([value for *_, value in single], [line.size for _, line, _ in single])
        everything = np.full(self._cells, ALWAYS)
        used, line_of = _different(lines)
        for some in _slices(used.size, math.prod(self._cells)):
            tallies = self._tallies(used[some], grouped=True)
            total = tallies.total(everything, None)
            estimates = estimator.total(tallies, total, is_count=True)
            here = (line_of >= some.start) & (line_of < some.stop)
            cells = line_of[here] - some.start, values[here]
            yield numbers[here], estimates.at(cells), total.rows[cells]

    def _tallies(self, lines: Numbers, *, grouped: bool) -> Tallies:
        moments = self._counts[lines][None, :, None]
        by_value = [grouped] * len(self._cells)
        return self._channels.tallies(np.zeros((1, 0), bool), moments, np.zeros(0), by_value)


def _single_value(plan: TallyPlan) -> int | None:
    """The place of the value that is counted, if it is a single one of one sensitive column."""
    if len(plan.domains) != 1:
        return None
    condition_of = next(iter(plan.aggregates.values())).condition_of
    counted = np.flatnonzero(condition_of != NEVER)
    return int(counted[0]) if counted.size == 1 else None


def _different(lines: Numbers) -> tuple[Numbers, Numbers]:
    """The different lines, and which of them each is."""
    if lines.size == 1:
        # One count is asked again and again, and must cost little.
        return lines, np.zeros(1, np.int64)
    used, line_of = np.unique(lines, return_inverse=True)
    return used, line_of


def _slices(lines: int, numbers: int) -> Iterator[slice]:
    step = max(1, NUMBERS_AT_ONCE // max(1, numbers))
    for start in range(0, lines, step):
        yield slice(start, min(start + step, lines))
