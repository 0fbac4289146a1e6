"""The paper's Bayes iteration as a method: the only way from questions to `maths.paper`.

Enters: tallies, a count, which channel to iterate with. Leaves: `Estimates`, and how many rounds
they took. Must not know: SQL. Theory: docs/theory/estimates.md, "Iterative Bayes".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.errors import QueryError
from countveil.maths.estimate.estimates import Estimates
from countveil.maths.estimate.methods import Estimator, Evidence
from countveil.maths.estimate.totals import Tallies, Total, single_cells
from countveil.maths.paper import Rounds, bayes_counts

_ONLY_SINGLE = (
    "Method 'bayes' answers counts of single values of sensitive columns. Use method 'shrunk' or "
    "'unbiased' for this query."
)
_ONLY_DIFFERENT = (
    "Method 'bayes' is the paper's iteration, for groups of different values. This column was "
    "published with random groups, common values or noise; use method 'shrunk' or 'unbiased'."
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
        single = single_cells(total)
        if single is None:
            raise QueryError(_ONLY_SINGLE)
        tallies = evidence.tallies
        if not all(view.different for view in tallies.views):
            raise QueryError(_ONLY_DIFFERENT)
        keeps = [view.keep for view in tallies.views]
        table = tallies.joint if len(keeps) > 1 else tallies.views[0].published
        if table is None:
            raise QueryError(
                "Method 'bayes' with several sensitive columns needs the published counts of the "
                "whole table by all of them."
            )
        numbers = np.arange(table.size).reshape(1, *table.shape)
        number_of = tallies.by_cell(np.repeat(numbers, tallies.n_groups, axis=0))[0].ravel()

        def estimates(condition: int, answers: NDArray[np.int64]) -> Estimates:
            published = tallies.meeting(condition, 0)
            only = number_of[single.place[answers]]
            result = bayes_counts(published, table, keeps, only=only, channel=self._channel)
            self._rounds.append(result.rounds)
            unknown = np.full_like(result.estimate, np.nan)
            return Estimates(result.estimate, unknown, unknown, unknown)

        iterated = single.fill(tallies, estimates)
        if self._channel == "printed":
            # The printed channel is wrong by an unknown amount: no error would be honest.
            return iterated
        unbiased = self.single_counts(evidence, total, single)
        estimate = np.where(np.isnan(unbiased.estimate), np.nan, iterated.estimate)
        return Estimates(estimate, unbiased.std_error, unbiased.low, unbiased.high)

    def warnings(self) -> list[str]:
        """How many rounds the iterations took, and whether all converged."""
        return Rounds.together(self._rounds).sentences()
