"""A column of which some values are merged: only what is asked about is told apart.

Enters: the view of a column, and the class of each of its values. Leaves: a view whose values are
the classes. Must not know: SQL, predicates. Theory: docs/theory/channel.md, "Two states".

Two large columns have hundreds of thousands of combinations, of which a question asks about a few.
The row weight of a value v is the same for all rows that do not publish v, up to the corrections
for the whole domain. So the values that nobody asks about may be one: published counts add up,
and the channel of a merged value is the mean over its values, weighted by how frequent they are.
Beyond what the whole domain corrects, nothing is lost for the values that stay alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.skewed_views import RandomView
from countveil.maths.channel.view import ChannelView, Sums, mixed_variance

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

_MARGIN = 4.0


@dataclass(frozen=True)
class MergedView(ChannelView):
    """Mixed groups; `kept` has the a of every class, which is larger where values were merged."""

    kept: Floats = field(default_factory=lambda: np.zeros(0), kw_only=True)

    @cached_property
    def a(self) -> Floats:
        """The a of every class."""
        return self.kept

    @cached_property
    def identifiable(self) -> NDArray[np.bool_]:
        """False where a and b are nearly equal."""
        noise = np.sqrt(self.published * (1 - self.a))
        return self.rows * self.a - self.published > _MARGIN * noise

    def sum_variance(self, having: Sums, lacking: Sums) -> Floats:
        """Of the unbiased estimate of a sum: over the rows with the value, over the others."""
        return mixed_variance(having, lacking, self.published, self.rows, self.a)

    def whole_variance(self, x: Floats) -> Floats:
        """Of the estimate for all rows of the table, when x of them have the value."""
        return x * (1 - self.a)


def merged_view(view: ChannelView, classes: Numbers) -> ChannelView | None:
    """The view of classes of values; None if this kind of view has none."""
    counts = np.bincount(classes, view.published).astype(np.float64)
    if counts.size == classes.size:
        return view
    if type(view) is RandomView:
        # Any set of values has the same channel.
        merged = replace(view, published=counts, whole=None)
        return replace(merged, whole=np.diag(merged.gap) + merged.b)
    if type(view) is not ChannelView:
        return None
    shares = _shares(view.published, classes, counts)
    whole = None if view.whole is None else _collapsed(view.whole, classes, shares, counts.size)
    alone = np.bincount(classes) == 1
    stays = _stays(view, classes, counts, shares) if whole is None else np.diag(whole)
    kept = np.where(alone, view.keep, stays)
    return MergedView(view.rows, view.keep, counts, whole, view.two_state_holds, kept=kept)


def _shares(published: Floats, classes: Numbers, counts: Floats) -> Floats:
    """The share of each value in its class."""
    sizes = np.bincount(classes)
    even = 1.0 / sizes[classes]
    total = counts[classes]
    return np.where(total > 0, published / np.maximum(total, 1.0), even)


def _collapsed(whole: Floats, classes: Numbers, shares: Floats, size: int) -> Floats:
    member = np.zeros((size, classes.size))
    member[classes, np.arange(classes.size)] = 1.0
    collapsed: Floats = (member * shares) @ whole @ member.T
    return collapsed


def _stays(view: ChannelView, classes: Numbers, counts: Floats, shares: Floats) -> Floats:
    """The chance that a row of a class publishes a value of that class, by two states."""
    f = view.published
    others = counts[classes] - f
    chance = view.keep + (1 - view.keep) * others / np.maximum(view.rows - f, 1.0)
    return np.bincount(classes, shares * chance).astype(np.float64)
