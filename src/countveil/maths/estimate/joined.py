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

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView
from countveil.maths.channel.skewed_views import JointView, RandomView
from countveil.maths.estimate.totals import NEVER, Kind, Tallies, Total

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
        return _product(tallies, moment, one, two) - _summed(tallies, moment, one * two)

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
    """A count of one set of combinations for each cell of the answer, as values of one column.

    The sets are apart, since cells differ in what is grouped by; what is in none is one more value.
    `published[group, set]` are rows under the condition that each set is counted under.
    """

    published: Floats
    view: RandomView

    @classmethod
    def of(cls, total: Total, tallies: Tallies) -> CountedSets | None:
        """None unless every cell counts its set under one and the same condition."""
        blocks = tallies.blocks
        if blocks is None or len(blocks.blocks) > 1 or total.values is not None:
            return None
        counted = total.condition_of != NEVER
        kinds = set(total.condition_of[counted].tolist())
        if len(kinds) != 1:
            return None
        joint = blocks.views[0]
        shape = (tallies.n_groups, *blocks.shape)
        table = tallies.by_cell(np.broadcast_to(blocks.back(joint.published[None]), shape))[0]
        rows = tallies.by_cell(tallies.meeting(kinds.pop(), 0))
        inside = (rows * counted).sum(axis=2)
        whole = (table * counted).sum(axis=1)
        published = np.append(whole, joint.rows - whole.sum())
        others = rows.sum(axis=(1, 2)) - inside.sum(axis=1)
        view = RandomView(joint.rows, joint.keep, published, None, two_state_holds=True)
        return cls(np.column_stack([inside, others]), view)


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
