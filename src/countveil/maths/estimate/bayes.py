"""The paper's Bayes iteration as a method: the only way from questions to `maths.paper`.

Enters: tallies, a count, which channel to iterate with. Leaves: `Estimates`, and how many rounds
they took. Must not know: SQL. Theory: docs/theory/estimates.md, "Iterative Bayes".

Groups of different values are iterated as in the paper, whose b depends on the current counts. For
random groups, common values, noise and columns together, a and b of every value (or set of
combinations) are known from the release, and the iteration is the EM algorithm under that channel.
Of one column, the point at which it comes to rest is solved for; several columns are iterated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from countveil.errors import QueryError
from countveil.maths.estimate.estimates import Estimates
from countveil.maths.estimate.joined import CountedSets
from countveil.maths.estimate.methods import (
    Estimator,
    Evidence,
    SingleCells,
    set_counts,
    single_cells,
)
from countveil.maths.estimate.totals import Tallies, Total
from countveil.maths.paper import (
    BayesResult,
    Rounds,
    bayes_counts,
    counts_of_known_channel,
    resting_counts,
    resting_counts_of_known_channel,
)

Numbers = NDArray[np.int64]

_ONLY_SINGLE = (
    "Method 'bayes' answers counts of single values of sensitive columns. Use method 'shrunk' or "
    "'unbiased' for this query."
)
_ONLY_DIFFERENT = (
    "Channel 'printed' is the paper's, for groups of different values. This column was published "
    "with random groups, common values or noise, or together with others; use channel 'exact'."
)


class BayesEstimator(Estimator):
    """Once converged, with one column, it is the unbiased answer wherever that is possible."""

    needs_joint_counts = True

    def __init__(self, level: float, channel: str) -> None:
        super().__init__(level)
        self._channel = channel
        self._rounds: list[Rounds] = []

    def total(self, tallies: Tallies, total: Total, *, is_count: bool) -> Estimates:
        """The estimates of one aggregate."""
        if tallies.views and not is_count:
            raise QueryError(_ONLY_SINGLE)
        return super().total(tallies, total, is_count=is_count)

    def counts(self, evidence: Evidence, total: Total) -> Estimates:
        """The estimates of a count with a condition on sensitive columns."""
        parts = parts_of(evidence.tallies)
        if self._channel == "printed" and not all(_as_printed(tallies) for tallies in parts):
            raise QueryError(_ONLY_DIFFERENT)
        sets = self.counted_sets(evidence, total)
        if sets is not None:
            return sets.filled(self._set_counts)
        single = single_cells(total)
        if single is None:
            raise QueryError(_ONLY_SINGLE)
        iterated = [self._iterated(tallies, single) for tallies in parts]
        if self._channel == "printed":
            # The printed channel is wrong by an unknown amount: no error would be honest.
            return sum_of(iterated)
        estimate = sum_of(iterated).estimate
        return _with_errors(estimate, self.single_counts(evidence, total, single))

    def _iterated(self, tallies: Tallies, single: SingleCells) -> Estimates:
        """The counts of one draw."""
        by_paper = _as_printed(tallies)
        iterate = self._by_paper(tallies) if by_paper else self._known_channel(tallies)
        return self._single(tallies, single, iterate)

    def _single(
        self,
        tallies: Tallies,
        single: SingleCells,
        iterate: Callable[[int, Numbers], BayesResult],
    ) -> Estimates:
        """Iterate the cells that are counted, by their numbers in the flat grid of all axes."""
        shape = tallies.moments.shape[3:]
        numbers = np.arange(int(np.prod(shape))).reshape(1, *shape)
        number_of = tallies.by_cell(np.repeat(numbers, tallies.n_groups, axis=0))[0].ravel()

        def estimates(condition: int, answers: Numbers) -> Estimates:
            result = iterate(condition, number_of[single.place[answers]])
            self._rounds.append(result.rounds)
            unknown = np.full_like(result.estimate, np.nan)
            return Estimates(result.estimate, unknown, unknown, unknown)

        return single.fill(tallies, estimates)

    def _by_paper(self, tallies: Tallies) -> Callable[[int, Numbers], BayesResult]:
        keeps = [view.keep for view in tallies.views]
        table = tallies.joint if len(keeps) > 1 else tallies.views[0].published
        if table is None:
            raise QueryError(
                "Method 'bayes' with several sensitive columns needs the published counts of the "
                "whole table by all of them."
            )

        def iterate(condition: int, only: Numbers) -> BayesResult:
            published = tallies.meeting(condition, 0)
            if len(keeps) == 1:
                return resting_counts(published, table, keeps[0], only, self._channel)
            return bayes_counts(published, table, keeps, only=only, channel=self._channel)

        return iterate

    def _known_channel(self, tallies: Tallies) -> Callable[[int, Numbers], BayesResult]:
        blocks = tallies.blocks
        views = tallies.views if blocks is None else blocks.views
        chances = [(view.a, view.b) for view in views]

        def iterate(condition: int, only: Numbers) -> BayesResult:
            published = tallies.meeting(condition, 0)
            if blocks is not None:
                cells = np.arange(int(np.prod(blocks.shape))).reshape(1, *blocks.shape)
                # Where each cell of the columns is once columns together have one axis.
                place = np.argsort(blocks.flat(cells).ravel())
                published, only = blocks.flat(published), place[only]
            if len(chances) == 1:
                return resting_counts_of_known_channel(published, chances[0], only)
            return counts_of_known_channel(published, chances, only)

        return iterate

    def _set_counts(self, sets: CountedSets) -> Estimates:
        """Sets of combinations of columns together, each one value of a coarser column."""
        estimate = np.zeros(sets.batches[0][0].shape)
        for published, view in sets.batches:
            only = np.arange(published.shape[1])
            result = resting_counts_of_known_channel(published, (view.a, view.b), only)
            self._rounds.append(result.rounds)
            estimate += result.estimate
        return _with_errors(estimate, set_counts(sets, self._level))

    def warnings(self) -> list[str]:
        """How many rounds the iterations took, and whether all converged."""
        return Rounds.together(self._rounds).sentences()


def parts_of(tallies: Tallies) -> Sequence[Tallies]:
    """The draws, each with channels of its own; often there is just one."""
    if not tallies.in_batches:
        return [tallies]
    from countveil.maths.estimate.pooled import PooledTallies

    assert isinstance(tallies, PooledTallies)  # noqa: S101 - the only ones in batches
    with_rows = [each for each in tallies.each if each.moments[0].any()]
    return with_rows or tallies.each[:1]


def sum_of(estimates: Sequence[Estimates]) -> Estimates:
    """Of several draws."""
    arrays = zip(*(each.arrays() for each in estimates), strict=True)
    return Estimates(*(np.sum(array, axis=0) for array in arrays))


def _as_printed(tallies: Tallies) -> bool:
    """Whether groups hold different values, as in the paper."""
    return not tallies.joined and all(view.different for view in tallies.views)


def _with_errors(iterated: NDArray[np.float64], unbiased: Estimates) -> Estimates:
    """Iterated estimates with the errors of the unbiased ones, where there are any."""
    estimate = np.where(np.isnan(unbiased.estimate), np.nan, iterated)
    return Estimates(estimate, unbiased.std_error, unbiased.low, unbiased.high)
