"""Tallies of rows that were drawn in batches: totals and evidence as if it were one draw.

Enters: tallies by batch, with the views of each. Leaves: a `Tallies` whose totals, variances and
likelihoods are sums over batches. Must not know: SQL, which column has the number of the batch.
Theory: docs/theory/cases.md, "Batches".

With several sensitive columns that were drawn apart, a *part* is a combination of their batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView
from countveil.maths.channel.batch_views import BatchViews, calm_weights
from countveil.maths.estimate.batches import (
    pooled_likelihood,
    pooled_shrunk,
    pooled_shrunk_sums,
    pooled_sum_likelihood,
    unknown_spread,
)
from countveil.maths.estimate.estimates import Likelihood
from countveil.maths.estimate.joined import AllSets, CountedSets, Joined
from countveil.maths.estimate.methods import Evidence
from countveil.maths.estimate.sums import PublishedSums
from countveil.maths.estimate.totals import NEVER, Numbers, Tallies, Total

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Parts:
    """The rows of tallies by part; `columns` has the views of each sensitive column by part.

    `moments[part]` are those of `Tallies`. `joint[part]` and `joined[part]` too, if there are any.
    """

    moments: Floats
    columns: tuple[BatchViews, ...]
    joint: tuple[Floats, ...] = ()
    joined: tuple[tuple[Joined, ...], ...] = ()

    def along(self, axes: Sequence[int]) -> Parts:
        """With the published values of these sensitive columns only."""
        left_out = tuple(axis for axis in range(len(self.columns)) if axis not in axes)
        kept = [[one.among(axes) for one in joined] for joined in self.joined]
        parts = Parts(
            self.moments.sum(axis=tuple(4 + axis for axis in left_out)),
            tuple(self.columns[axis] for axis in axes),
            tuple(joint.sum(axis=left_out) for joint in self.joint),
            tuple(tuple(one for one in joined if one is not None) for joined in kept),
        )
        return parts if self.joined else parts._merged()

    def _merged(self) -> Parts:
        """Parts that differ in columns which are left out are one."""
        lines = zip(*(views.views for views in self.columns), strict=True)
        numbers: dict[tuple[int, ...], int] = {}
        number = [
            numbers.setdefault(tuple(id(view) for view in line), len(numbers)) for line in lines
        ]
        first = [number.index(place) for place in range(len(numbers))]
        if len(first) == len(number):
            return self
        moments = np.zeros((len(first), *self.moments.shape[1:]))
        np.add.at(moments, number, self.moments)
        columns = tuple(BatchViews(tuple(c.views[place] for place in first)) for c in self.columns)
        joint: tuple[Floats, ...] = ()
        if self.joint:
            summed = np.zeros((len(first), *self.joint[0].shape))
            np.add.at(summed, number, np.stack(self.joint))
            joint = tuple(summed)
        return Parts(moments, columns, joint)


@dataclass(frozen=True)
class PooledTallies(Tallies):
    """What was counted in all batches. `views` are those of any part; `joined` of all together."""

    parts: Parts | None = None

    in_batches: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        truths: NDArray[np.bool_],
        ranges: Floats,
        grouped: Sequence[bool],
        parts: Parts,
        joined: Sequence[Joined] = (),
    ) -> PooledTallies:
        """From the parts."""
        views = [views.views[0] for views in parts.columns]
        moments = parts.moments.sum(axis=0)
        return cls(truths, moments, ranges, views, grouped, None, joined, parts=parts)

    @cached_property
    def by_part(self) -> Parts:
        """The parts."""
        assert self.parts is not None  # noqa: S101 - always given
        return self.parts

    @cached_property
    def each(self) -> list[Tallies]:
        """The tallies of every part."""
        parts = self.by_part
        return [
            _PartTallies(
                self.truths,
                moments,
                self.ranges,
                [views.views[number] for views in parts.columns],
                self.grouped,
                parts.joint[number] if parts.joint else None,
                parts.joined[number] if parts.joined else (),
            )
            for number, moments in enumerate(parts.moments)
        ]

    def along(self, axes: Sequence[int]) -> Tallies:
        """The same, with the published values of these sensitive columns only."""
        if len(axes) == len(self.views):
            return self
        if not axes:
            everything = Tallies(self.truths, self.moments, self.ranges, self.views, self.grouped)
            return everything.along(axes)
        joined = (one.among(axes) for one in self.joined)
        return PooledTallies.of(
            self.truths,
            self.ranges,
            [self.grouped[axis] for axis in axes],
            self.by_part.along(axes),
            [one for one in joined if one is not None],
        )

    def total(self, condition_of: Numbers, of: int | None, value_of: Floats | None = None) -> Total:
        """One aggregate."""
        return PooledTotal(self, condition_of, of, value_of)


class _PartTallies(Tallies):
    """One part: a value that its batch does not tell apart has the weight that is expected."""

    @cached_property
    def weights(self) -> list[Floats]:
        """M of each column."""
        return [calm_weights(view, view.shares) for view in self.views]


class PooledTotal(Total):
    """One aggregate: sums over batches."""

    def __init__(
        self,
        tallies: PooledTallies,
        condition_of: Numbers,
        argument: int | None,
        value_of: Floats | None = None,
    ) -> None:
        super().__init__(tallies, condition_of, argument, value_of)
        self._pooled = tallies
        self._of = condition_of, argument, value_of

    @property
    def pooled(self) -> PooledTallies:
        """What was counted, by part."""
        return self._pooled

    @cached_property
    def parts(self) -> list[Total]:
        """The aggregate in every part that has rows."""
        return [each.total(*self._of) for each in self._pooled.each if each.moments[0].any()]

    @cached_property
    def estimate(self) -> Floats:
        """The unbiased estimate, by plain group and cell; NaN where most of it is a guess."""
        estimate = self._sum(part.estimate for part in self.parts)
        return estimate + 0.0 * self._unknown_spread if self._unknown is not None else estimate

    @cached_property
    def variance(self) -> Floats:
        """Its variance, given the channels."""
        return self._sum(part.variance for part in self.parts)

    def covariance(self, other: Total, moment: int) -> Floats:
        """With another total of the same tallies."""
        assert isinstance(other, PooledTotal)  # noqa: S101 - of the same tallies
        pairs = zip(self.parts, other.parts, strict=True)
        return self._sum(one.covariance(two, moment) for one, two in pairs)

    def covariance_of_rows(self, other: Total, moment: int) -> Floats:
        """The same as a sum over rows."""
        assert isinstance(other, PooledTotal)  # noqa: S101 - of the same tallies
        pairs = zip(self.parts, other.parts, strict=True)
        return self._sum(one.covariance_of_rows(two, moment) for one, two in pairs)

    @cached_property
    def misfit(self) -> Floats:
        """The possible bias: that of every batch, and of what one cannot tell."""
        misfit = self._sum(part.misfit for part in self.parts)
        return misfit if self._unknown is None else misfit + np.nan_to_num(self._unknown_spread)

    @cached_property
    def _unknown_spread(self) -> Floats:
        assert self._unknown is not None  # noqa: S101 - asked only then
        estimate = self._sum(part.estimate for part in self.parts)
        expected, unknown = self._unknown
        return unknown_spread(estimate, expected, unknown)

    @cached_property
    def _unknown(self) -> tuple[Floats, Floats] | None:
        """What is expected, and what of it is in batches that do not tell; None if all do."""
        if self.tallies.joined:
            return None
        columns = self._pooled.by_part.columns
        if all(views.identifiable.all() for views in columns):
            return None
        shape = (self.tallies.n_groups, self.condition_of.shape[0])
        expected, unknown = np.zeros(shape), np.zeros(shape)
        for number, part in enumerate(self._pooled.each):
            share, hidden = np.ones(1), np.zeros(1, bool)
            for views in columns:
                share = np.multiply.outer(share, views.expected[number])
                hidden = np.logical_or.outer(hidden, ~views.identifiable[number])
            for condition, counted in self._counted():
                met = part.meeting(condition, self.moment)
                n = met.reshape(met.shape[0], -1).sum(axis=1)
                grid = np.multiply.outer(np.maximum(n, 0.0), share[0])
                cells = self.tallies.by_cell(grid)
                expected += np.einsum("gcr,cr->gc", cells, counted)
                cells = self.tallies.by_cell(np.where(hidden[0], grid, 0.0))
                unknown += np.einsum("gcr,cr->gc", cells, counted)
        return expected, unknown

    def _counted(self) -> Iterator[tuple[int, Floats]]:
        """Each condition, and how far the cells under it count; most of them, by the others."""
        for condition in set(self.condition_of.ravel().tolist()) - {NEVER}:
            counted = (self.condition_of == condition).astype(np.float64)
            if self.values is not None:
                counted = counted * np.abs(self.values - self.values.mean(axis=1, keepdims=True))
            elif not self.tallies.grouped_axes and counted.mean() > 0.5:
                counted = 1 - counted
            yield condition, counted

    def _sum(self, arrays: Iterator[Floats]) -> Floats:
        total = np.zeros((self.tallies.n_groups, self.condition_of.shape[0]))
        for array in arrays:
            total = total + array
        return total


def pooled_sets(total: Total) -> AllSets | None:
    """The sets of combinations that are counted, in all batches."""
    assert isinstance(total, PooledTotal)  # noqa: S101 - of tallies in batches
    sets = [
        AllSets.of(part, tallies)
        for part, tallies in zip(
            total.parts, [t for t in total.pooled.each if t.moments[0].any()], strict=True
        )
    ]
    known = [one for one in sets if one is not None]
    if not known or len(known) < len(sets):
        return None
    several = [
        CountedSets(same[0].cells, tuple(batch for one in same for batch in one.batches))
        for same in zip(*(one.several for one in known), strict=True)
    ]
    return AllSets(several, known[0].shape)


class PooledEvidence(Evidence):
    """The likelihood of all cells under each condition, of all batches together."""

    def __init__(self, tallies: Tallies) -> None:
        assert isinstance(tallies, PooledTallies)  # noqa: S101 - see `evidence_of`
        super().__init__(tallies)
        self._parts = tallies.by_part
        self._columns: Sequence[BatchViews] = self._parts.columns
        if self._blocks is not None:
            views: list[Sequence[ChannelView]] = [
                each.blocks.views for each in tallies.each if each.blocks is not None
            ]
            self._columns = [BatchViews(tuple(line)) for line in zip(*views, strict=True)]

    def sum_likelihood(self, condition: int, argument: int) -> tuple[Likelihood, Floats]:
        """The likelihood of the sums of an argument in effective rows, and their unit."""
        sums = self.sums(condition, argument)
        likelihood, unit = pooled_sum_likelihood(sums, self._columns, self._shrunk(condition))
        return self._by_column(likelihood), unit

    def shrunk_sums(self, condition: int, argument: int) -> Floats:
        """The shrunk sums of an argument."""
        sums, likelihood = self.sums(condition, argument), self._of(condition)[0]
        shrunk = pooled_shrunk_sums(sums, self._columns, self._shrunk(condition), likelihood)
        return self._back(shrunk)

    def sums(self, condition: int, argument: int) -> PublishedSums:
        """What the rows that meet a condition publish, by part."""
        moments = (0, 1 + 2 * argument, 2 + 2 * argument)
        return PublishedSums(*(self._published(condition, moment) for moment in moments))

    def _shrunk(self, condition: int) -> Floats:
        y = self._published(condition, 0)
        return pooled_shrunk(*self._of(condition), y, self._columns)

    def _of(self, condition: int) -> tuple[Likelihood, Floats]:
        if condition not in self._known:
            y = self._published(condition, 0)
            self._known[condition] = pooled_likelihood(y, self._columns)
        return self._known[condition]

    def _published(self, condition: int, moment: int) -> Floats:
        """By part and predicate, with one axis for each channel."""
        moments = self._parts.moments[:, moment]
        chosen = self.tallies.holds(condition)
        published = moments[:, :, 0] if chosen.all() and chosen.size == 1 else None
        if published is None:
            published = moments[:, :, chosen].sum(axis=2)
        if self._blocks is None:
            return published
        flat = self._blocks.flat(published.reshape(-1, *published.shape[2:]))
        return flat.reshape(*published.shape[:2], *flat.shape[1:])
