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
from countveil.maths.adversary import published_chances
from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.channel.common import frequent_values
from countveil.maths.channel.skewed_views import joint_view
from countveil.maths.estimate import check_method, shrunk_counts, unbiased_counts
from countveil.maths.groups import ColumnSettings, check_eligible
from countveil.maths.guarantees.odds import gamma_for
from countveil.maths.mechanism import Dealer
from countveil.maths.mechanism.draw import draw_column
from countveil.maths.mechanism.noise import draw_noise
from countveil.maths.paper import bayes_counts
from countveil.maths.paper.iteration import PAPER_TOLERANCE
from countveil.randomness import Randomness, TaskKey

_LEVEL = 0.95
_TOLERANCE, _MOST_STEPS = 1e-4, 3_000
_MANY_ROWS = 100_000_000


@dataclass(frozen=True)
class DecoyGroups:
    """Mechanism A' at `ell`; `tolerance` is where the iteration of `bayes` stops.

    `channel` is that of the estimates, exact or printed. With `common`, frequent values may
    repeat in a group. With `odds`, noise comes first, so that no row changes the odds of a value
    by more. `shape`: a code stands for a combination of values of several columns together, which
    have so many values each.
    """

    ell: int
    groups: str = "mixed"
    channel: str = "exact"
    method: str = "shrunk"
    tolerance: float = _TOLERANCE
    common: bool = False
    odds: float | None = None
    shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        settings = self.settings
        check_method(self.method, self.channel, _LEVEL)
        if self.method == "bayes" and (settings.repeats or self.odds is not None):
            raise SettingsError(
                "The estimate 'bayes' is for groups of different values; with random groups, "
                "common values or noise take 'shrunk' or 'unbiased'."
            )
        if self.shape and (self.groups != "random" or self.odds is not None):
            raise SettingsError("Columns together have random groups, and no noise before them.")

    @property
    def settings(self) -> ColumnSettings:
        """As a publisher chooses them."""
        return ColumnSettings(self.ell, self.groups, common_auto=self.common, odds=self.odds)

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
        bound = "" if self.odds is None else f", odds at most {self.odds:g}"
        return f"{'together' if self.shape else whose}{bound}, {self.method}"

    @property
    def most_queries(self) -> None:
        """Any number."""

    def chances(self, counts: Codes) -> Floats:
        """That of the design, for these counts."""
        noised = counts
        if self.odds is not None:
            # Of so many rows that rounding to whole ones does not matter.
            gamma, rows = self.gamma(counts.size), max(_MANY_ROWS, int(counts.sum()))
            expected = (1 - gamma) * counts / counts.sum() + gamma / counts.size
            noised = np.rint(rows * expected).astype(np.int64)
        return published_chances(self._view(noised, self.repeating(noised)), noised)

    def gamma(self, size: int) -> float:
        """How likely noise replaces a value, of so many."""
        if self.odds is None:
            return 0.0
        return gamma_for(self.odds, size, self.ell, different=not self.settings.repeats)

    def repeating(self, counts: Codes) -> tuple[int, ...]:
        """The values that may fill several places of a group."""
        return tuple(frequent_values(counts, self.ell).tolist()) if self.common else ()

    def publish(self, codes: Codes, size: int, randomness: Randomness | TaskKey) -> DecoyTable:
        """Put noise where odds are bounded; then form groups, draw, deal."""
        counts = checked(codes, size)
        if self.odds is not None:
            noise = draw_noise(counts, self.gamma(size), randomness.stream("noise"))
            codes = Dealer(noise, randomness.stream("deal noise")).deal(codes)
            counts = noise.published()
        common = self.repeating(counts)
        check_eligible(
            "sensitive", counts, self.settings, lambda place: f"value number {place}", common=common
        )
        streams = randomness.stream("groups"), randomness.stream("draw")
        drawn = draw_column(counts, self.settings, streams, common)
        published = Dealer(drawn, randomness.stream("deal")).deal(codes)
        return DecoyTable(published, self._view(drawn.published(), common), self)

    def _view(self, published: Codes, common: tuple[int, ...]) -> ChannelView:
        rows = int(published.sum())
        if self.shape:
            return joint_view(published.reshape(self.shape).astype(np.float64), rows, self.ell)
        noise = None if self.odds is None else (self.gamma(published.size), published.size)
        return view_of_release(published, rows, self.ell, self.groups, common, noise)


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
        """The published histogram, which is unbiased; after noise, what it was before."""
        return self.view.of_whole_table(self.view.published)

    @cached_property
    def _posterior(self) -> Floats:
        channel = published_chances(self.view, self.view.published.astype(np.int64))
        return posterior(channel, self.view.shares)

    def belief(self) -> Belief:
        """Bayes with the published shares and the channel that follows from them."""
        return Belief(self._posterior, self.published)
