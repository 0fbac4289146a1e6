"""The channels of a column that was drawn in batches, as an analyst can know them.

Enters: how many cases of each batch published each value when it was drawn, and how many rows do
now. Leaves: a `ChannelView` of every batch, and all of them side by side (`BatchViews`). Must not
know: true counts, predicates. Theory: docs/theory/cases.md, "Batches".

The channel of a batch follows from its cases as they were drawn. Since then some may have left, or
have more rows: what rows publish now is a sum over cases, as in `case_view`. A batch whose rows are
its cases, all of them, has the plain view.

**Side by side.** The variance of a count x among n rows of a batch is a polynomial

    A x + B n + C x^2 + D x n + E n^2

with coefficients that depend on the value alone. So variances of any number of predicates, added
over batches, are a few products of matrices (`estimate.batches`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.case_view import CaseView
from countveil.maths.channel.view import ChannelView, view_of_release

Floats = NDArray[np.float64]

# A matrix for every batch, 80 MB at most; beyond it batches are taken one after the other.
_MOST_NUMBERS = 10_000_000
# Below this share of its cases, the rows that are left tell less of a batch than its draw did.
_ENOUGH_ROWS = 0.5


@dataclass(frozen=True)
class BatchView(CaseView):
    """A batch whose rows are not exactly its cases; `cases` is what it was when it was drawn."""

    @property
    def complete(self) -> bool:
        """Its rows may be any of its cases."""
        return False

    @cached_property
    def shares(self) -> Floats:
        """The share of each value among the rows, or among the cases if few rows are left."""
        if self.rows < _ENOUGH_ROWS * self.cases.rows:
            return self.cases.shares
        shares = np.maximum(self.of_whole_table(self.published), 0.0)
        # A value that the batch published is not impossible.
        shares = np.maximum(shares / self.rows, 0.1 * self.cases.shares)
        normed: Floats = shares / shares.sum()
        return normed


def view_of_batch(
    counts: NDArray[np.int64],
    published: NDArray[np.int64],
    way: tuple[int, str, tuple[int, ...], tuple[float, int] | None],
    effect: float = 1.0,
) -> ChannelView:
    """The view of a batch: `counts` of cases as they were drawn, `published` by its rows now.

    `way` is ell, the group method, the common values by number, and the noise before the groups.
    """
    drawn = view_of_release(counts, int(counts.sum()), *way)
    if effect == 1 and np.array_equal(counts, published):
        return drawn
    return BatchView(
        int(published.sum()), drawn.keep, published.astype(np.float64), drawn.whole,
        drawn.two_state_holds, cases=drawn, effect=effect,
    )  # fmt: skip


@dataclass(frozen=True)
class BatchViews:
    """The views of one column in several batches; arrays are by batch and value."""

    views: tuple[ChannelView, ...]

    @cached_property
    def side_by_side(self) -> bool:
        """Whether matrices of all batches fit into memory together."""
        return len(self.views) * self.views[0].published.size ** 2 <= _MOST_NUMBERS

    @cached_property
    def rows(self) -> Floats:
        """How many rows each complete batch has; -1 for others, which no predicate has."""
        return np.array([view.rows if view.complete else -1.0 for view in self.views])

    @cached_property
    def shares(self) -> Floats:
        """The share of each value in each batch."""
        return np.stack([view.shares for view in self.views])

    @cached_property
    def expected(self) -> Floats:
        """Shares by which a count is split over batches: none is 0."""
        least = [0.1 / max(view.grouped[0].rows, 1) for view in self.views]
        expected: Floats = np.maximum(self.shares, np.array(least)[:, None])
        return expected

    @cached_property
    def identifiable(self) -> NDArray[np.bool_]:
        """Where a batch tells the value apart."""
        return np.stack([view.identifiable for view in self.views])

    @cached_property
    def steps(self) -> Floats:
        """By how much one published row moves the estimate."""
        with np.errstate(divide="ignore"):
            steps = np.stack([1 / np.abs(view.gap) for view in self.views])
        return np.where(self.identifiable, steps, 1.0)

    @cached_property
    def unclear(self) -> list[int]:
        """The batches in which two states may mislead (`estimate.unbiased.misfits`)."""
        clear = (view.two_state_holds and view.informative.all() for view in self.views)
        return [number for number, is_clear in enumerate(clear) if not is_clear]

    @cached_property
    def weights(self) -> Floats:
        """M of each batch, by published and true value: one batch below the other.

        Where a batch does not tell a value apart, its share among any rows is expected.
        """
        pairs = zip(self.views, self.shares, strict=True)
        calm = [calm_weights(view, shares) for view, shares in pairs]
        return np.concatenate([np.ascontiguousarray(weights.T) for weights in calm])

    @cached_property
    def whole(self) -> tuple[Floats, NDArray[np.bool_]]:
        """W of each batch, and whether it is known (the identity where it is not)."""
        unit = np.eye(self.views[0].published.size)
        sent = [view.sent(unit) for view in self.views]
        known = np.array([one is not None for one in sent])
        return np.stack([unit if one is None else one for one in sent]), known

    @cached_property
    def coefficients(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """A, B, C, D, E of the variance; 0 where a batch does not tell the value apart."""
        # No point has n = N, where a plain view has another formula.
        x, n = np.array([[0.5, 0], [0.25, 0], [0, 0.5], [0, 0.25], [0.5, 0.5]]).T
        each = [
            view.variance(x[:, None] * size, n[:, None] * size) / size
            for view, size in zip(self.views, self._sizes.tolist(), strict=True)
        ]
        # With errors that are unknown the constant is infinite elsewhere; here they count as 0.
        known = np.where(self.identifiable, np.moveaxis(np.array(each), 0, 1), 0.0)
        size = self._sizes[:, None]
        square = [8 * (known[k] - 2 * known[k + 1]) for k in (0, 2)]
        linear = [2 * known[k] - 0.5 * square[k // 2] for k in (0, 2)]
        both = 4 * known[4] - 2 * (linear[0] + linear[1]) - square[0] - square[1]
        return linear[0], linear[1], square[0] / size, both / size, square[1] / size

    @cached_property
    def whole_coefficients(self) -> tuple[Floats, Floats, Floats]:
        """Those of the variance when a predicate has all rows of a batch: 1, x, x^2."""
        x = np.array([0.0, 0.5, 1.0])[:, None] * np.ones(self.views[0].published.size)
        each = [
            view.whole_variance(x * size) / size
            for view, size in zip(self.views, self._sizes.tolist(), strict=True)
        ]
        none, half, all_ = np.moveaxis(np.array(each), 0, 1)
        square = 2 * (none - 2 * half + all_)
        size = self._sizes[:, None]
        return none * size, all_ - none - square, square / size

    @property
    def _sizes(self) -> Floats:
        return np.array([max(view.grouped[0].rows, 2.0) for view in self.views])


def calm_weights(view: ChannelView, shares: Floats) -> Floats:
    """M, with the expected share in the place of what cannot be told apart."""
    if view.identifiable.all():
        return view.weights
    return np.where(view.identifiable[:, None], view.weights, shares[:, None])
