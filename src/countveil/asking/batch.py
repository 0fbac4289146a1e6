"""Many counts at once.

Enters: formulas, a release's table and channels. Leaves: for each formula what answering it alone
would give. Must not know: SQL text, where the tallies come from.

A condition that is a plain part AND a sensitive part is estimated from the published values of the
rows that meet the plain part. So the plain parts of all conditions are tallied together, and
stand in one call of the estimator as its groups: one call for all counts of single values, and one
for every other sensitive part. A condition that mixes both kinds under OR or NOT is not for here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.asking.answer import Known, Options
from countveil.asking.result import Cells
from countveil.engines.contract import ReleaseTable
from countveil.maths.channel.conditions import ALWAYS, NEVER
from countveil.maths.estimate import (
    Estimates,
    IteratedEstimates,
    Rounds,
    Tallies,
    Total,
    estimate_total,
)
from countveil.sql.query import Plan, Question, ReleaseColumns, as_condition, plan_question, split
from countveil.sql.query.expressions import Expression, Formula
from countveil.sql.query.question import Aggregate, Measure, Output

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
KnownOf = Callable[[Plan], Known]

# So many numbers are estimated at once: the arrays in between are some twenty times as large.
_AT_ONCE = 1 << 19


def count_question(condition: Formula) -> Question:
    """How many rows meet the condition."""
    output = Output("measure", 0, "")
    return Question(condition, (), (Measure(Aggregate(None, condition)),), (output,))


@dataclass
class _Asked:
    """The counts that share a sensitive part: where they stand, and their plain parts."""

    plan: Plan
    numbers: list[int] = field(default_factory=list)
    conditions: list[Expression] = field(default_factory=list)


class ManyCounts:
    """Counts put together; `add` refuses the ones that must be answered alone."""

    def __init__(self, columns: ReleaseColumns, size: int) -> None:
        self._columns = columns
        self._asked: dict[Formula, _Asked] = {}
        self._parts = [np.zeros(size) for _ in range(4)]
        self._rows = np.zeros(size)
        self.rounds: list[Rounds] = []

    @property
    def plans(self) -> list[Plan]:
        """The plans of the sensitive parts."""
        return [asked.plan for asked in self._asked.values()]

    def add(self, number: int, formula: Formula) -> bool:
        """Take one more count; False if its plain and sensitive parts are mixed."""
        parts = split(formula)
        if parts is None:
            return False
        plain, sensitive = parts
        if sensitive not in self._asked:
            plan = plan_question(count_question(sensitive), self._columns)
            self._asked[sensitive] = _Asked(plan)
        asked = self._asked[sensitive]
        asked.numbers.append(number)
        asked.conditions.append(as_condition(plain))
        return True

    def put(self, number: int, alone: Cells) -> None:
        """Take a count that was answered alone."""
        self._keep(np.array([number]), alone.found, alone.sizes)

    def answer(self, table: ReleaseTable, known_of: KnownOf, options: Options) -> Cells:
        """All counts, by number."""
        for asked in self._together():
            plan = asked[0].plan
            tallied = _Tallied(table, plan, known_of(plan), asked)
            for numbers, found, rows in tallied.estimates(options):
                self._keep(numbers, found, rows)
            self.rounds += tallied.rounds
        return Cells(Estimates(*self._parts), self._rows, options.within)

    def _keep(self, numbers: Numbers, found: Estimates, rows: Floats) -> None:
        for part, values in zip(self._parts, found.parts(), strict=True):
            part[numbers] = values
        self._rows[numbers] = rows

    def _together(self) -> list[list[_Asked]]:
        """The sensitive parts that are about the same columns and values."""
        found: dict[Any, list[_Asked]] = {}
        for asked in self._asked.values():
            key = asked.plan.tally.sensitive, asked.plan.domains
            found.setdefault(key, []).append(asked)
        return list(found.values())


class _Tallied:
    """The published values under all plain parts that go with the same sensitive columns."""

    def __init__(
        self,
        table: ReleaseTable,
        plan: Plan,
        known: Known,
        asked: Sequence[_Asked],
    ) -> None:
        self._asked, self._known = asked, known
        self.rounds: list[Rounds] = []
        place: dict[Expression, int] = {}
        self._lines = [
            np.array([place.setdefault(c, len(place)) for c in one.conditions], np.int64)
            for one in asked
        ]
        self._counts = table.tally_each(list(place), plan.tally.sensitive, plan.domains)

    def estimates(self, options: Options) -> Iterator[tuple[Numbers, Estimates, Floats]]:
        """The numbers of some counts, their estimates, and the rows that each is a part of."""
        single: list[tuple[_Asked, Numbers, int]] = []
        for asked, lines in zip(self._asked, self._lines, strict=True):
            value = _single_value(asked.plan)
            if value is not None:
                single.append((asked, lines, value))
                continue
            condition_of = next(iter(asked.plan.aggregates.values())).condition_of
            numbers = np.array(asked.numbers)
            for some in _pieces(lines.size, self._counts[0].size):
                tallies = self._tallies(lines[some], grouped=False)
                found, rows = self._estimated(tallies, condition_of, options)
                yield numbers[some], _column(found, 0), rows[:, 0]
        if single:
            yield from self._single_values(single, options)

    def _single_values(
        self, single: Sequence[tuple[_Asked, Numbers, int]], options: Options
    ) -> Iterator[tuple[Numbers, Estimates, Floats]]:
        """Counts of single values: all values of a plain part are estimated together anyway."""
        numbers = np.concatenate([np.array(asked.numbers) for asked, _, _ in single])
        lines = np.concatenate([lines for _, lines, _ in single])
        values = np.repeat([value for *_, value in single], [line.size for _, line, _ in single])
        everything = np.full(self._counts.shape[1:], ALWAYS)
        used, line_of = np.unique(lines, return_inverse=True)
        for some in _pieces(used.size, self._counts[0].size):
            tallies = self._tallies(used[some], grouped=True)
            found, rows = self._estimated(tallies, everything, options)
            here = (line_of >= some.start) & (line_of < some.stop)
            cells = line_of[here] - some.start, values[here]
            picked = Estimates(*(part[cells] for part in found.parts()))
            yield numbers[here], picked, rows[cells]

    def _tallies(self, lines: Numbers, *, grouped: bool) -> Tallies:
        moments = self._counts[lines][None, :, None]
        nothing_else, views = np.zeros((1, 0), bool), self._known.views
        by_value = [grouped] * len(views)
        return Tallies(nothing_else, moments, np.zeros(0), views, by_value, self._known.everybody)

    def _estimated(
        self, tallies: Tallies, condition_of: Numbers, options: Options
    ) -> tuple[Estimates, Floats]:
        total = Total(tallies, condition_of, None)
        found = estimate_total(
            tallies,
            total,
            is_count=True,
            method=options.method,
            channel=options.channel,
            level=options.level,
        )
        if isinstance(found, IteratedEstimates):
            self.rounds.append(found.rounds)
        return found, total.rows


def _column(found: Estimates, place: int) -> Estimates:
    return Estimates(*(part[:, place] for part in found.parts()))


def _single_value(plan: Plan) -> int | None:
    """The place of the value that is counted, if it is a single one of one sensitive column."""
    if len(plan.domains) != 1:
        return None
    condition_of = next(iter(plan.aggregates.values())).condition_of
    counted = np.flatnonzero(condition_of != NEVER)
    return int(counted[0]) if counted.size == 1 else None


def _pieces(lines: int, numbers: int) -> Iterator[slice]:
    step = max(1, _AT_ONCE // max(1, numbers))
    for start in range(0, lines, step):
        yield slice(start, min(start + step, lines))
