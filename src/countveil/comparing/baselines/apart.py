"""Several columns, each published with groups and a draw of its own.

Enters: codes that stand for combinations of values, how each column is published. Leaves: published
combinations, and estimates of how many rows have each one. Must not know: other columns.

A code is the number of a combination in the grid of all columns' values. Every column is published
by itself, so a published combination need not be anybody's. Estimates are those of a release with
several protected columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from countveil.comparing.baselines.method import (
    Belief,
    Codes,
    Floats,
    Rows,
    checked,
    posterior,
    tallies,
)
from countveil.comparing.baselines.ours import DecoyGroups, DecoyTable
from countveil.maths.adversary import published_chances
from countveil.maths.channel import ChannelView
from countveil.maths.estimate import shrunk_counts
from countveil.maths.estimate.products import product_likelihood
from countveil.randomness import Randomness


@dataclass(frozen=True)
class ColumnsApart:
    """One way to publish for each column; `shape` says how many values each has."""

    columns: tuple[DecoyGroups, ...]
    shape: tuple[int, ...]
    method: str = "shrunk"

    @property
    def name(self) -> str:
        """How the combinations are estimated."""
        return f"each column apart, {self.method}"

    @property
    def most_queries(self) -> None:
        """Any number."""

    def chances(self, counts: Codes) -> Floats:
        """Columns are published independently: the product of their channels."""
        grid = counts.reshape(self.shape)
        axes = range(len(self.shape))
        channels = [
            column.chances(grid.sum(axis=tuple(other for other in axes if other != axis)))
            for axis, column in enumerate(self.columns)
        ]
        return _product(channels)

    def publish(self, codes: Codes, size: int, randomness: Randomness) -> TablesApart:
        """Publish every column with streams of its own."""
        counts = checked(codes, size)
        published = tuple(
            column.publish(places, values, randomness.task_key("apart", str(axis)))
            for axis, (column, places, values) in enumerate(
                zip(self.columns, np.unravel_index(codes, self.shape), self.shape, strict=True)
            )
        )
        return TablesApart(published, self, counts / counts.sum())


@dataclass(frozen=True)
class TablesApart:
    """The columns side by side. `shares` of the combinations are what an adversary knows."""

    columns: tuple[DecoyTable, ...]
    choices: ColumnsApart
    shares: Floats

    @cached_property
    def _published(self) -> Codes:
        codes = tuple(column.published for column in self.columns)
        return np.ravel_multi_index(codes, self.choices.shape).astype(np.int64)

    @property
    def _views(self) -> list[ChannelView]:
        return [column.view for column in self.columns]

    def counts(self, rows: Rows) -> Floats:
        """Estimated counts of every combination among these rows."""
        counts: Floats = self.counts_of([rows])[0]
        return counts

    def counts_of(self, predicates: Sequence[Rows]) -> Floats:
        """The same for many predicates."""
        size = self.shares.size
        y = tallies(self._published, size, predicates).reshape(-1, *self.choices.shape)
        if self.choices.method == "shrunk":
            return shrunk_counts(y, self._views).reshape(-1, size)
        axes = range(1, y.ndim)
        margins = [y.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]
        estimate = product_likelihood(y, self._views, margins).estimate.reshape(-1, size)
        # A value that cannot be separated: the answer as if it were independent of P.
        n = y.reshape(-1, size).sum(axis=1, keepdims=True)
        expected = n * _product([view.shares for view in self._views])
        return np.where(np.isnan(estimate), expected, estimate)

    def totals(self) -> Floats:
        """Estimated counts of the whole table."""
        return self.counts(np.arange(self._published.size))

    def belief(self) -> Belief:
        """Bayes with the true shares of the combinations, which somebody may know.

        Published combinations are no estimate of them, since columns are published independently.
        """
        channels = [published_chances(v, v.published.astype(np.int64)) for v in self._views]
        return Belief(posterior(_product(channels), self.shares), self._published)


def _product(arrays: Sequence[Floats]) -> Floats:
    """Of columns, one combination after the other."""
    product = arrays[0]
    for array in arrays[1:]:
        product = np.kron(product, array).astype(np.float64)
    return product
