"""A question, its tallies and the channels -> an answer.

Enters: what was asked, what was tallied, what is known of the channels, an estimator. Leaves: an
`Answer`, after HAVING, ORDER BY and LIMIT on the estimates. Must not know: where the tallies come
from, which method estimates.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countveil.asking.result import Answer, Block, Cells
from countveil.errors import QueryError, SettingsError
from countveil.maths.channel import ChannelView
from countveil.maths.estimate import (
    NEVER,
    Estimates,
    Estimator,
    Tallies,
    Total,
    check_method,
    make_estimator,
)
from countveil.maths.estimate.estimates import HIDDEN, NOT_TOLD
from countveil.sql.query import Tally, TallyPlan, TallyResult
from countveil.sql.query.plan import is_count
from countveil.sql.query.question import (
    Aggregate,
    GroupKey,
    Having,
    HavingAll,
    HavingAny,
    HavingNot,
    Measure,
    MeasureTest,
    Ordering,
    Question,
)

if TYPE_CHECKING:
    from countveil.maths.estimate.joined import Joined

Axes = tuple[int, ...]

# Lines of an answer.
MOST_LINES = 1_000_000
_NO_CELLS = Estimates(*(np.zeros(0) for _ in range(4)))
_COMPARE = {
    "equal": np.equal, "unequal": np.not_equal, "less": np.less, "at_most": np.less_equal,
    "greater": np.greater, "at_least": np.greater_equal,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class EstimationSettings:
    """How to estimate, as the analyst chose."""

    method: str
    channel: str
    level: float
    within: float

    def __post_init__(self) -> None:
        check_method(self.method, self.channel, self.level)
        if not self.within > 0:
            raise SettingsError(f"within must be positive, such as 0.10; got {self.within}.")

    def estimator(self) -> Estimator:
        """A fresh estimator for one question."""
        return make_estimator(self.method, self.channel, self.level)


@dataclass(frozen=True)
class Channels:
    """The channels of the sensitive columns of a question.

    `joint` are the published counts of the whole table by all of these columns together, where the
    estimator needs them. `joined` has the columns that were published together.
    """

    views: Sequence[ChannelView]
    joint: NDArray[np.float64] | None = None
    joined: Sequence[Joined] = ()

    @property
    def in_batches(self) -> bool:
        """Whether values were drawn at different times: see `batch_channels`."""
        return False

    def counted(self, plan: TallyPlan) -> tuple[Tally, tuple[tuple[Any, ...], ...]]:
        """What to tally for a plan, and the domains of all that is counted by."""
        return plan.tally, plan.domains

    def tallies(
        self,
        truths: NDArray[np.bool_],
        moments: NDArray[np.float64],
        ranges: NDArray[np.float64],
        grouped: Sequence[bool],
    ) -> Tallies:
        """What was counted, with the channels."""
        return Tallies(truths, moments, ranges, self.views, grouped, self.joint, self.joined)


def answer_question(
    question: Question,
    plan: TallyPlan,
    tallied: TallyResult,
    channels: Channels,
    estimator: Estimator,
    within: float,
) -> Answer:
    """Estimate every measure in every cell, then filter, order and label."""
    keys: list[list[Any]] = [[] for _ in question.keys]
    columns = [Cells(_NO_CELLS, np.zeros(0), within) for _ in question.measures]
    if tallied.keys:
        counted = tallied.truths, tallied.moments, tallied.ranges
        tallies = channels.tallies(*counted, plan.grouped)
        exists = existing_cells(question, plan, tallies)
        check_lines(int(exists.sum()))

        def keys_in() -> dict[GroupKey, list[Any]]:
            everywhere = np.ones(exists.shape, bool)
            every = keys_of(question, plan, tallied.keys, tallies, everywhere)
            return dict(zip(question.keys, every, strict=True))

        measures = MeasureEstimates(plan, tallies, estimator, keys_in)
        grids = [measures.grid(measure) for measure in question.measures]
        columns = [Cells(e.at(exists), sizes[exists], within) for e, sizes in grids]
        keys = keys_of(question, plan, tallied.keys, tallies, exists)
    return labelled(question, plan, (keys, columns))


def check_lines(lines: int) -> None:
    """Refuse an answer that nobody would read, and that would take minutes."""
    if lines > MOST_LINES:
        raise QueryError(
            f"The answer would have {lines:,} lines; at most {MOST_LINES:,} are estimated. Group "
            f"by less, or narrow the query with WHERE."
        )


def labelled(
    question: Question,
    plan: TallyPlan,
    cells: tuple[Sequence[Sequence[Any]], Sequence[Cells]],
    warnings: Sequence[str] = (),
) -> Answer:
    """The answer from the keys and estimates of all cells, after HAVING, ORDER BY and LIMIT."""
    keys, columns = cells
    order = _ordered_cells(question, keys, columns, len(columns[0]), _places(question, plan))
    key_outputs = [output for output in question.outputs if output.what == "key"]
    measure_outputs = [output for output in question.outputs if output.what == "measure"]
    blocks = [
        Block(output.label if len(measure_outputs) > 1 else "", columns[output.number].at(order))
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
    """Names of the group columns; one that a block uses already gets an underscore."""
    taken = {name for block in blocks for name in block.columns}
    unique: list[str] = []
    for label in labels:
        name = label
        while name in taken:
            name += "_"
        taken.add(name)
        unique.append(name)
    return unique


def existing_cells(question: Question, plan: TallyPlan, tallies: Tallies) -> NDArray[np.bool_]:
    """The groups that exist: at least one row could be in them."""
    where = tallies.total(plan.where_of, None)
    if not question.keys:
        return np.ones(where.rows.shape, bool)
    possible = (where.condition_of != NEVER).any(axis=1)
    if tallies.blocks is not None:
        possible &= tallies.blocks.occurring_cells(tallies)
    exists: NDArray[np.bool_] = (where.rows > 0) & possible[None, :]
    return exists


class MeasureEstimates:
    """Estimates measures; totals that several measures share are estimated once."""

    def __init__(
        self,
        plan: TallyPlan,
        tallies: Tallies,
        estimator: Estimator,
        keys_in: Callable[[], Mapping[GroupKey, Sequence[Any]]] | None = None,
    ) -> None:
        self._plan, self._tallies, self._estimator = plan, tallies, estimator
        self._keys_in = keys_in
        self._totals: dict[tuple[Aggregate, Axes], tuple[Total, Estimates]] = {}
        self._along: dict[Axes, Tallies] = {}

    def grid(self, measure: Measure) -> tuple[Estimates, NDArray[np.float64]]:
        """The estimates of a measure, and the rows behind each, infinite unless it is a count.

        `NOT_TOLD` behind a ratio whose denominator is not told from 0.
        """
        axes = self.axes(measure.numerator)
        total, estimates = self.total(measure.numerator, axes)
        if measure.arithmetic is not None:
            # Loaded only where aggregates are joined.
            from countveil.asking.comparisons.arithmetic import combined

            level, inside = self._estimator.level, self._estimator.shrinks
            estimates = combined(self, measure.arithmetic, level, inside=inside)
        elif measure.denominator is not None:
            from countveil.asking.comparisons.ratios import ratio

            estimates, told = ratio(self, measure, self._plan, self._estimator)
            return _scaled(estimates, measure.factor), np.where(told, np.inf, NOT_TOLD)
        estimates = _scaled(estimates, measure.factor)
        plain = is_count(measure) and measure.factor == 1
        return estimates, total.rows if plain else np.full(total.rows.shape, np.inf)

    def axes(self, *aggregates: Aggregate) -> Axes:
        """The sensitive columns that are grouped by, or matter for these aggregates.

        A column that only another part of the question is about would add noise.
        """
        matters = set(np.flatnonzero(self._plan.grouped).tolist())
        for aggregate in aggregates:
            entry = self._plan.aggregates[aggregate]
            for array in (entry.condition_of, entry.value_of):
                if array is not None:
                    matters |= {a for a in range(array.ndim) if np.ptp(array, axis=a).any()}
        return tuple(sorted(matters))

    def total(self, aggregate: Aggregate, axes: Axes) -> tuple[Total, Estimates]:
        """One aggregate, with the published values of these columns only."""
        if (aggregate, axes) not in self._totals:
            if axes not in self._along:
                self._along[axes] = self._tallies.along(axes)
            tallies, entry = self._along[axes], self._plan.aggregates[aggregate]
            first = tuple(slice(None) if a in axes else 0 for a in range(len(self._plan.grouped)))
            value_of = None if entry.value_of is None else entry.value_of[first]
            total = tallies.total(entry.condition_of[first], entry.argument, value_of)
            counts = entry.argument is None and value_of is None
            estimates = self._estimator.total(tallies, total, is_count=counts)
            self._totals[aggregate, axes] = total, estimates
        return self._totals[aggregate, axes]

    def moment(self, one: Total, two: Total) -> int:
        """The moment of the tally that sums the product of both arguments."""
        return self._plan.product_moment(one.argument, two.argument)

    def partition(self, keys: Sequence[GroupKey]) -> NDArray[np.int64]:
        """A number for all groups and cells that agree in these keys."""
        if self._keys_in is None:
            raise QueryError("Sums OVER groups do not go with grouping sets or grouped parts.")
        columns = self._keys_in()
        shape = (self._tallies.n_groups, int(np.prod(self._tallies.cells, dtype=np.int64)))
        lines = list(zip(*(columns[key] for key in keys), strict=True)) if keys else None
        if lines is None:
            return np.zeros(shape, np.int64)
        numbers: dict[tuple[Any, ...], int] = {}
        flat = [numbers.setdefault(line, len(numbers)) for line in lines]
        return np.array(flat, np.int64).reshape(shape)


def _scaled(estimates: Estimates, factor: float) -> Estimates:
    ends = (estimates.low * factor, estimates.high * factor)
    low, high = ends if factor >= 0 else ends[::-1]
    return Estimates(estimates.estimate * factor, estimates.std_error * abs(factor), low, high)


def keys_of(
    question: Question,
    plan: TallyPlan,
    groups_of: Sequence[tuple[Any, ...]],
    tallies: Tallies,
    exists: NDArray[np.bool_],
) -> list[list[Any]]:
    """The values of every group key in all existing cells; `groups_of` has the plain ones."""
    names = plan.tally.sensitive
    groups, cells = np.nonzero(exists)
    places = np.unravel_index(cells, tallies.cells) if tallies.cells else ()
    plain = iter(zip(*groups_of, strict=True))
    keys: list[list[Any]] = []
    for key in question.keys:
        if key.sensitive is None:
            values, numbers = next(plain), groups
        else:
            values, numbers = plan.values_along(names.index(key.sensitive), places)
        keys.append([values[number] for number in numbers.tolist()])
    return keys


def _places(question: Question, plan: TallyPlan) -> dict[int, dict[Any, int]]:
    """The place of each text of a sensitive column in its domain, by the number of the key."""
    domains = dict(zip(plan.tally.sensitive, plan.domains, strict=True))
    return {
        number: {value: place for place, value in enumerate(domains[key.sensitive])}
        for number, key in enumerate(question.keys)
        if key.sensitive is not None
        and any(isinstance(value, str) for value in domains[key.sensitive])
    }


def _ordered_cells(
    question: Question,
    keys: Sequence[Sequence[Any]],
    columns: Sequence[Cells],
    n_cells: int,
    places: Mapping[int, Mapping[Any, int]],
) -> NDArray[np.int64]:
    """The numbers of the cells in the answer, after HAVING, ORDER BY and LIMIT.

    `places` gives the order of the values of some keys.
    """
    order = np.arange(n_cells)
    if question.having is not None:
        order = order[_passes(question.having, columns)]
    for ordering in reversed(question.order):
        order = _sorted(order, ordering, keys, columns, places)
    last = None if question.limit is None else question.offset + question.limit
    return order[question.offset : last]


def _passes(having: Having, columns: Sequence[Cells]) -> NDArray[np.bool_]:
    if isinstance(having, HavingAll | HavingAny):
        each = np.stack([_passes(condition, columns) for condition in having.parts])
        join = np.logical_and if isinstance(having, HavingAll) else np.logical_or
        joined: NDArray[np.bool_] = join.reduce(each, axis=0)
        return joined
    if isinstance(having, HavingNot):
        return ~_passes(having.part, columns)
    assert isinstance(having, MeasureTest)  # noqa: S101 - the last of the kinds
    estimate = columns[having.measure].grid.estimate
    compare = _COMPARE[having.comparison]
    passes: NDArray[np.bool_] = np.isfinite(estimate) & compare(estimate, having.value)
    return passes


def _sorted(
    order: NDArray[np.int64],
    by: Ordering,
    keys: Sequence[Sequence[Any]],
    columns: Sequence[Cells],
    places: Mapping[int, Mapping[Any, int]],
) -> NDArray[np.int64]:
    if by.what == "key":
        ranks = _ranks(keys[by.number], places.get(by.number))
    else:
        ranks = _ranks_of_estimates(columns[by.number])
    here = ranks[order]
    known, missing = order[~np.isnan(here)], order[np.isnan(here)]
    sign = -1 if by.descending else 1
    known = known[np.argsort(sign * ranks[known], kind="stable")]
    return np.concatenate([missing, known] if by.missing_first else [known, missing])


def _ranks_of_estimates(cells: Cells) -> NDArray[np.float64]:
    """The estimates; NaN where they are hidden, for such a number says nothing about the order."""
    hidden = np.array([verdict == HIDDEN for verdict in cells.verdicts], bool)
    estimate = cells.grid.estimate
    return np.where(np.isfinite(estimate) & ~hidden, estimate, np.nan)


def _ranks(values: Sequence[Any], places: Mapping[Any, int] | None) -> NDArray[np.float64]:
    """The rank of each value; NaN where it is missing."""
    different = [value for value in dict.fromkeys(values) if value is not None]
    # Classes and declared texts are sorted as their list is, not by the alphabet.
    different.sort(key=places.__getitem__ if places is not None else _sortable)
    rank = {value: float(place) for place, value in enumerate(different)}
    return np.array([np.nan if value is None else rank[value] for value in values], np.float64)


def _sortable(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value
