"""The channels of columns that were published together, from the vectors that rows publish.

Enters: the plan of a question, the release's table and manifest. Leaves: `Channels`. Must not know:
SQL text, which method estimates. Theory: docs/theory/channel.md, "Columns together".

A vector has the values of all these columns. The vectors that occur are counted once for every
choice of columns that is asked about; every axis of a tally, and every margin, is a sum over them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.asking.answer import Channels
from countveil.asking.merging import merged_along
from countveil.engines.contract import ReleaseTable
from countveil.engines.pivot import places_in
from countveil.maths.channel import ChannelView
from countveil.maths.channel.skewed_views import JointView, RandomView, joint_view
from countveil.maths.estimate.joined import Joined
from countveil.release import Manifest, kind_of
from countveil.release.values import BOOLEAN
from countveil.sql.query import Tally, TallyPlan
from countveil.sql.query.axes import Axis
from countveil.sql.query.expressions import ColumnReference, Constant

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
Domains = Sequence[tuple[Any, ...]]
ViewOf = Callable[[str, tuple[Any, ...]], ChannelView]


@dataclass(frozen=True)
class CountedVectors:
    """The vectors that rows publish: places of their values by column, and how many rows each."""

    places: tuple[Numbers, ...]
    counts: Floats

    def along(self, axes: Sequence[Axis]) -> Floats:
        """How many rows publish each place of some axes."""
        shape = tuple(axis.size for axis in axes)
        cell = np.zeros(self.counts.size, np.int64)
        for axis in axes:
            cell = cell * axis.size + axis.places(self.places)
        # What the axes lack, no row publishes any more.
        counted = np.logical_and.reduce([axis.has(self.places) for axis in axes])
        counts = np.where(counted, self.counts, 0.0)
        summed = np.bincount(cell, counts, int(np.prod(shape))).astype(np.float64)
        return summed.reshape(shape)


class TogetherChannels:
    """What a release tells about columns that were published together."""

    def __init__(self, manifest: Manifest, table: Callable[[], ReleaseTable]) -> None:
        self._manifest, self._table = manifest, table
        self._counted: dict[Any, CountedVectors] = {}
        self._known: dict[Any, RandomView] = {}

    def occurring(self, names: Sequence[str], domains: Domains) -> Numbers:
        """The combinations of values that some row publishes, as sorted numbers of their grid."""
        vectors = self._vectors(names, domains)
        sizes = tuple(len(domain) for domain in domains)
        return np.sort(np.ravel_multi_index(vectors.places, sizes))

    def channels(self, plan: TallyPlan, view_of: ViewOf) -> Channels:
        """The channels of the axes of a plan; `view_of` gives those of a column alone."""
        names, domains = plan.tally.sensitive, plan.domains
        if plan.tally.axes:
            return self._by_axes(plan, view_of)
        joined = []
        for columns in self._manifest.together:
            axes = tuple(axis for axis, name in enumerate(names) if name in columns)
            if len(axes) > 1:
                chosen = tuple(names[axis] for axis in axes), tuple(domains[axis] for axis in axes)
                joined.append(Joined(axes, self.grid(*chosen)))
        return Channels(
            [view_of(*pair) for pair in zip(names, domains, strict=True)], joined=joined
        )

    def _by_axes(self, plan: TallyPlan, view_of: ViewOf) -> Channels:
        names, domains, axes = plan.tally.sensitive, plan.domains, plan.tally.axes
        views: dict[int, ChannelView] = {}
        joined = []
        for columns in self._manifest.together:
            here = [
                n for n, axis in enumerate(axes) if {names[c] for c in axis.columns} <= set(columns)
            ]
            chosen = [column for number in here for column in axes[number].columns]
            if len(chosen) < 2:
                continue
            vectors = self._vectors([names[c] for c in chosen], [domains[c] for c in chosen])
            renumbered = [_renumbered(axes[number], chosen) for number in here]
            view = self._view(columns, vectors.along(renumbered), _numbers(renumbered))
            joined.append(Joined(tuple(here), view))
            for place, number in enumerate(here):
                views[number] = view.margin((place,))
        for number, axis in enumerate(axes):
            if number not in views:
                alone = view_of(names[axis.columns[0]], domains[axis.columns[0]])
                views[number] = merged_along(axis, alone)
        return Channels([views[number] for number in range(len(axes))], joined=joined)

    def grid(self, names: tuple[str, ...], domains: tuple[tuple[Any, ...], ...]) -> RandomView:
        """The channel of all combinations of values."""
        if (names, domains) not in self._known:
            vectors = self._vectors(names, domains)
            counts = np.zeros(tuple(len(domain) for domain in domains))
            np.add.at(counts, vectors.places, vectors.counts)
            self._known[names, domains] = self._view(names, counts)
        return self._known[names, domains]

    def _view(
        self, names: Sequence[str], counts: Floats, columns: tuple[Numbers, ...] | None = None
    ) -> JointView:
        """The channel of columns (some of them, or all), from the counts of their combinations."""
        ell = self._manifest.sensitive[names[0]].ell
        return joint_view(counts, self._manifest.rows, ell, columns)

    def _vectors(self, names: Sequence[str], domains: Domains) -> CountedVectors:
        key = tuple(names), tuple(domains)
        if key not in self._counted:
            self._counted[key] = self._count(names, domains)
        return self._counted[key]

    def _count(self, names: Sequence[str], domains: Domains) -> CountedVectors:
        columns = {column.name: column for column in self._manifest.columns}
        keys = tuple(ColumnReference(name, kind_of(columns[name].type)) for name in names)
        everything = Tally(Constant(value=True, kind=BOOLEAN), keys, (), (), ())
        tallied = self._table().tally(everything, ())
        values = list(zip(*tallied.keys, strict=True))
        places = tuple(places_in(d, v) for d, v in zip(domains, values, strict=True))
        return CountedVectors(places, tallied.moments[0, :, 0])


def _renumbered(axis: Axis, columns: Sequence[int]) -> Axis:
    """The same axis for a tally that has only these columns."""
    numbers = tuple(columns.index(column) for column in axis.columns)
    return Axis(numbers, axis.classes, axis.grouped, axis.occurring)


def _numbers(axes: Sequence[Axis]) -> tuple[Numbers, ...]:
    """For every column, its value in each combination of places, numbered from 0 without gaps."""
    shape = tuple(axis.size for axis in axes)
    columns = []
    for number, axis in enumerate(axes):
        along = [1] * len(axes)
        along[number] = axis.size
        for column in axis.columns:
            numbers = np.unique(axis.of_column(column), return_inverse=True)[1].reshape(along)
            columns.append(np.broadcast_to(numbers, shape).ravel())
    return tuple(columns)
