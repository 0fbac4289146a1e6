"""The channels of columns that were drawn in batches, each batch with its own.

Enters: the plan of a question, the release's table and manifest. Leaves: `Channels` that count by
batch as well, and turn what was counted into tallies of all batches. Must not know: SQL text, which
method estimates. It is loaded only where a release has batches. Theory: docs/theory/cases.md.

The number of a row's batch is a plain column. A question about sensitive columns is tallied by
their columns of batches too, as if these were more axes of published values. An analyst does not
see that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.asking.answer import Channels
from countveil.asking.together import CountedVectors, TogetherChannels
from countveil.engines.contract import ReleaseTable
from countveil.maths.channel import ChannelView
from countveil.maths.channel.batch_views import BatchViews, view_of_batch
from countveil.maths.channel.skewed_views import JointView, joint_view
from countveil.maths.estimate import Tallies
from countveil.maths.estimate.joined import Joined
from countveil.maths.estimate.pooled import Parts, PooledTallies
from countveil.release import Manifest
from countveil.release.batches import Batch, BatchedColumns
from countveil.release.values import BOOLEAN
from countveil.sql.query import Tally, TallyPlan
from countveil.sql.query.axes import Axis
from countveil.sql.query.expressions import Constant

Floats = NDArray[np.float64]
Domain = tuple[Any, ...]
ViewOf = Callable[[str, Domain], ChannelView]


class BatchedRelease:
    """What a release tells about columns that were drawn in batches."""

    def __init__(
        self, manifest: Manifest, table: Callable[[], ReleaseTable], view_of: ViewOf
    ) -> None:
        self._manifest, self._table, self._alone = manifest, table, view_of
        self._entries = {name: entry for entry in manifest.batches for name in entry.columns}
        self._views: dict[tuple[str, Domain], BatchViews] = {}
        self._together: dict[tuple[int, ...], _DrawnTogether] = {}

    def channels(self, plan: TallyPlan, *, joint: bool) -> Channels:
        """The channels of a plan; `joint`, with the published counts of the whole table."""
        names, domains = plan.tally.sensitive, plan.domains
        entries = [e for e in self._manifest.batches if set(e.columns) & set(names)]
        marked = [entry for entry in entries if entry.batch is not None and len(entry.drawn) > 1]
        combined = any(
            len([name for name in names if name in columns]) > 1
            for columns in self._manifest.together
        )
        whole = None
        if joint and len(names) > 1 and not combined:
            whole = self._counted(names, domains, marked)
        if marked:
            return _BatchedChannels(
                (), whole, release=self, plan=plan, entries=tuple(marked), combined=combined
            )
        first = dict.fromkeys(map(id, entries), 0)
        if combined:
            return self.together(plan, first)
        views = [
            self.views(*pair).views[0] if pair[0] in self._entries else self._alone(*pair)
            for pair in zip(names, domains, strict=True)
        ]
        return Channels(views, whole)

    def view(self, places: dict[int, int], name: str, domain: Domain) -> ChannelView:
        """The view of a column in one of its batches; `places` has those, by id of the entry."""
        if name not in self._entries:
            return self._alone(name, domain)
        views = self.views(name, domain).views
        return views[places.get(id(self._entries[name]), 0)]

    def views(self, name: str, domain: Domain) -> BatchViews:
        """The views of a column in all of its batches."""
        if (name, domain) not in self._views:
            entry = self._entries[name]
            marks = [entry] if entry.batch is not None and len(entry.drawn) > 1 else []
            published = self._counted([name], [domain], marks)
            by_batch = published.reshape(len(domain), -1).T.astype(np.int64)
            pairs = zip(entry.drawn, by_batch, strict=True)
            views = tuple(self._view_of(name, len(domain), batch, now) for batch, now in pairs)
            self._views[name, domain] = BatchViews(views)
        return self._views[name, domain]

    def _view_of(
        self, name: str, size: int, batch: Batch, published: NDArray[np.int64]
    ) -> ChannelView:
        entry, settings = self._entries[name], self._manifest.sensitive[name]
        known = len(settings.domain)
        counts = np.zeros(size, np.int64)
        counts[:known] = batch.counts_of(entry.columns.index(name), known)
        noise = None if settings.odds is None else (settings.odds.gamma, known)
        way = settings.ell, batch.groups, batch.common, noise
        return view_of_batch(counts, published, way, batch.design_effect)

    def together(self, plan: TallyPlan, places: dict[int, int]) -> Channels:
        """The channels of a plan in one of the batches of each set of columns."""
        key = tuple(places.get(id(entry), 0) for entry in self._manifest.batches)
        if key not in self._together:
            drawn = {
                name: (entry, entry.drawn[place])
                for entry, place in zip(self._manifest.batches, key, strict=True)
                for name in entry.columns
            }
            self._together[key] = _DrawnTogether(self._manifest, self._table, drawn, self.complete)
        return self._together[key].channels(plan, partial(self.view, places))

    def complete(self, entry: BatchedColumns, batch: Batch) -> bool:
        """Whether the rows of a batch are its cases, all of them."""
        place = entry.drawn.index(batch)
        domains = (self._manifest.sensitive[name].domain for name in entry.columns)
        pairs = zip(entry.columns, domains, strict=True)
        return all(self.views(*pair).views[place].complete for pair in pairs)

    def all_together(self, plan: TallyPlan, places: dict[int, int]) -> Sequence[Joined]:
        """The columns that were published together, as all rows of the release publish them."""
        everything = TogetherChannels(self._manifest, self._table)
        return everything.channels(plan, partial(self.view, places)).joined

    def _counted(
        self,
        names: Sequence[str],
        domains: Sequence[Domain],
        marked: Sequence[BatchedColumns],
    ) -> Floats:
        """The published counts of the whole table by columns, and by batches."""
        chosen = (*names, *(str(entry.batch) for entry in marked))
        everything = Tally(Constant(value=True, kind=BOOLEAN), (), (), chosen, ())
        tallied = self._table().tally(everything, (*domains, *map(_numbers, marked)))
        counts: Floats = tallied.moments[0, 0, 0]
        return counts


@dataclass(frozen=True, kw_only=True)
class _BatchedChannels(Channels):
    """The channels of a question whose columns were drawn in several batches.

    `entries` have a column of batches each; `joint` is by these too.
    """

    release: BatchedRelease
    plan: TallyPlan
    entries: tuple[BatchedColumns, ...]
    combined: bool

    @property
    def in_batches(self) -> bool:
        """They were."""
        return True

    def counted(self, plan: TallyPlan) -> tuple[Tally, tuple[Domain, ...]]:
        """The tally of the plan by batches too, and the domains of all that it counts by."""
        tally, n_columns = plan.tally, len(plan.tally.sensitive)
        marks = tuple(str(entry.batch) for entry in self.entries)
        numbers = tuple(_numbers(entry) for entry in self.entries)
        axes = tally.axes
        if axes:
            axes += tuple(
                Axis((n_columns + place,), (np.arange(len(each)),), grouped=False)
                for place, each in enumerate(numbers)
            )
        tally = replace(tally, sensitive=(*tally.sensitive, *marks), axes=axes)
        return tally, (*plan.domains, *numbers)

    def tallies(
        self,
        truths: NDArray[np.bool_],
        moments: Floats,
        ranges: Floats,
        grouped: Sequence[bool],
    ) -> Tallies:
        """What was counted, as tallies of all batches."""
        n_marks = len(self.entries)
        sizes = moments.shape[-n_marks:]
        by_part = np.moveaxis(moments.reshape(*moments.shape[:-n_marks], -1), -1, 0)
        chosen = np.arange(by_part.shape[0])
        if n_marks > 1:
            occurs = by_part[:, 0].reshape(by_part.shape[0], -1).any(axis=1)
            chosen = np.flatnonzero(occurs) if occurs.any() else chosen[:1]
            by_part = by_part[chosen]
        places = [
            {id(entry): int(place) for entry, place in zip(self.entries, line, strict=True)}
            for line in zip(*np.unravel_index(chosen, sizes), strict=True)
        ]
        joint: tuple[Floats, ...] = ()
        if self.joint is not None:
            whole = np.moveaxis(self.joint.reshape(*self.joint.shape[:-n_marks], -1), -1, 0)
            joint = tuple(whole[chosen])
        parts, joined = self._parts(np.ascontiguousarray(by_part), places, joint)
        return PooledTallies.of(truths, ranges, grouped, parts, joined)

    def _parts(
        self, moments: Floats, places: Sequence[dict[int, int]], joint: tuple[Floats, ...]
    ) -> tuple[Parts, Sequence[Joined]]:
        names, domains = self.plan.tally.sensitive, self.plan.domains
        if self.combined:
            each = [self.release.together(self.plan, place) for place in places]
            lines = zip(*(channels.views for channels in each), strict=True)
            columns = tuple(BatchViews(tuple(line)) for line in lines)
            joined = tuple(tuple(channels.joined) for channels in each)
            everything = self.release.all_together(self.plan, places[0])
            return Parts(moments, columns, (), joined), everything
        if len(names) == 1:
            # The same object for every question: what it computes once stays.
            return Parts(moments, (self.release.views(names[0], domains[0]),)), ()
        views = (
            BatchViews(tuple(self.release.view(place, name, domain) for place in places))
            for name, domain in zip(names, domains, strict=True)
        )
        return Parts(moments, tuple(views), joint), ()


class _DrawnTogether(TogetherChannels):
    """Columns that were published together, as one batch drew them."""

    def __init__(
        self,
        manifest: Manifest,
        table: Callable[[], ReleaseTable],
        drawn: dict[str, tuple[BatchedColumns, Batch]],
        complete: Callable[[BatchedColumns, Batch], bool],
    ) -> None:
        super().__init__(manifest, table)
        self._drawn, self._complete = drawn, complete

    def _view(
        self, names: Sequence[str], counts: Floats, columns: tuple[Any, ...] | None = None
    ) -> JointView:
        if names[0] not in self._drawn:
            return super()._view(names, counts, columns)
        entry, batch = self._drawn[names[0]]
        ell, effect = self._manifest.sensitive[names[0]].ell, batch.design_effect
        view = joint_view(counts, batch.cases, ell, columns)
        return replace(view, effect=effect, all_rows=self._complete(entry, batch))

    def _count(self, names: Sequence[str], domains: Sequence[Domain]) -> CountedVectors:
        if names[0] not in self._drawn:
            return super()._count(names, domains)
        entry, batch = self._drawn[names[0]]
        lines = [np.array(batch.vectors[entry.columns.index(name)], np.int64) for name in names]
        return CountedVectors(tuple(lines), np.array(batch.counts, np.float64))


def _numbers(entry: BatchedColumns) -> tuple[int, ...]:
    return tuple(batch.number for batch in entry.drawn)
