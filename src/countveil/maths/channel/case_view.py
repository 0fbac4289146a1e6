"""The channel as an analyst can know it, where persons have several rows.

Enters: the view of the cases, the published counts of rows, the design effect. Leaves: a
`ChannelView` of rows. Must not know: true counts, predicates. Theory: docs/theory/cases.md.

A case is a person with one value; all its rows publish what was drawn for it. So a row publishes by
the channel of cases, a and b of which follow from the number of cases, not of rows. The estimate of
a count of rows is that of a sum over cases, of the number z of their rows that meet a predicate.
Its variance is that of `ChannelView.sum_variance`, with z^2 for every case. The sum of z^2 is at
most that of z times the rows of the largest case; on average it is the sum of z times the design
effect, the mean of (rows of a case)^2 over the mean of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.view import ChannelView, Sums, view_of_release

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CaseView(ChannelView):
    """What `cases` shows of cases, seen of their rows."""

    cases: ChannelView
    effect: float

    @property
    def different(self) -> bool:
        """Not of rows."""
        return False

    @property
    def grouped(self) -> tuple[ChannelView, float]:
        """That of the cases."""
        return self.cases.grouped

    @property
    def design_effect(self) -> float:
        """By how much rows that publish alike raise a variance."""
        return self.effect

    @cached_property
    def a(self) -> Floats:
        """The a of every value."""
        return self.cases.a

    @cached_property
    def b(self) -> Floats:
        """The b of every value."""
        return self.cases.b

    @cached_property
    def gap(self) -> Floats:
        """A - b."""
        return self.cases.gap

    @cached_property
    def shares(self) -> Floats:
        """The share of each value among the rows of the table."""
        shares = np.maximum(self.of_whole_table(self.published), 0.5) / self.rows
        normed: Floats = shares / shares.sum()
        return normed

    def of_whole_table(self, y: Floats) -> Floats:
        """The estimate for all rows: published counts of rows are not unbiased by themselves."""
        if self.cases.corrected:
            estimates = y @ self.cases.weights.T
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                estimates = (y - self.rows * self.b) / self.gap
        known: Floats = np.where(self.identifiable, estimates, y)
        return known

    @cached_property
    def identifiable(self) -> NDArray[np.bool_]:
        """Where the cases tell the value apart."""
        return self.cases.identifiable

    @cached_property
    def informative(self) -> NDArray[np.bool_]:
        """Where the cases are informative."""
        return self.cases.informative

    @cached_property
    def weights(self) -> Floats:
        """M[v, u]: the weight, in the estimate of v, of a row that publishes u."""
        return self.cases.weights

    def sum_variance(self, having: Sums, lacking: Sums) -> Floats:
        """Of the unbiased estimate of a sum: over the rows with the value, over the others."""
        (x, q), (others, r) = having, lacking
        return self.cases.sum_variance((x, self.effect * q), (others, self.effect * r))

    def whole_variance(self, x: Floats) -> Floats:
        """Of the estimate for all rows of the table, when x of them have the value."""
        return self.sum_variance((x, x), (self.rows - x, self.rows - x))

    def sent(self, counts: Floats, axis: int = -1) -> Floats | None:
        """W^T x: how many rows publish each value, if these have it."""
        return self.cases.sent(counts, axis)

    def returned(self, ratios: Floats, axis: int = -1) -> Floats | None:
        """W r: for each true value, the mean of what belongs to the published ones."""
        return self.cases.returned(ratios, axis)


class CaseNumbers(Protocol):
    """What a release says of the cases of a column."""

    @property
    def rows_per_case(self) -> float:
        """The mean number of rows of a case."""

    @property
    def design_effect(self) -> float:
        """By how much rows that publish alike raise a variance."""

    @property
    def by_value(self) -> Sequence[float]:
        """The mean number of rows of the cases that publish each value."""


def view_of_cases(
    published: NDArray[np.int64],
    rows: int,
    way: tuple[int, str, tuple[int, ...]],
    numbers: CaseNumbers,
) -> CaseView:
    """The view of a column, from the published counts of rows and the mean rows of a case.

    `way` is ell, the group method and the common values, by number. Values beyond those that the
    release lists, which a question may name, no row publishes.
    """
    each = np.full(published.size, numbers.rows_per_case)
    each[: len(numbers.by_value)] = numbers.by_value
    cases = np.rint(published / each).astype(np.int64)
    view = view_of_release(cases, int(cases.sum()), *way)
    return CaseView(
        rows, view.keep, published.astype(np.float64), view.whole, view.two_state_holds,
        cases=view, effect=numbers.design_effect,
    )  # fmt: skip
