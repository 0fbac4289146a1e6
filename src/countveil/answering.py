"""A question, its tallies and the channel -> an answer.

Enters: what was asked, what was counted, what is known of the channel. Leaves: an `Answer`. Must
not know: where the tallies come from. HAVING, ORDER BY and LIMIT work on the estimates, here.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.channel import ChannelView
from countveil.channel.conditions import NEVER
from countveil.engines.contract import TallyResult
from countveil.estimate import (
    Estimate,
    Estimates,
    Tallies,
    Total,
    estimate_ratio,
    estimate_total,
    verdicts,
)
from countveil.query.plan import Plan
from countveil.query.question import (
    Having,
    HavingAll,
    HavingAny,
    HavingNot,
    Measure,
    MeasureTest,
    Ordering,
    Question,
)
from countveil.result import Answer, Block

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Options:
    """How to estimate."""

    method: str
    channel: str
    level: float
    within: float


def answer_question(
    question: Question,
    plan: Plan,
    counted: TallyResult,
    views: Sequence[ChannelView],
    options: Options,
    warnings: Sequence[str],
) -> Answer:
    """Estimate every measure in every cell, then arrange."""
    keys: list[tuple[Any, ...]] = []
    columns: list[list[Estimate]] = [[] for _ in question.measures]
    if counted.keys:
        tallies = Tallies(counted.truths, counted.moments, counted.lowest, views, plan.grouped)
        shown = _shown_cells(question, plan, tallies)
        measured = _Measured(plan, tallies, options)
        columns = [measured.estimates(measure, shown) for measure in question.measures]
        keys = _keys(question, plan, counted, tallies, shown)
    order = [row for row in range(len(keys)) if _passes(question.having, columns, row)]
    places = _places(question, plan)
    for ordering in reversed(question.order):
        order = _sorted(order, ordering, keys, columns, places)
    last = None if question.limit is None else question.offset + question.limit
    order = order[question.offset : last]
    key_outputs = [output for output in question.outputs if output.what == "key"]
    measure_outputs = [output for output in question.outputs if output.what == "measure"]
    blocks = [
        Block(
            output.label if len(measure_outputs) > 1 else "",
            [columns[output.number][row] for row in order],
        )
        for output in measure_outputs
    ]
    return Answer(
        _labels([output.label for output in key_outputs], blocks),
        [tuple(keys[row][output.number] for output in key_outputs) for row in order],
        blocks,
        tuple(warnings),
    )


def _labels(labels: Sequence[str], blocks: Sequence[Block]) -> list[str]:
    """Names of the group columns; one that is also part of the answer gets another."""
    taken = {name for block in blocks for name in block.columns}
    unique: list[str] = []
    for label in labels:
        name = label
        while name in taken:
            name += "_"
        taken.add(name)
        unique.append(name)
    return unique


def _shown_cells(question: Question, plan: Plan, tallies: Tallies) -> NDArray[np.bool_]:
    """The groups that exist: at least one row could be in them."""
    where = Total(tallies, plan.where_of, None)
    if not question.keys:
        return np.ones(where.rows.shape, bool)
    possible = (where.condition_of != NEVER).any(axis=1)
    shown: NDArray[np.bool_] = (where.rows > 0) & possible[None, :]
    return shown


class _Measured:
    """Estimates measures; totals that several measures share are computed once."""

    def __init__(self, plan: Plan, tallies: Tallies, options: Options) -> None:
        self._plan, self._tallies, self._options = plan, tallies, options
        self._totals: dict[Any, tuple[Total, Estimates]] = {}

    def estimates(self, measure: Measure, shown: NDArray[np.bool_]) -> list[Estimate]:
        total, found = self._total(measure.numerator)
        is_count = measure.numerator.argument is None and measure.denominator is None
        if measure.denominator is not None:
            found = self._ratio(measure)
        found = _scaled(found, measure.factor)
        plain = is_count and measure.factor == 1
        sizes = total.rows if plain else np.full(total.rows.shape, np.inf)
        picked = Estimates(*(part[shown] for part in found.parts()))
        return _as_list(picked, sizes[shown], self._options.within)

    def _total(self, aggregate: Any) -> tuple[Total, Estimates]:
        if aggregate not in self._totals:
            entry = self._plan.aggregates[aggregate]
            total = Total(self._tallies, entry.condition_of, entry.argument)
            found = estimate_total(
                self._tallies,
                total,
                is_count=entry.argument is None,
                method=self._options.method,
                channel=self._options.channel,
                level=self._options.level,
            )
            self._totals[aggregate] = total, found
        return self._totals[aggregate]

    def _ratio(self, measure: Measure) -> Estimates:
        assert measure.denominator is not None  # noqa: S101 - for the type checker
        top, bottom = self._total(measure.numerator), self._total(measure.denominator)
        cross = None
        if measure.numerator.condition == measure.denominator.condition:
            argument = self._plan.aggregates[measure.numerator].argument
            cross = top[0].quadratic(0 if argument is None else 1 + 2 * argument)
        return estimate_ratio(top, bottom, cross, self._options.level)


def _scaled(found: Estimates, factor: float) -> Estimates:
    ends = (found.low * factor, found.high * factor)
    low, high = ends if factor >= 0 else ends[::-1]
    return Estimates(found.estimate * factor, found.std_error * abs(factor), low, high)


def _keys(
    question: Question,
    plan: Plan,
    counted: TallyResult,
    tallies: Tallies,
    shown: NDArray[np.bool_],
) -> list[tuple[Any, ...]]:
    """The values of all group keys of every shown cell, in the order of the keys."""
    named = [n for n, g in zip(plan.tally.sensitive, plan.grouped, strict=True) if g]
    domains = [d for d, g in zip(plan.domains, plan.grouped, strict=True) if g]
    keys = []
    for group, cell in np.argwhere(shown):
        places = np.unravel_index(cell, tallies.cells) if tallies.cells else ()
        plain = iter(counted.keys[group])
        keys.append(
            tuple(
                next(plain)
                if key.sensitive is None
                else domains[named.index(key.sensitive)][places[named.index(key.sensitive)]]
                for key in question.keys
            )
        )
    return keys


def _as_list(cells: Estimates, sizes: Floats, within: float) -> list[Estimate]:
    numbers = zip(*(part.tolist() for part in cells.parts()), strict=True)
    words = verdicts(cells, sizes, within)
    known = ([number if math.isfinite(number) else None for number in row] for row in numbers)
    return [
        Estimate(estimate, error, low, high, word)
        for (estimate, error, low, high), word in zip(known, words, strict=True)
    ]


def _passes(having: Having | None, columns: Sequence[Sequence[Estimate]], row: int) -> bool:
    if having is None:
        return True
    if isinstance(having, HavingAll):
        return all(_passes(part, columns, row) for part in having.parts)
    if isinstance(having, HavingAny):
        return any(_passes(part, columns, row) for part in having.parts)
    if isinstance(having, HavingNot):
        return not _passes(having.part, columns, row)
    assert isinstance(having, MeasureTest)  # noqa: S101 - the last of the kinds
    found = columns[having.measure][row].estimate
    if found is None:
        return False
    return {
        "equal": found == having.value, "unequal": found != having.value,
        "less": found < having.value, "at_most": found <= having.value,
        "greater": found > having.value, "at_least": found >= having.value,
    }[having.word]  # fmt: skip


def _sorted(
    order: list[int],
    by: Ordering,
    keys: Sequence[tuple[Any, ...]],
    columns: Sequence[Sequence[Estimate]],
    places: Mapping[int, Mapping[Any, int]],
) -> list[int]:
    def value(row: int) -> Any:
        if by.what != "key":
            return columns[by.number][row].estimate
        found = keys[row][by.number]
        # Classes and declared texts stand in the order of their list, not of the alphabet.
        return places[by.number][found] if by.number in places and found is not None else found

    known = [row for row in order if value(row) is not None]
    missing = [row for row in order if value(row) is None]
    known.sort(key=lambda row: _sortable(value(row)), reverse=by.descending)
    return missing + known if by.missing_first else known + missing


def _places(question: Question, plan: Plan) -> dict[int, dict[Any, int]]:
    """Where each text of a sensitive column stands in its domain, by the number of the key."""
    domains = dict(zip(plan.tally.sensitive, plan.domains, strict=True))
    return {
        number: {value: place for place, value in enumerate(domains[key.sensitive])}
        for number, key in enumerate(question.keys)
        if key.sensitive is not None
        and any(isinstance(value, str) for value in domains[key.sensitive])
    }


def _sortable(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value
