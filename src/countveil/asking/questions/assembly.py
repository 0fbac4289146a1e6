"""One answer from several groups, sets of groups, or lists of values.

Enters: a question that groups by parts of a sensitive column, has grouping sets, or asks which
values occur; and how to tally a simpler one. Leaves: keys and estimates of all rows of its answer.
Must not know: where the tallies come from, which method estimates.

**Parts.** A group by an expression such as left(code, 1) is a set of values. Every measure is asked
once for each set, all in one tally: a set is a condition like any other.
**Grouping sets.** Each is a question of its own; the answers are put below each other.
**Values that occur.** count(DISTINCT x), min and max are taken from the values by group, which are
published unchanged.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countveil.asking.answer import Channels, MeasureEstimates, check_lines, keys_of
from countveil.asking.result import Cells
from countveil.engines.contract import ReleaseTable
from countveil.errors import QueryError
from countveil.maths.estimate import NEVER, Estimates, Estimator, Tallies
from countveil.sql.query import Question, Tally, TallyPlan, as_condition
from countveil.sql.query.arithmetic import with_aggregates
from countveil.sql.query.expressions import AllOf, Formula
from countveil.sql.query.question import Aggregate, Measure

Keys = list[list[Any]]
# A question without parts and sets -> its plan and the channels of its columns.
ChannelsOf = Callable[[Question], tuple[TallyPlan, Channels]]
MOST_COMBINATIONS = 2_000


@dataclass(frozen=True)
class Assembled:
    """The rows of an answer before HAVING, ORDER BY and LIMIT, and the plans that were tallied."""

    keys: Keys
    columns: list[Cells]
    plans: list[TallyPlan]

    @property
    def plan(self) -> TallyPlan:
        """A plan that knows the order of the values of all columns."""
        domains: dict[str, tuple[Any, ...]] = {}
        for plan in self.plans:
            domains |= dict(zip(plan.tally.sensitive, plan.domains, strict=True))
        tally = replace(self.plans[0].tally, sensitive=tuple(domains))
        return replace(self.plans[0], tally=tally, domains=tuple(domains.values()))


class Assembly:
    """Answers composed questions."""

    def __init__(
        self,
        channels_of: ChannelsOf,
        table: ReleaseTable,
        estimator: Estimator,
        within: float,
    ) -> None:
        self._channels_of, self._table = channels_of, table
        self._estimator, self._within = estimator, within

    def rows(self, question: Question) -> Assembled:
        """The rows of the answer."""
        sets = question.sets or (tuple(range(len(question.keys))),)
        parts = [self._of_set(question, numbers) for numbers in sets]
        keys = [list(itertools.chain(*same)) for same in zip(*(p.keys for p in parts), strict=True)]
        columns = [_joined(same) for same in zip(*(p.columns for p in parts), strict=True)]
        return Assembled(keys, columns, [plan for part in parts for plan in part.plans])

    def _of_set(self, question: Question, numbers: Sequence[int]) -> Assembled:
        """One grouping set; what it does not group by is missing."""
        keys = tuple(question.keys[number] for number in numbers)
        part = self._of_parts(replace(question, keys=keys, sets=()))
        columns = [
            cells if measure.listing is None else self._occurring(measure, keys, part, cells)
            for measure, cells in zip(question.measures, part.columns, strict=True)
        ]
        rows = len(columns[0])
        listed = [
            part.keys[numbers.index(number)] if number in numbers else [None] * rows
            for number in range(len(question.keys))
        ]
        return Assembled(listed, columns, part.plans)

    def _of_parts(self, question: Question) -> Assembled:
        """All combinations of the parts that are grouped by."""
        whole = replace(question, keys=tuple(key for key in question.keys if not key.parts))
        combinations = _combinations(question)
        asked = [_Combination.of(question, parts) for parts in combinations]
        every = dict.fromkeys(m for one in asked for m in (*one.measures, Measure(one.rows)))
        plan, channels = self._channels_of(replace(whole, measures=tuple(every)))
        tallied = self._table.tally(*channels.counted(plan))
        if not tallied.keys:
            empty = Cells(Estimates(*(np.zeros(0) for _ in range(4))), np.zeros(0), self._within)
            return Assembled(
                [[] for _ in question.keys], [empty for _ in question.measures], [plan]
            )
        counted = tallied.truths, tallied.moments, tallied.ranges
        tallies = channels.tallies(*counted, plan.grouped)
        estimates = MeasureEstimates(plan, tallies, self._estimator)
        keys: Keys = [[] for _ in question.keys]
        columns: list[list[Cells]] = [[] for _ in question.measures]
        for one in asked:
            exists = _exists(question, plan, tallies, one.rows)
            check_lines(int(exists.sum()))
            values = iter(keys_of(whole, plan, tallied.keys, tallies, exists))
            labels = iter(one.labels)
            for number, key in enumerate(question.keys):
                rows = int(exists.sum())
                keys[number] += [next(labels)] * rows if key.parts else next(values)
            for column, measure in zip(columns, one.measures, strict=True):
                grid, sizes = estimates.grid(measure)
                column.append(Cells(grid.at(exists), sizes[exists], self._within))
        return Assembled(keys, [_joined(column) for column in columns], [plan])

    def _occurring(
        self, measure: Measure, keys: Sequence[Any], part: Assembled, cells: Cells
    ) -> Cells:
        """What a listing says of every group."""
        listing = measure.listing
        assert listing is not None  # noqa: S101 - only those are passed on
        by = tuple(key.expression for key in keys)
        where = as_condition(measure.numerator.condition)
        values: dict[tuple[Any, ...], list[Any]] = {}
        tally = Tally(where, (*by, listing.expression), (), (), ())
        for *group, value in self._table.tally(tally, ()).keys:
            if value is not None:
                values.setdefault(tuple(group), []).append(value)
        rows = list(zip(*part.keys, strict=True)) if part.keys else [()] * len(cells)
        numbers = np.array([_said(listing.what, values.get(row, [])) for row in rows], float)
        numbers *= measure.factor
        exact = Estimates(numbers, np.where(np.isnan(numbers), np.nan, 0.0), numbers, numbers)
        return Cells(exact, np.full(numbers.size, np.inf), self._within)


@dataclass(frozen=True)
class _Combination:
    """Parts that are grouped by: their values, which rows they have, and what is measured there."""

    labels: tuple[Any, ...]
    rows: Aggregate
    measures: tuple[Measure, ...]

    @classmethod
    def of(cls, question: Question, parts: tuple[tuple[Any, Formula], ...]) -> _Combination:
        formula = AllOf(tuple(formula for _, formula in parts))
        rows = Aggregate(None, AllOf((question.where, formula)))
        measures = tuple(_restricted(measure, formula) for measure in question.measures)
        return cls(tuple(label for label, _ in parts), rows, measures)


def _combinations(question: Question) -> list[tuple[tuple[Any, Formula], ...]]:
    parts = [key.parts for key in question.keys if key.parts]
    number = math.prod(len(part) for part in parts)
    if number > MOST_COMBINATIONS:
        raise QueryError(
            f"The groups of this query have {number:,} combinations of parts; at most "
            f"{MOST_COMBINATIONS:,} are evaluated. Group by less."
        )
    return list(itertools.product(*parts))


def _restricted(measure: Measure, formula: Formula) -> Measure:
    """The measure over the rows of a part."""
    if formula == AllOf(()):
        return measure
    return with_aggregates(measure, lambda a: replace(a, condition=AllOf((a.condition, formula))))


def _exists(question: Question, plan: TallyPlan, tallies: Tallies, count: Aggregate) -> Any:
    """The groups of a part that exist: at least one row could be in them."""
    where = tallies.total(plan.aggregates[count].condition_of, None)
    if not question.keys:
        return np.ones(where.rows.shape, bool)
    possible = (where.condition_of != NEVER).any(axis=1)
    if tallies.blocks is not None:
        possible &= tallies.blocks.occurring_cells(tallies)
    return (where.rows > 0) & possible[None, :]


def _said(what: str, values: Sequence[Any]) -> float:
    if what == "distinct":
        return float(len(values))
    if not values:
        return float("nan")
    return float(min(values) if what == "min" else max(values))


def _joined(parts: Sequence[Cells]) -> Cells:
    grids = zip(*(part.grid.arrays() for part in parts), strict=True)
    sizes = np.concatenate([part.sizes for part in parts])
    return Cells(Estimates(*(np.concatenate(same) for same in grids)), sizes, parts[0].within)
