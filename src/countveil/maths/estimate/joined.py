"""Columns that were published together, among the axes of a tally.

Enters: arrays by group and by the values of every column; which axes belong together, with their
joint channel. Leaves: the same arrays with one axis for each channel, and back; totals over any
set of their combinations. Must not know: SQL. Theory: docs/theory/channel.md, "Columns together".

One channel serves every set S of combinations, since any of them may share a group: of n rows, of
which y publish a combination in S, x = (y - n b_S) / (a - b), where b_S is the sum of b over S. So
the row weight of a set is ([u in S] - b_S) / (a - b), and no matrix over combinations is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView
from countveil.maths.channel.skewed_views import JointView, RandomView
from countveil.maths.estimate.estimates import Estimates, Likelihood
from countveil.maths.estimate.shrunk import shrunk_counts
from countveil.maths.estimate.totals import NEVER, Kind, Tallies, Total
from countveil.maths.estimate.unbiased import unbiased_likelihood

if TYPE_CHECKING:
    from countveil.maths.channel.batch_views import BatchViews

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Joined:
    """Axes (of sensitive columns) that have one channel, in the order of its columns."""

    axes: tuple[int, ...]
    view: RandomView

    def among(self, axes: Sequence[int]) -> Joined | None:
        """What is left if only these axes are kept, renumbered; None if that is none."""
        here = tuple(place for place, axis in enumerate(self.axes) if axis in axes)
        if not here:
            return None
        numbers = tuple(list(axes).index(self.axes[place]) for place in here)
        view = self.view
        if isinstance(view, JointView) and len(here) < len(self.axes):
            view = view.margin(here)
        return Joined(numbers, view)


@dataclass(frozen=True)
class Blocks:
    """The axes of a tally in blocks of one channel each."""

    blocks: tuple[tuple[int, ...], ...]
    views: tuple[ChannelView, ...]
    shape: tuple[int, ...]

    @classmethod
    def of(
        cls, views: Sequence[ChannelView], joined: Sequence[Joined], shape: tuple[int, ...]
    ) -> Blocks:
        """`shape` has the number of values of each column."""
        first = {one.axes[0]: one for one in joined}
        inside = {axis for one in joined for axis in one.axes}
        blocks: list[tuple[int, ...]] = []
        channels: list[ChannelView] = []
        for axis, view in enumerate(views):
            if axis in first:
                blocks.append(first[axis].axes)
                channels.append(first[axis].view)
            elif axis not in inside:
                blocks.append((axis,))
                channels.append(view)
        return cls(tuple(blocks), tuple(channels), shape)

    def occurring_cells(self, tallies: Tallies) -> NDArray[np.bool_]:
        """The cells of the answer whose values some row publishes together.

        A combination that no row publishes would be estimated by 0.
        """
        occurs = np.ones(tallies.cells, bool)
        for block, view in zip(self.blocks, self.views, strict=True):
            grouped = [axis for axis in block if tallies.grouped[axis]]
            if len(grouped) > 1:
                tested = tuple(place for place, axis in enumerate(block) if axis not in grouped)
                grid = view.published.reshape([self.shape[axis] for axis in block])
                sizes = [self.shape[a] if a in grouped else 1 for a in tallies.grouped_axes]
                occurs &= (grid.sum(axis=tested) > 0).reshape(sizes)
        return occurs.ravel()

    def total(self, total: Total, tallies: Tallies, moment: int) -> Floats:
        """The sum over rows of the weight of the set that counts, by group and cell."""
        if len(self.blocks) > 1:
            from countveil.maths.estimate.crossed import crossed_total

            return crossed_total(self, total, tallies, moment)
        (numbers,) = _numbers(tallies, [total.counting], total.kinds())
        return _summed(tallies, moment, numbers)

    def covariance(self, total: Total, other: Total, tallies: Tallies, moment: int) -> Floats:
        """Of two totals; `moment` sums the product of both arguments. See `totals`."""
        if len(self.blocks) > 1:
            from countveil.maths.estimate.crossed import crossed_covariance

            return crossed_covariance(self, (total, other), tallies, moment)
        one, two = _numbers(tallies, [total.counting, other.counting], total.kinds(other))
        product = _product(tallies, moment, one, two) - _summed(tallies, moment, one * two)
        return self.views[0].design_effect * product

    def flat(self, array: NDArray[Kind]) -> NDArray[Kind]:
        """An array by predicate and values, with one axis for each block."""
        order = [0, *(1 + axis for block in self.blocks for axis in block)]
        moved = np.transpose(array, order)
        sizes = (view.published.size for view in self.views)
        return moved.reshape(array.shape[0], *sizes)

    def back(self, array: Floats) -> Floats:
        """The same array with one axis for each column again."""
        order = [axis for block in self.blocks for axis in block]
        full = array.reshape(array.shape[0], *(self.shape[axis] for axis in order))
        result: Floats = np.transpose(full, [0, *(1 + np.argsort(order))])
        return result


@dataclass(frozen=True)
class CountedSets:
    """Counts of one set of combinations each, as values of one column.

    `cells` of the answer count their sets under the same condition. The sets are apart, since cells
    differ in what is grouped by; what is in none is one more value, the last. `batches` have, by
    group and set, the rows that meet the condition, and the channel; often there is just one.
    """

    cells: NDArray[np.int64]
    batches: tuple[tuple[Floats, RandomView], ...]

    def likelihood(self) -> Likelihood:
        """Of the count of every set, by group."""
        if len(self.batches) == 1:
            ((published, view),) = self.batches
            return unbiased_likelihood(published, published.sum(axis=1), view)
        from countveil.maths.estimate.batches import pooled_likelihood

        return pooled_likelihood(*self._pooled())[0]

    def shrunk(self) -> Floats:
        """The shrunk counts."""
        if len(self.batches) == 1:
            ((published, view),) = self.batches
            return shrunk_counts(published, [view])
        from countveil.maths.estimate.batches import shrunk_in_batches

        return shrunk_in_batches(*self._pooled())

    def _pooled(self) -> tuple[Floats, list[BatchViews]]:
        from countveil.maths.channel.batch_views import BatchViews

        published = np.stack([counts for counts, _ in self.batches])
        return published, [BatchViews(tuple(view for _, view in self.batches))]


@dataclass(frozen=True)
class AllSets:
    """The sets of all cells of an answer, by the condition that they are counted under."""

    several: Sequence[CountedSets]
    shape: tuple[int, int]

    @classmethod
    def of(cls, total: Total, tallies: Tallies) -> AllSets | None:
        """None unless all columns were published together and no cell counts under several."""
        blocks = tallies.blocks
        if blocks is None or len(blocks.blocks) > 1 or total.values is not None:
            return None
        conditions = total.condition_of
        counted = conditions != NEVER
        condition_of = conditions.max(axis=1, initial=NEVER)
        if (counted & (conditions != condition_of[:, None])).any():
            return None
        joint = blocks.views[0]
        assert isinstance(joint, RandomView)  # noqa: S101 - so are columns together
        shape = (tallies.n_groups, *blocks.shape)
        table = tallies.by_cell(np.broadcast_to(blocks.back(joint.published[None]), shape))[0]
        several = []
        for condition in sorted(set(condition_of.tolist()) - {NEVER}):
            cells = np.flatnonzero(condition_of == condition)
            rows = tallies.by_cell(tallies.meeting(condition, 0))
            inside = (rows[:, cells] * counted[cells]).sum(axis=2)
            whole = (table[cells] * counted[cells]).sum(axis=1)
            others = rows.sum(axis=(1, 2)) - inside.sum(axis=1)
            view = joint.of_values(np.append(whole, joint.rows - whole.sum()))
            published = np.column_stack([inside, others])
            several.append(CountedSets(cells, ((published, view),)))
        return cls(several, (tallies.n_groups, conditions.shape[0]))

    def filled(self, estimates: Callable[[CountedSets], Estimates]) -> Estimates:
        """The estimates of all cells, from those of the sets and of what is in none of them."""
        arrays = [np.zeros(self.shape) for _ in range(4)]
        for sets in self.several:
            for array, numbers in zip(arrays, estimates(sets).arrays(), strict=True):
                array[:, sets.cells] = numbers[:, : sets.cells.size]
        return Estimates(*arrays)


def _product(tallies: Tallies, moment: int, one: Floats, two: Floats) -> Floats:
    """The sum over rows of the product of the weights of two sets."""
    summed = tallies.by_patterns(moment)
    b, gap = _chances(tallies)
    missed, inside = zip(
        *(
            (np.einsum("pcr,cr->pc", each, b), np.einsum("gpcr,pcr->gpc", summed, each))
            for each in (one, two)
        ),
        strict=True,
    )
    product = np.einsum("gpcr,pcr->gpc", summed, one * two)
    everything = summed.sum(axis=(2, 3))[:, :, None]
    product = product - missed[1] * inside[0] - missed[0] * inside[1]
    product = product + missed[0] * missed[1] * everything
    total: Floats = product.sum(axis=1) / gap**2
    return total


def _summed(tallies: Tallies, moment: int, numbers: Floats) -> Floats:
    summed = tallies.by_patterns(moment)
    b, gap = _chances(tallies)
    inside = np.einsum("gpcr,pcr->gpc", summed, numbers)
    missed = np.einsum("pcr,cr->pc", numbers, b) * summed.sum(axis=(2, 3))[:, :, None]
    total: Floats = (inside - missed).sum(axis=1) / gap
    return total


def _chances(tallies: Tallies) -> tuple[Floats, float]:
    """B of every combination, by cell of the answer and other values, and a - b."""
    blocks = tallies.blocks
    assert blocks is not None  # noqa: S101 - called for columns together only
    view = blocks.views[0]
    each = np.broadcast_to(blocks.back(view.b[None]), (tallies.n_groups, *blocks.shape))
    return tallies.by_cell(each)[0], float(view.gap[0])


def _numbers(
    tallies: Tallies,
    countings: Sequence[Callable[[int, int], Floats]],
    kinds: Iterable[tuple[NDArray[np.bool_], int]],
) -> list[Floats]:
    """The number with which combinations count, by pattern, cell of the answer, other values."""
    n_cells = int(np.prod(tallies.cells, dtype=np.int64))
    rest = [tallies.moments.shape[3 + axis] for axis in tallies.rest_axes]
    shape = (tallies.truths.shape[0], n_cells, int(np.prod(rest, dtype=np.int64)))
    arrays = [np.zeros(shape) for _ in countings]
    for cells, cell in kinds:
        for array, counting in zip(arrays, countings, strict=True):
            for pattern in range(shape[0]):
                array[pattern, cells] = counting(pattern, cell)
    return arrays
