"""Totals over any set of true values, for one or several sensitive columns.

Enters: tallies by group, pattern of conditions and published values; the channel of each column;
for an aggregate, the condition under which each cell of true values counts. Leaves: estimates with
variances, and which totals are about one combination of values each. Must not know: SQL. Theory:
docs/theory/estimates.md, "Unbiased, one column" and "Unbiased, several columns".

**Row weights.** For one column, the unbiased estimate of the rows with true value v is a sum over
rows of a weight that depends on the published value u alone:

    M[v, u] = ([u = v] - b[v]) / (a - b[v])        (`channel.view` corrects it for mixed groups)

For several columns it is the product of such weights, and for a set of cells the sum over them. So
every total is one weighted sum over rows, of 1 or of the argument. A set that contains most of the
values is estimated through its complement, which is less noisy; all values together have exactly
the weight 1.

**Values.** A cell may count with a value in place of 1: the midpoint of a class of ages. The weight
of a row is then the sum over cells of value times weight.

**Variance.** The weight w of a row has the mean 1 (or the value) if its true cell counts and 0 if
not. Rows publish independently, so the variance is the sum of E[w^2] - E[w]^2, estimated by the sum
over rows of (w^2 - w) times the square of the argument; with values, by that of w^2 less the total
of squared values. The covariance of two totals is the same with the product of their weights. Rows
share the draw of the table, which lowers both for large predicates. For one column `covariances`
knows by how much; for several it is left out, which is safe. Rows of a case publish alike, which
raises both by the design effect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView
from countveil.maths.estimate.covariances.one_column import (
    covariance_of,
    pair_covariance,
    shares_a_draw,
)
from countveil.maths.estimate.unbiased import misfits

if TYPE_CHECKING:
    from countveil.maths.estimate.joined import Blocks, Joined

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Kind = TypeVar("Kind", bound=np.generic)

# Conditions on plain columns have the numbers 0, 1, ... of the tally. A cell of true values that
# always or never counts needs no tally and has one of these.
ALWAYS, NEVER = -1, -2


@dataclass(frozen=True)
class Tallies:
    """What was counted. See `TallyResult` of the engines: the same arrays.

    `joint`, where it is known, are the published counts of the whole table by the values of all
    sensitive columns together. `joined` has the axes of columns that were published together.
    """

    truths: NDArray[np.bool_]
    moments: Floats
    ranges: Floats
    views: Sequence[ChannelView]
    grouped: Sequence[bool]
    joint: Floats | None = None
    joined: Sequence[Joined] = ()

    in_batches: ClassVar[bool] = False  # see `pooled`

    def total(self, condition_of: Numbers, of: int | None, value_of: Floats | None = None) -> Total:
        """One aggregate; see `Total`."""
        return Total(self, condition_of, of, value_of)

    @cached_property
    def lowest(self) -> Floats:
        """The smallest value of every argument, or 0 if none is negative."""
        least: Floats = self.ranges[0].min(axis=(1, 2), initial=0.0)
        return least

    @property
    def n_groups(self) -> int:
        """Groups by plain keys."""
        return int(self.moments.shape[1])

    @cached_property
    def grouped_axes(self) -> list[int]:
        """Sensitive columns that are grouped by."""
        return [axis for axis, grouped in enumerate(self.grouped) if grouped]

    @cached_property
    def rest_axes(self) -> list[int]:
        """Sensitive columns that are only tested."""
        return [axis for axis, grouped in enumerate(self.grouped) if not grouped]

    @cached_property
    def cells(self) -> tuple[int, ...]:
        """Size of the answer per plain group: one cell per value of the grouped columns."""
        return tuple(self.moments.shape[3 + axis] for axis in self.grouped_axes)

    @cached_property
    def weights(self) -> list[Floats]:
        """M of each column; a row of NaN where a value is not identifiable."""
        return [view.weights for view in self.views]

    def along(self, axes: Sequence[int]) -> Tallies:
        """The same, with the published values of these sensitive columns only."""
        left_out = [axis for axis in range(len(self.views)) if axis not in axes]
        if not left_out:
            return self
        joint = None if self.joint is None else self.joint.sum(axis=tuple(left_out))
        joined = (one.among(axes) for one in self.joined)
        return Tallies(
            self.truths,
            self.moments.sum(axis=tuple(3 + axis for axis in left_out)),
            self.ranges,
            [self.views[axis] for axis in axes],
            [self.grouped[axis] for axis in axes],
            joint,
            [one for one in joined if one is not None],
        )

    @cached_property
    def blocks(self) -> Blocks | None:
        """The axes by channel, if some columns were published together."""
        if not self.joined:
            return None
        from countveil.maths.estimate.joined import Blocks

        return Blocks.of(self.views, self.joined, self.moments.shape[3:])

    def meeting(self, condition: int, moment: int) -> Floats:
        """The moment over the rows that meet a condition, by group and published values."""
        return np.asarray(self.moments[moment][:, self.holds(condition)].sum(axis=1))

    def by_cell(self, grid: NDArray[Kind]) -> NDArray[Kind]:
        """A grid by group and values of all columns, as group, cell of the answer, other values."""
        order = [0, *(1 + axis for axis in [*self.grouped_axes, *self.rest_axes])]
        shape = (self.n_groups, math.prod(self.cells), -1)
        cells: NDArray[Kind] = np.transpose(grid, order).reshape(shape)
        return cells

    def by_patterns(self, moment: int) -> Floats:
        """A moment by group, pattern, cell of the answer and other values."""
        order = [0, 1, *(2 + axis for axis in [*self.grouped_axes, *self.rest_axes])]
        moved = np.transpose(self.moments[moment], order)
        return moved.reshape(*moved.shape[:2], math.prod(self.cells), -1)

    def holds(self, condition: int) -> NDArray[np.bool_]:
        """In which patterns a condition holds."""
        if condition in (ALWAYS, NEVER):
            return np.full(self.truths.shape[0], condition == ALWAYS)
        return self.truths[:, condition]


class Total:
    """One aggregate: its estimate, variance and possible bias in every cell of the answer."""

    def __init__(
        self,
        tallies: Tallies,
        condition_of: Numbers,
        argument: int | None,
        value_of: Floats | None = None,
    ) -> None:
        self._tallies = tallies
        self._argument = argument
        rest = [*tallies.grouped_axes, *tallies.rest_axes]
        moved = np.transpose(condition_of, rest) if rest else condition_of
        n_cells = math.prod(tallies.cells)
        self._rest_shape = moved.shape[len(tallies.grouped_axes) :]
        self._conditions = moved.reshape(n_cells, -1)
        self._values = None
        if value_of is not None:
            self._values = np.transpose(value_of, rest).reshape(n_cells, -1)

    @property
    def tallies(self) -> Tallies:
        """What was counted."""
        return self._tallies

    @property
    def argument(self) -> int | None:
        """The number of what is summed; None for a count."""
        return self._argument

    @property
    def values(self) -> Floats | None:
        """The value with which each cell counts, in the order of `condition_of`; None for 1."""
        return self._values

    @property
    def patterns(self) -> int:
        """How many patterns of conditions were tallied."""
        return int(self._tallies.truths.shape[0])

    @property
    def moment(self) -> int:
        """Which moment of the tallies is summed."""
        return 0 if self._argument is None else 1 + 2 * self._argument

    @property
    def condition_of(self) -> Numbers:
        """Conditions by cell of the answer (rows) and by values of the other columns (columns)."""
        return self._conditions

    @cached_property
    def estimate(self) -> Floats:
        """The unbiased estimate, by plain group and cell."""
        if self._tallies.blocks is not None:
            return self._tallies.blocks.total(self, self._tallies, self.moment)
        return self._weighted(self.moment, Total.rest_weights)

    @cached_property
    def variance(self) -> Floats:
        """Its variance, given the channel."""
        moment = 0 if self._argument is None else 2 + 2 * self._argument
        return np.maximum(self.covariance(self, moment), 0.0)

    @cached_property
    def rows(self) -> Floats:
        """How many rows could count: those that meet the condition of some cell."""
        result = np.zeros((self._tallies.n_groups, self._conditions.shape[0]))
        for cells, cell in self.kinds():
            conditions = set(self._conditions[cell].tolist())
            some = np.any([self._tallies.holds(c) for c in conditions], axis=0)
            counted = self._tallies.moments[0][:, some].reshape(self._tallies.n_groups, -1)
            result[:, cells] = counted.sum(axis=1)[:, None]
        return result

    def range_of(self, argument: int) -> tuple[Floats, Floats]:
        """The smallest and the largest value of an argument in the rows that could count."""
        shape = (self._tallies.n_groups, self._conditions.shape[0])
        least, most = np.full(shape, np.inf), np.full(shape, -np.inf)
        for cells, cell in self.kinds():
            conditions = set(self._conditions[cell].tolist())
            some = np.any([self._tallies.holds(c) for c in conditions], axis=0)
            low, high = self._tallies.ranges[:, argument][..., some]
            least[:, cells] = low.min(axis=1, initial=np.inf)[:, None]
            most[:, cells] = high.max(axis=1, initial=-np.inf)[:, None]
        return least, most

    def covariance(self, other: Total, moment: int) -> Floats:
        """With another total of the same tallies; `moment` sums the product of both arguments."""
        if self._tallies.blocks is None and shares_a_draw(self._tallies):
            return covariance_of(self, other, moment)
        return self.covariance_of_rows(other, moment)

    def pair(self, other: Total, moment: int) -> tuple[Floats, Floats, Floats]:
        """Its variance, the covariance with another total, and the variance of that one."""
        if self._tallies.blocks is None and shares_a_draw(self._tallies):
            return pair_covariance(self, other, moment)
        return self.variance, self.covariance(other, moment), other.variance

    def covariance_of_rows(self, other: Total, moment: int) -> Floats:
        """The same as a sum over rows that publish independently, which can be added up."""

        def both(total: Total, pattern: int, cell: int) -> Floats:
            return total.rest_weights(pattern, cell) * other.rest_weights(pattern, cell)

        def product(total: Total, pattern: int, cell: int) -> Floats:
            counting = total.counting(pattern, cell) * other.counting(pattern, cell)
            return total.weights_of(counting)

        if self._tallies.blocks is not None:
            return self._tallies.blocks.covariance(self, other, self._tallies, moment)
        expected = self._weighted(moment, product, other)
        effect = max((view.design_effect for view in self._tallies.views), default=1.0)
        return effect * (self._weighted(moment, both, other, power=2) - expected)

    def kinds(self, other: Total | None = None) -> Iterator[tuple[NDArray[np.bool_], int]]:
        """Cells of the answer that count alike (in both totals), and the first of each kind."""
        if len(self._conditions) == 1:
            yield np.ones(1, bool), 0
            return
        totals = (self,) if other is None else (self, other)
        lines = [array for total in totals for array in (total.condition_of, total.values)]
        table = np.concatenate([line for line in lines if line is not None], axis=1)
        if (table == table[0]).all():
            # A single value of each cell, as in GROUP BY: nothing to sort.
            yield np.ones(len(table), bool), 0
            return
        _, first, member = np.unique(table, axis=0, return_index=True, return_inverse=True)
        for number, cell in enumerate(first.tolist()):
            yield member.reshape(-1) == number, cell

    def _weighted(
        self,
        moment: int,
        weigh: Callable[[Total, int, int], Floats],
        other: Total | None = None,
        power: int = 1,
    ) -> Floats:
        """The sum over rows of a weight (`weigh`, by pattern and cell) times what is tallied."""
        tallies = self._tallies
        moments = tallies.by_patterns(moment)
        moments = moments.reshape(*moments.shape[:2], *tallies.cells, -1)
        result = np.zeros((tallies.n_groups, self._conditions.shape[0]))
        for cells, cell in self.kinds(other):
            weights = np.stack([weigh(self, p, cell) for p in range(moments.shape[1])])
            summed = np.einsum("gp...r,pr->g...", moments, weights)
            for place, axis in enumerate(tallies.grouped_axes):
                matrix = tallies.weights[axis] ** power
                summed = np.moveaxis(np.tensordot(matrix, summed, (1, 1 + place)), 0, 1 + place)
            result[:, cells] = summed.reshape(tallies.n_groups, -1)[:, cells]
        return result

    def rest_weights(self, pattern: int, cell: int) -> Floats:
        """The weight of each published combination of the columns that are only tested."""
        return self.weights_of(self.counting(pattern, cell))

    def weights_of(self, counting: Floats) -> Floats:
        """The weights of published combinations, from the number with which true ones count.

        All true combinations together have exactly the weight 1, so a number that most of them have
        in common is taken out first.
        """
        tallies = self._tallies
        common = self._common(counting)
        weights = (counting - common).reshape(self._rest_shape)
        if weights.any():
            for place, axis in enumerate(tallies.rest_axes):
                matrix = np.where(_used(weights, place)[:, None], tallies.weights[axis], 0.0)
                weights = np.moveaxis(np.tensordot(matrix, weights, (0, place)), 0, place)
        return common + weights.reshape(-1)

    def _common(self, counting: Floats) -> float:
        if not np.isin(counting, (0.0, 1.0)).all():
            shares = np.ones(1)
            for axis in self._tallies.rest_axes:
                view = self._tallies.views[axis]
                shares = np.multiply.outer(shares, view.published / view.rows).reshape(-1)
            return float(counting @ shares)
        return 1.0 if counting.sum() > counting.size / 2 else 0.0

    def counting(self, pattern: int, cell: int) -> Floats:
        """The number with which each true combination counts for a cell of the answer."""
        conditions, truths = self._conditions[cell], self._tallies.truths[pattern]
        holds = conditions == ALWAYS
        numbered = conditions >= 0
        holds[numbered] = truths[conditions[numbered]]
        counting: Floats = holds.astype(np.float64)
        return counting if self._values is None else counting * self._values[cell]

    @cached_property
    def misfit(self) -> Floats:
        """The possible bias from greedy groups and uninformative values; infinite if unknown."""
        tallies = self._tallies
        shape = (tallies.n_groups, self._conditions.shape[0])
        if all(view.two_state_holds and view.informative.all() for view in tallies.views):
            return np.zeros(shape)
        if self._argument is not None and tallies.lowest[self._argument] < 0:
            return np.full(shape, np.inf)
        implied, mispaired = np.zeros(shape), np.zeros(shape)
        for condition in set(self._conditions.ravel().tolist()) - {NEVER}:
            counted = (self._conditions == condition).astype(np.float64)
            if self._values is not None:
                # A value that all cells have in common causes no bias.
                counted = counted * (self._values - self._values.mean(axis=1, keepdims=True))
            elif not tallies.grouped_axes:
                counted = np.where(counted.mean() > 0.5, 1 - counted, counted)
            biases = self._misfit_of(tallies.meeting(condition, self.moment))
            implied += np.einsum("gcr,cr->gc", biases[0], counted)
            mispaired += np.einsum("gcr,cr->gc", biases[1], counted**2)
        spread: Floats = np.sqrt(implied**2 + mispaired)
        return spread

    def _misfit_of(self, published: Floats) -> tuple[Floats, Floats]:
        """Implied bias and squared mispairing of every cell of true values, summed over columns."""
        tallies = self._tallies
        implied, mispaired = np.zeros_like(published), np.zeros_like(published)
        for axis, view in enumerate(tallies.views):
            corrected = published
            for other in range(len(tallies.views)):
                if other != axis:
                    corrected = np.nan_to_num(tallies.views[other].undone(corrected, 1 + other))
            lines = np.moveaxis(np.maximum(corrected, 0.0), 1 + axis, -1)
            flat = lines.reshape(-1, lines.shape[-1])
            biases = misfits(flat, flat.sum(axis=1, keepdims=True), view)
            back = [np.moveaxis(bias.reshape(lines.shape), -1, 1 + axis) for bias in biases]
            implied += back[0]
            mispaired += back[1] ** 2
        return tallies.by_cell(implied), tallies.by_cell(mispaired)


def _used(weights: Floats, place: int) -> NDArray[np.bool_]:
    """Which values of a column take part, so that those that are not identifiable do no harm."""
    others = tuple(axis for axis in range(weights.ndim) if axis != place)
    return np.asarray(np.any(weights != 0, axis=others))
