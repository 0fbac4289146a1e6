"""Mixed decoy groups: as near to the maximum-entropy design as whole groups can be.

Enters: the true histogram, ell, a stream. Leaves: the composition. Must not know: tuples.

- A value with f = k is in every group; it is set aside and put back at the end.
- If groups have two sizes, the smaller ones get an empty place: one more value, "empty", that
  occurs as often as there are smaller groups. All groups then have one size. In a large table the
  larger groups, fewer than ell, are drawn first, one by one, and the empty place is not needed: a
  value that is missing from one group in a million would obstruct every step below.
- Up to a few thousand groups are mixed by random trades and balanced by swaps, each group its own
  template. Of more groups, nearly all come from templates with multiplicities that aim at the
  design as well: from one pool whose multiplicities are solved for (`bulk`) or, where there are too
  many pairs for that, level by level (`trades`). The rest is formed as above, aiming at
  whatever is then missing. So the last and finest step corrects the coarse ones.
- Meetings are balanced among the `MOST_BALANCED` most frequent values. The others are mixed at
  random: their pairs meet so rarely that there is little to balance.

**How near is near enough.** Let D[u, s] be how often u and s meet beyond the design, m the places
of a group. For a predicate that a share p[u] of the people with u meets, the estimate for s moves
by the sum over u of p[u] D[u, s] / m, over a - b. The D of s add up to 0, so only differences of p
count: with a variance V of the p[u] around their mean q, the square of the sum is about V / m^2
times the sum of D^2. The variance of the estimate is about q f[s] (m - 1) / m, over (a - b)^2. The
ratio of both is to stay below `_SHIFT`^2 for predicates with V / q up to `_ASSOCIATION`: every
second row meets it, and the shares differ by a factor of four or so. The worst of some ten thousand
predicates and values is then about four times `_SHIFT`, a tenth of a standard error.

The composition is a function of histogram, ell and stream, the same on every machine (`steady`).
Nothing of it is published.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.common import Copies
from countveil.maths.channel.design import Design, expected_pairs, fit_design
from countveil.maths.channel.templates import Templates, meetings
from countveil.maths.groups.balance import ShareDone, TargetMeetings, balance, section, unreported
from countveil.maths.groups.bulk import bulk
from countveil.maths.groups.multiplicities import affordable, pool_size
from countveil.maths.groups.steady import lowest, steady_meetings
from countveil.maths.groups.trades import level, level_size, mixed_rows, wrap_around
from countveil.randomness import Stream

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_BALANCED = 2_000
# The shift that is allowed, in standard errors, and the predicate it is meant for: V / q above.
_SHIFT, _ASSOCIATION = 0.025, 0.4
_POOLS, _PASSES = 6, 20
# How often a pool is doubled that has no solution.
_GROWN = 2
# The share of the remaining work that a pool, or a level, usually takes.
_POOL_WORK, _LEVEL_WORK = 0.75, 0.5


def mixed_groups(
    counts: Counts, ell: int, stream: Stream, progress: ShareDone = unreported
) -> Templates:
    """Decoy groups for these counts, which must be eligible for `ell`."""
    done = 0.0
    progress(done)
    task = _Task(counts, fit_design(counts, ell))
    batches: list[tuple[Counts, Counts]] = []
    if task.counts.size == 0:
        return task.templates(batches)
    if task.groups > task.most_groups and task.larger:
        batches.append(task.larger_first(stream))
    if not task.counts.any():
        # Every value that is not in all groups was in one of the larger ones.
        batches.append((np.zeros((1, 0), np.int64), np.array([task.groups])))
        return task.templates(batches)
    while task.groups > task.most_groups and len(batches) < _PASSES:
        # A second pool is rare, a second level is not.
        pooled = len(batches) < task.pools
        begun, done = done, done + (1 - done) * (_POOL_WORK if pooled else _LEVEL_WORK)
        step = section(progress, begun, done)
        formed = task.from_pool(stream, step) if pooled else task.next_level(stream, step)
        if not formed[1].size:
            break
        task.use(*formed)
        batches.append(formed)
    if task.groups > task.most_groups:
        batches.append(wrap_around(task.counts, task.groups))
    elif task.groups:
        last = section(progress, done, 1.0)
        rows = mixed_rows(task.counts, task.groups, stream, progress=section(last, 0.0, 0.3))
        balance(rows, task.target(), stream, progress=section(last, 0.3, 1.0))
        batches.append((rows, np.ones(rows.shape[0], np.int64)))
    return task.templates(batches)


def common_groups(
    counts: Counts, ell: int, common: Counts, stream: Stream, progress: ShareDone = unreported
) -> Templates:
    """Decoy groups in which the values `common` may fill several places, and no other may."""
    copies = Copies.of(counts, ell, common)
    groups = mixed_groups(copies.counts, ell, stream, progress)
    members = copies.owner[groups.members]
    return Templates(counts.size, groups.indptr, members, groups.multiplicity)


@dataclass(init=False)
class _Task:
    """What remains to be grouped: counts, groups, meetings that are still missing."""

    counts: Counts
    groups: int
    larger: int
    missing: Floats

    def __init__(self, counts: Counts, design: Design) -> None:
        self._n_values = counts.size
        self._always = np.flatnonzero(counts == design.groups)
        self._values = np.flatnonzero((counts > 0) & (counts < design.groups))
        empty = [design.smaller] if design.larger else []
        self.groups = self._all_groups = design.groups
        self.larger = design.larger
        self.counts = np.concatenate([counts[self._values], empty]).astype(np.int64)
        self._empty = self._values.size
        # Among equal counts "empty" is first: it stands for the sizes of the groups.
        order = np.argsort(-self.counts, kind="stable")
        self.balanced = np.sort(order[:MOST_BALANCED])
        self._overall = self._design_pairs(design)
        self.missing = self._overall.copy()
        places = max(1, int(self.counts.sum()) // self.groups)
        per_tuple = max(1, places * (places - 1)) * _SHIFT**2 / _ASSOCIATION
        self._allowed = self.counts[self.balanced].astype(np.float64) * per_tuple
        self._plan()

    def _plan(self) -> None:
        self.place = np.full(self.counts.size, self.balanced.size, np.int64)
        self.place[self.balanced] = np.arange(self.balanced.size)
        places, n = max(1, int(self.counts.sum()) // self.groups), self.balanced.size
        self._pool = pool_size(places, n, self.counts.size)
        self._level = level_size(places, n, self.counts.size)
        self.pools = _POOLS if self._pool else 0
        self.most_groups = 2 * self._pool or self._level + self._level // 2

    def target(self) -> TargetMeetings:
        """Meetings that are still missing, and how far they may be off."""
        return TargetMeetings.of(self.place, self.missing, self._overall, self._allowed)

    def larger_first(self, stream: Stream) -> tuple[Counts, Counts]:
        """Draw the larger groups; all others then have one size, and no empty place is needed.

        A value is drawn in proportion to the odds that a group holds it, and surely if it must be
        in all remaining groups.
        """
        rows = np.zeros((self.larger, int(self.counts.sum()) // self.groups), np.int64)
        left = self.counts[: self._empty].copy()
        for number, row in enumerate(rows):
            groups = self.groups - number
            odds = np.where(left < groups, left / np.maximum(groups - left, 1), np.inf)
            with np.errstate(divide="ignore"):
                turns = np.log1p(-stream.uniform(left.size)) / odds
            # The earliest of exponential waiting times; values that are used up wait for ever.
            row[:] = lowest(-turns, row.size)
            left[row] -= 1
        times = np.ones(self.larger, np.int64)
        self.use(rows, times)
        self.counts, self.larger = left, 0
        real = self.balanced < self._empty
        self.balanced, self._allowed = self.balanced[real], self._allowed[real]
        self._overall, self.missing = (
            pairs[np.ix_(real, real)] for pairs in (self._overall, self.missing)
        )
        self._plan()
        return rows, times

    def from_pool(self, stream: Stream, progress: ShareDone) -> tuple[Counts, Counts]:
        """Nearly all groups, from a pool of templates.

        Where frequencies differ by several powers of ten, a larger pool may be needed.
        """
        places, n = int(self.counts.sum()) // self.groups, self.balanced.size
        for attempt in range(_GROWN + 1):
            step = section(progress, attempt / (attempt + 1), 1.0)
            rows, times, solved = bulk(
                self.counts, self.groups, self._pool, self.balanced, self.target(), stream, step
            )
            if solved or 4 * self._pool > self.groups or not affordable(2 * self._pool, places, n):
                break
            if attempt < _GROWN:
                self._pool *= 2
        self.most_groups = 2 * self._pool
        return rows, times

    def next_level(self, stream: Stream, progress: ShareDone) -> tuple[Counts, Counts]:
        """Most groups, all used equally often."""
        size = min(self._level, self.groups // 2)
        a_group = self._overall / self._all_groups
        return level(self.counts, self.groups, size, self.target(), a_group, stream, progress)

    def _design_pairs(self, design: Design) -> Floats:
        """Meetings in the design; "empty" is in all of the smaller groups."""
        real = self.balanced < self._empty
        smaller, larger = expected_pairs(design, self._values[self.balanced[real]])
        pairs = np.zeros((self.balanced.size, self.balanced.size))
        pairs[np.ix_(real, real)] = smaller + larger
        if not real.all():
            pairs[real, -1] = pairs[-1, real] = np.diag(smaller)
        return steady_meetings(pairs)

    def use(self, rows: Counts, times: Counts) -> None:
        """Subtract these groups from the task."""
        np.subtract.at(self.counts, rows, times[:, None])
        self.groups -= int(times.sum())
        self.missing -= meetings(self.place[rows], times.astype(np.float64), self.balanced.size)

    def templates(self, batches: list[tuple[Counts, Counts]]) -> Templates:
        """All groups by the codes of the values, with the values that are in every group."""
        if not batches:
            batches = [(np.zeros((1, 0), np.int64), np.array([self.groups]))]
        finished: dict[int, tuple[list[Counts], list[Counts]]] = {}
        for rows, times in batches:
            smaller = (rows == self._empty).any(axis=1)
            for chosen in (np.flatnonzero(smaller), np.flatnonzero(~smaller)):
                if chosen.size == 0:
                    continue
                kept = rows[chosen]
                real = kept[kept != self._empty].reshape(chosen.size, -1)
                everywhere = np.broadcast_to(self._always, (chosen.size, self._always.size))
                full = np.concatenate([self._values[real], everywhere], axis=1)
                members, multiplicities = finished.setdefault(full.shape[1], ([], []))
                members.append(full)
                multiplicities.append(times[chosen])
        return Templates.from_rows(
            self._n_values,
            [(np.concatenate(a), np.concatenate(b)) for _, (a, b) in sorted(finished.items())],
        )
