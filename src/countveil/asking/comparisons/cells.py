"""Estimated counts of the groups of one question, with the covariance of all of them.

Enters: what was tallied for a question that counts rows by group. Leaves: unbiased counts, their
keys, their covariance. Must not know: SQL text, tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.asking.answer import Channels, existing_cells, keys_of
from countveil.errors import QueryError
from countveil.maths.estimate import Tallies, Total
from countveil.maths.estimate.covariances.one_column import cell_covariance, shares_a_draw
from countveil.sql.query import Question, TallyPlan, TallyResult

Floats = NDArray[np.float64]

MOST_CELLS = 3_000


@dataclass(frozen=True)
class CellCounts:
    """The counts of all groups that exist."""

    keys: Sequence[tuple[Any, ...]]
    estimate: Floats
    covariance: Floats

    def table(self) -> tuple[Floats, Floats]:
        """By the values of two keys; the covariance is that of its cells, row by row."""
        lines = list(zip(*self.keys, strict=True))
        places = [{value: n for n, value in enumerate(dict.fromkeys(line))} for line in lines]
        shape = tuple(len(place) for place in places)
        flat = np.array([
            np.ravel_multi_index([place[v] for place, v in zip(places, key, strict=True)], shape)
            for key in self.keys
        ])  # fmt: skip
        size = int(np.prod(shape))
        counts, covariance = np.zeros(size), np.zeros((size, size))
        counts[flat] = self.estimate
        covariance[np.ix_(flat, flat)] = self.covariance
        return counts.reshape(shape), covariance


def cell_counts(
    question: Question, plan: TallyPlan, tallied: TallyResult, channels: Channels
) -> CellCounts:
    """The counts of a question with one measure, count(*)."""
    if not tallied.keys:
        raise QueryError("No row meets the condition, so there is nothing to test.")
    counted = tallied.truths, tallied.moments, tallied.ranges
    tallies = channels.tallies(*counted, plan.grouped)
    exists = existing_cells(question, plan, tallies)
    if int(exists.sum()) > MOST_CELLS:
        raise QueryError(
            f"The table has {int(exists.sum()):,} cells; at most {MOST_CELLS:,} are tested."
        )
    entry = plan.aggregates[question.measures[0].numerator]
    total = tallies.total(entry.condition_of, entry.argument, entry.value_of)
    used = exists.ravel()
    keys = keys_of(question, plan, tallied.keys, tallies, exists)
    covariance = _covariance(tallies, total)[np.ix_(used, used)]
    return CellCounts(list(zip(*keys, strict=True)), total.estimate.ravel()[used], covariance)


def _covariance(tallies: Tallies, total: Total) -> Floats:
    if not tallies.views:
        return np.zeros((total.estimate.size, total.estimate.size))
    if shares_a_draw(tallies):
        return cell_covariance(total)
    plain = not tallies.in_batches and tallies.blocks is None and tallies.n_groups == 1
    if plain and not tallies.rest_axes and tallies.truths.shape[0] == 1:
        # Several columns: rows by themselves, with the product of their weights.
        weights: Floats = np.ones((1, 1))
        for matrix in tallies.weights:
            weights = np.asarray(np.kron(weights, matrix), np.float64)
        rows = tallies.moments[0].ravel()
        covariance: Floats = (weights * rows) @ weights.T - np.diag(total.estimate.ravel())
        return covariance
    raise QueryError(
        "This test needs the covariance of all cells, which is computed for one sensitive column "
        "beside plain ones, or for two sensitive columns that were published apart, in a release "
        "of a single draw. release.compare(...) compares groups of every release."
    )
