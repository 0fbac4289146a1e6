"""Decoy groups, behind the interface of the other methods: ours, and the paper's choices.

Enters: codes, ell, how to group and how to estimate. Leaves: published codes and estimates from
them. Must not know: other columns.

The groups, the draw, the dealing, the analyst's view and the estimators are those of a release; no
file is written.
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
from countveil.errors import SettingsError
from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.channel.common import frequent_values
from countveil.maths.estimate import check_method, shrunk_counts, unbiased_counts
from countveil.maths.groups import ColumnSettings, check_eligible
from countveil.maths.mechanism import Dealer
from countveil.maths.mechanism.draw import draw_column
from countveil.maths.paper import bayes_counts
from countveil.maths.paper.iteration import PAPER_TOLERANCE
from countveil.randomness import Randomness

_LEVEL = 0.95
_TOLERANCE, _MOST_STEPS = 1e-4, 3_000


@dataclass(frozen=True)
class DecoyGroups:
    """Mechanism A' at `ell`; `tolerance` is where the iteration of `bayes` stops.

    `channel` is that of the estimates, exact or printed. With `common`, frequent values may
    repeat in a group.
    """

    ell: int
    groups: str = "mixed"
    channel: str = "exact"
    method: str = "shrunk"
    tolerance: float = _TOLERANCE
    common: bool = False

    def __post_init__(self) -> None:
        settings = self.settings
        check_method(self.method, self.channel, _LEVEL)
        if self.method == "bayes" and (settings.groups == "random" or settings.common_auto):
            raise SettingsError(
                "The estimate 'bayes' is for groups of different values; with random groups or "
                "common values take 'shrunk' or 'unbiased'."
            )

    @property
    def settings(self) -> ColumnSettings:
        """As a publisher chooses them."""
        return ColumnSettings(self.ell, self.groups, common_auto=self.common)

    @classmethod
    def as_in_the_paper(cls, ell: int) -> DecoyGroups:
        """Greedy groups, the printed matrix, the iteration stopped at 1%."""
        return cls(ell, "anatomy", "printed", "bayes", PAPER_TOLERANCE)

    @property
    def name(self) -> str:
        """Whose choices."""
        if self == self.as_in_the_paper(self.ell):
            return "the paper's choices"
        groups = {"mixed": "countveil", "anatomy": "greedy", "random": "random groups"}
        whose = "common values" if self.common else groups[self.groups]
        return f"{whose}, {self.method}"

    @property
    def most_queries(self) -> None:
        """Any number."""

    def chances(self, counts: Codes) -> Floats | None:
        """That of the design, for these counts."""
        return self._view(counts, self.repeating(counts)).whole

    def repeating(self, counts: Codes) -> tuple[int, ...]:
        """The values that may fill several places of a group."""
        return tuple(frequent_values(counts, self.ell).tolist()) if self.common else ()

    def publish(self, codes: Codes, size: int, randomness: Randomness) -> DecoyTable:
        """Form groups, draw, deal."""
        counts = checked(codes, size)
        common = self.repeating(counts)
        check_eligible(
            "sensitive", counts, self.settings, lambda place: f"value number {place}", common=common
        )
        streams = randomness.stream("groups"), randomness.stream("draw")
        drawn = draw_column(counts, self.settings, streams, common)
        published = Dealer(drawn, randomness.stream("deal")).deal(codes)
        return DecoyTable(published, self._view(drawn.published(), common), self)

    def _view(self, published: Codes, common: tuple[int, ...]) -> ChannelView:
        return view_of_release(published, int(published.sum()), self.ell, self.groups, common)


@dataclass(frozen=True)
class DecoyTable:
    """Published codes, and the channel as an analyst sees it."""

    published: Codes
    view: ChannelView
    choices: DecoyGroups

    def counts(self, rows: Rows) -> Floats:
        """Estimated counts of every value among these rows."""
        counts: Floats = self.counts_of([rows])[0]
        return counts

    def counts_of(self, predicates: Sequence[Rows]) -> Floats:
        """The same for many predicates."""
        y = tallies(self.published, self.view.published.size, predicates)
        return self.estimated(y)

    def estimated(self, y: Floats) -> Floats:
        """The same from the tallies of the published values."""
        if self.choices.method == "shrunk":
            return shrunk_counts(y, [self.view])
        if self.choices.method == "bayes":
            result = bayes_counts(
                y, self.view.published, [self.view.keep], channel=self.choices.channel,
                tolerance=self.choices.tolerance, max_iterations=_MOST_STEPS,
            )  # fmt: skip
            return result.estimate
        n = y.sum(axis=1)
        plain = unbiased_counts(y, n, self.view, _LEVEL).estimate
        # A value that cannot be separated: the answer as if it were independent of P.
        return np.where(np.isnan(plain), n[:, None] * self.view.published / self.view.rows, plain)

    def totals(self) -> Floats:
        """The published histogram, which is unbiased."""
        return self.view.published

    @cached_property
    def _posterior(self) -> Floats:
        shares = self.view.published / self.view.rows
        if self.view.whole is not None:
            return posterior(self.view.whole, shares)
        keep = self.view.keep
        channel = np.tile(self.view.b, (shares.size, 1))
        np.fill_diagonal(channel, keep)
        return posterior(channel / channel.sum(axis=1, keepdims=True), shares)

    def belief(self) -> Belief:
        """Bayes with the published shares and the channel that follows from them."""
        return Belief(self._posterior, self.published)
