"""A question, its tallies and the channel -> an answer.

Enters: what was asked, what was counted, what is known of the channel. Leaves: an `Answer`. Must
not know: where the tallies come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.asking.ordering import arranged
from countveil.asking.result import Answer, Block, Cells
from countveil.engines.contract import TallyResult
from countveil.maths.channel import ChannelView
from countveil.maths.channel.conditions import NEVER
from countveil.maths.estimate import (
    Estimates,
    IteratedEstimates,
    Rounds,
    Tallies,
    Total,
    estimate_ratio,
    estimate_total,
)
from countveil.sql.query.plan import Plan
from countveil.sql.query.question import Measure, Question

_NOTHING = Estimates(*(np.zeros(0) for _ in range(4)))


@dataclass(frozen=True, slots=True)
class Options:
    """How to estimate."""

    method: str
    channel: str
    level: float
    within: float


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the sensitive columns of a question: channels, whole-table counts.

    `everybody` are the published counts by all of these columns together, where they are needed.
    """

    views: Sequence[ChannelView]
    everybody: NDArray[np.float64] | None = None


def answer_question(
    question: Question,
    plan: Plan,
    counted: TallyResult,
    known: Known,
    options: Options,
    warnings: Sequence[str],
) -> Answer:
    """Estimate every measure in every cell, then arrange."""
    keys: list[list[Any]] = [[] for _ in question.keys]
    columns = [Cells(_NOTHING, np.zeros(0), options.within) for _ in question.measures]
    n_cells = 0
    if counted.keys:
        tallies = Tallies(
            counted.truths,
            counted.moments,
            counted.lowest,
            known.views,
            plan.grouped,
            known.everybody,
        )
        shown = _shown_cells(question, plan, tallies)
        measured = _Measured(plan, tallies, options)
        columns = [measured.estimates(measure, shown) for measure in question.measures]
        keys = _keys(question, plan, counted, tallies, shown)
        n_cells = int(np.count_nonzero(shown))
        warnings = [*warnings, *Rounds.together(measured.rounds).sentences()]
    order = arranged(question, keys, columns, n_cells, _places(question, plan))
    key_outputs = [output for output in question.outputs if output.what == "key"]
    measure_outputs = [output for output in question.outputs if output.what == "measure"]
    blocks = [
        Block(
            output.label if len(measure_outputs) > 1 else "", columns[output.number].picked(order)
        )
        for output in measure_outputs
    ]
    rows = order.tolist()
    chosen = [[keys[output.number][row] for row in rows] for output in key_outputs]
    return Answer(
        _labels([output.label for output in key_outputs], blocks),
        list(zip(*chosen, strict=True)) if chosen else [()] * len(rows),
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

    @property
    def rounds(self) -> list[Rounds]:
        """How long iterations took."""
        found = (estimates for _, estimates in self._totals.values())
        return [one.rounds for one in found if isinstance(one, IteratedEstimates)]

    def estimates(self, measure: Measure, shown: NDArray[np.bool_]) -> Cells:
        total, found = self._total(measure.numerator)
        is_count = measure.numerator.argument is None and measure.denominator is None
        if measure.denominator is not None:
            found = self._ratio(measure)
        found = _scaled(found, measure.factor)
        plain = is_count and measure.factor == 1
        sizes = total.rows if plain else np.full(total.rows.shape, np.inf)
        picked = Estimates(*(part[shown] for part in found.parts()))
        return Cells(picked, sizes[shown], self._options.within)

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
) -> list[list[Any]]:
    """The values of every group key in all shown cells."""
    named = [n for n, g in zip(plan.tally.sensitive, plan.grouped, strict=True) if g]
    domains = [d for d, g in zip(plan.domains, plan.grouped, strict=True) if g]
    groups, cells = np.nonzero(shown)
    places = np.unravel_index(cells, tallies.cells) if tallies.cells else ()
    plain = iter(zip(*counted.keys, strict=True))
    keys: list[list[Any]] = []
    for key in question.keys:
        if key.sensitive is None:
            values, numbers = next(plain), groups
        else:
            axis = named.index(key.sensitive)
            values, numbers = domains[axis], places[axis]
        keys.append([values[number] for number in numbers.tolist()])
    return keys


def _places(question: Question, plan: Plan) -> dict[int, dict[Any, int]]:
    """Where each text of a sensitive column stands in its domain, by the number of the key."""
    domains = dict(zip(plan.tally.sensitive, plan.domains, strict=True))
    return {
        number: {value: place for place, value in enumerate(domains[key.sensitive])}
        for number, key in enumerate(question.keys)
        if key.sensitive is not None
        and any(isinstance(value, str) for value in domains[key.sensitive])
    }
