"""Trial publications of two columns: how far off counts of pairs are, apart and together.

Enters: the codes of two sensitive columns, predicates over their rows, how they are published, a
stream for each purpose. Leaves: a `Trial` with a cell for every pair. Must not know: files.

The rows at hand are published as if they were the whole table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.channel.common import frequent_values
from countveil.maths.channel.skewed_views import joint_view
from countveil.maths.estimate import shrunk_counts
from countveil.maths.groups import ColumnSettings
from countveil.maths.mechanism import Dealer, draw_column
from countveil.publishing.advise.trials import Trial
from countveil.randomness import Randomness

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

# Cells that are estimated at once: predicates times pairs of values.
_CELLS_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True)
class PairTask:
    """Two columns of the same rows as codes from 0, without gaps, and predicates over the rows."""

    one: Codes
    two: Codes
    predicates: Sequence[Codes]

    @property
    def sizes(self) -> tuple[int, int]:
        """How many values each column has."""
        return int(self.one.max()) + 1, int(self.two.max()) + 1

    @property
    def pairs(self) -> Codes:
        """The number of each row's pair."""
        numbers: Codes = self.one * self.sizes[1] + self.two
        return numbers

    def counts(self) -> Codes:
        """How many rows have each pair."""
        return np.bincount(self.pairs, minlength=int(np.prod(self.sizes))).reshape(self.sizes)


def try_apart(
    task: PairTask, settings: tuple[ColumnSettings, ColumnSettings], randomness: Randomness
) -> Trial:
    """Each column with groups and a draw of its own."""
    shown, views = [], []
    for name, codes, choice in zip("12", (task.one, task.two), settings, strict=True):
        counts = np.bincount(codes)
        common = tuple(frequent_values(counts, choice.ell).tolist()) if choice.common_auto else ()
        dealt = _dealt(codes, counts, choice, common, randomness, f"apart {name}")
        published = np.bincount(dealt, minlength=counts.size)
        views.append(view_of_release(published, dealt.size, choice.ell, choice.groups, common))
        shown.append(dealt)
    numbers = shown[0] * task.sizes[1] + shown[1]
    return _estimated(task, numbers, views, task.sizes)


def try_together(task: PairTask, ell: int, randomness: Randomness) -> Trial:
    """Both in one draw of random groups."""
    occurring, codes = np.unique(task.pairs, return_inverse=True)
    settings = ColumnSettings(ell, "random")
    dealt = _dealt(codes, np.bincount(codes), settings, (), randomness, "together")
    numbers = occurring[dealt]
    cells = int(np.prod(task.sizes))
    grid = np.bincount(numbers, minlength=cells).reshape(task.sizes).astype(np.float64)
    return _estimated(task, numbers, [joint_view(grid, numbers.size, ell)], (cells,))


def _dealt(
    codes: Codes,
    counts: Codes,
    settings: ColumnSettings,
    common: tuple[int, ...],
    randomness: Randomness,
    purpose: str,
) -> Codes:
    """What each row publishes."""
    label = f"{purpose} {settings.ell}"
    streams = randomness.stream("groups", label), randomness.stream("draw", label)
    drawn = draw_column(counts, settings, streams, common)
    return Dealer(drawn, randomness.stream("deal", label)).deal(codes)


def _estimated(
    task: PairTask, published: Codes, views: Sequence[ChannelView], shape: tuple[int, ...]
) -> Trial:
    """True counts and estimates of all pairs, predicate by predicate."""
    cells = int(np.prod(task.sizes))
    together = max(1, _CELLS_AT_ONCE // cells)
    true, estimates = [], []
    for first in range(0, len(task.predicates), together):
        some = task.predicates[first : first + together]
        y = _tallies(published, some, cells)
        estimates.append(shrunk_counts(y.reshape(len(some), *shape), views).reshape(y.shape))
        true.append(_tallies(task.pairs, some, cells))
    return Trial(task.one.size, np.concatenate(true), np.concatenate(estimates)[None])


def _tallies(numbers: Codes, predicates: Sequence[Codes], cells: int) -> Floats:
    tallies = [np.bincount(numbers[rows], minlength=cells) for rows in predicates]
    return np.array(tallies, np.float64)
