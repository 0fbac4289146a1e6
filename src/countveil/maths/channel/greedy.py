"""The paper's group creation: repeatedly, one row from each of the ell largest buckets.

Enters: counts per value, ell. Leaves: group templates. Must not know: rows, randomness, and
whether the counts are true ones (the publisher) or published ones (an analyst).

**Tie rule.** Buckets of equal size are taken in the order in which they reached that size;
initially, in the order of the values. This makes the result a function of the histogram alone, so
that an analyst can run the same creation on the published histogram.

**No step per group.** With that rule the buckets at the boundary between taken and not taken are
served in turn: with j of them and r places left in a group, the groups repeat after j / gcd(j, r)
steps. Whole repetitions are counted, not made, until a bucket from above falls to the boundary or
the boundary falls to a bucket below. The time depends on the number of values and hardly on rows.

**Residue.** With k = N // ell groups, the sizes are N // k and, for the last N % k groups, one
more. No row is lost. Taking the largest buckets never reaches a dead end, whatever the order of
group sizes, because the largest remaining counts are always reduced first.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from math import gcd

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.templates import Templates


def greedy_templates(counts: NDArray[np.int64], ell: int) -> Templates:
    """Decoy groups for these counts, which must be eligible for `ell`."""
    total = int(counts.sum())
    n_groups = total // ell
    if n_groups == 0 or int(counts.max()) > n_groups:
        raise ValueError("counts are not eligible for this ell")
    size, larger = divmod(total, n_groups)
    buckets = _Buckets(counts)
    buckets.form(n_groups - larger, size)
    buckets.form(larger, size + 1)
    return Templates.from_mapping(counts.size, buckets.templates)


class _Buckets:
    """Values queued by how many of their rows are left."""

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self.templates: dict[tuple[int, ...], int] = {}
        self._queues: dict[int, deque[int]] = {}
        for value, count in enumerate(counts.tolist()):
            if count:
                self._queues.setdefault(count, deque()).append(value)
        self._levels = sorted(self._queues)

    def form(self, groups: int, size: int) -> None:
        """Form `groups` groups of `size` values each."""
        while groups:
            above, boundary = self._boundary(size)
            skipped = self._repeat(groups, size, above, boundary)
            groups -= skipped
            if not skipped:
                self._record(self._take_one(size), 1)
                groups -= 1

    def _record(self, members: list[int], times: int) -> None:
        key = tuple(sorted(members))
        self.templates[key] = self.templates.get(key, 0) + times

    def _boundary(self, size: int) -> tuple[int, int]:
        """How many buckets lie above the boundary, and the boundary's position in the levels."""
        above, position = 0, len(self._levels) - 1
        while above + len(self._queues[self._levels[position]]) < size:
            above += len(self._queues[self._levels[position]])
            position -= 1
        return above, position

    def _take_one(self, size: int) -> list[int]:
        members: list[int] = []
        moved: list[tuple[int, list[int]]] = []
        position = len(self._levels) - 1
        while len(members) < size:
            level = self._levels[position]
            queue = self._queues[level]
            taken = [queue.popleft() for _ in range(min(size - len(members), len(queue)))]
            members += taken
            moved.append((level, taken))
            position -= 1
        for level, taken in moved:
            self._put(level - 1, taken)
            if not self._queues[level]:
                del self._queues[level]
                self._levels.remove(level)
        return members

    def _put(self, level: int, values: list[int]) -> None:
        if level == 0:
            return
        if level not in self._queues:
            self._queues[level] = deque()
            insort(self._levels, level)
        self._queues[level].extend(values)

    def _repeat(self, groups: int, size: int, n_above: int, position: int) -> int:
        """Count as many whole repetitions as are safe; return how many groups that made."""
        level = self._levels[position]
        upper = self._queues[level]
        lower = self._queues.get(level - 1, deque())
        places, in_turn = size - n_above, len(upper) + len(lower)
        length = in_turn // gcd(in_turn, places)
        fall = places // gcd(in_turn, places)
        below = position - (2 if lower else 1)
        next_below = self._levels[below] if below >= 0 else -1
        times = min(groups // length, (level - 2 - next_below) // fall)
        if n_above and length > fall:
            times = min(times, (self._levels[position + 1] - level - 1) // (length - fall))
        if times <= 0:
            return 0
        ring = [*upper, *lower]
        top = [v for higher in self._levels[position + 1 :] for v in self._queues[higher]]
        for step in range(length):
            window = [ring[(step * places + i) % in_turn] for i in range(places)]
            self._record(top + window, times)
        self._lower_all(position, times * length, times * fall, n_ring=(len(upper), len(lower)))
        return times * length

    def _lower_all(
        self, position: int, drop_top: int, drop_ring: int, n_ring: tuple[int, int]
    ) -> None:
        """Move the levels above by `drop_top` and the two of the ring by `drop_ring`."""
        level = self._levels[position]
        moved = {
            higher - drop_top: self._queues.pop(higher) for higher in self._levels[position + 1 :]
        }
        moved[level - drop_ring] = self._queues.pop(level)
        if n_ring[1]:
            moved[level - 1 - drop_ring] = self._queues.pop(level - 1)
        for new_level, queue in moved.items():
            if new_level:
                self._queues[new_level] = queue
        self._levels = sorted(self._queues)
