"""The estimators by name, and how they answer totals and ratios.

Enters: tallies, totals, a level, names as a user wrote them. Leaves: `Estimates`, by plain group
and cell. Must not know: SQL, files. Theory: docs/theory/estimates.md.

A count of one value, or of one combination of values of several columns, has the variance and the
interval of `unbiased` and `products`; the count of a set of values of one column those of
`covariances`; the sum of a plain number over rows with one value those of `sums`; every other total
has the variance of its row weights and a symmetric interval. The shrunk estimate
of a total has the error and the interval of the unbiased one: it is closer to the truth on average,
but by how much is unknown for a single cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from countveil.errors import SettingsError
from countveil.maths.estimate.covariances.apart import variance_apart
from countveil.maths.estimate.covariances.one_column import set_likelihood, shares_a_draw
from countveil.maths.estimate.covariances.whole_table import with_published_counts
from countveil.maths.estimate.estimates import Estimates, Likelihood, symmetric
from countveil.maths.estimate.ratios import PairVariance, Told, ratio_estimates
from countveil.maths.estimate.shrunk import likelihood_and_centre, shrunk_from
from countveil.maths.estimate.sums import PublishedSums, shrunk_sums, sum_likelihood
from countveil.maths.estimate.totals import NEVER, Tallies, Total

if TYPE_CHECKING:
    from countveil.maths.estimate.joined import AllSets, CountedSets

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

CHANNELS = ("exact", "printed")


@dataclass(frozen=True)
class SingleCells:
    """Counts of one combination of true values each.

    `occupation = 'nurse'` and GROUP BY occupation are such counts, and so is `occupation <>
    'nurse'`: the rows less the nurses (`complement`). `place[c]`: the values of answer c, in the
    flat grid of all cells; `condition[c]`: which rows it counts.
    """

    place: Numbers
    condition: Numbers
    complement: bool

    def fill(
        self,
        tallies: Tallies,
        estimates: Callable[[int, Numbers], Estimates],
        moment: int = 0,
    ) -> Estimates:
        """Estimate the answers (by number) of each condition at once and put them in order."""
        arrays = [np.zeros((tallies.n_groups, self.place.size)) for _ in range(4)]
        for condition in set(self.condition.tolist()) - {NEVER}:
            here = np.flatnonzero(self.condition == condition)
            for array, numbers in zip(arrays, estimates(condition, here).arrays(), strict=True):
                array[:, here] = numbers
            if self.complement:
                met = tallies.meeting(condition, moment).reshape(tallies.n_groups, -1)
                rows, (estimate, error, low, high) = met.sum(axis=1)[:, None], arrays
                arrays = [rows - estimate, error, rows - high, rows - low]
        return Estimates(*arrays)


def single_cells(total: Total) -> SingleCells | None:
    """The single combinations that a total is about; None if a cell of the answer sums several."""
    if total.values is not None:
        return None
    conditions = total.condition_of
    n_cells, n_others = conditions.shape
    counted = conditions != NEVER
    rows = np.arange(n_cells)
    if (counted.sum(axis=1) <= 1).all():
        first = counted.argmax(axis=1)
        return SingleCells(rows * n_others + first, conditions[rows, first], complement=False)
    kinds = set(conditions[counted].tolist())
    if n_cells == 1 and np.count_nonzero(~counted) == 1 and len(kinds) == 1:
        left_out = np.flatnonzero(~counted[0])
        return SingleCells(left_out, np.array([kinds.pop()]), complement=True)
    return None


class Evidence:
    """The likelihood of all cells under each condition, computed once."""

    def __init__(self, tallies: Tallies) -> None:
        self.tallies = tallies
        self._blocks = tallies.blocks
        self._views = tallies.views if self._blocks is None else self._blocks.views
        self._known: dict[int, tuple[Likelihood, Floats]] = {}
        self._shrunk_counts: dict[int, Floats] = {}

    def likelihood(self, condition: int) -> Likelihood:
        """The unbiased estimates and their variances."""
        return self._by_column(self._of(condition)[0])

    def shrunk(self, condition: int) -> Floats:
        """The shrunk estimates."""
        return self._back(self._shrunk(condition))

    def sum_likelihood(self, condition: int, argument: int) -> tuple[Likelihood, Floats]:
        """The likelihood of the sums of an argument in effective rows, and their unit."""
        published = self.sums(condition, argument)
        likelihood, unit = sum_likelihood(published, self._views, self._shrunk(condition))
        return self._by_column(likelihood), unit

    def shrunk_sums(self, condition: int, argument: int) -> Floats:
        """The shrunk sums of an argument."""
        published, likelihood = self.sums(condition, argument), self._of(condition)[0]
        return self._back(shrunk_sums(published, self._views, self._shrunk(condition), likelihood))

    def sums(self, condition: int, argument: int) -> PublishedSums:
        """What the rows that meet a condition publish."""
        moments = (0, 1 + 2 * argument, 2 + 2 * argument)
        return PublishedSums(*(self._published(condition, moment) for moment in moments))

    def _shrunk(self, condition: int) -> Floats:
        if condition not in self._shrunk_counts:
            published = self._published(condition, 0)
            shrunk = shrunk_from(*self._of(condition), published, self._views)
            self._shrunk_counts[condition] = shrunk
        return self._shrunk_counts[condition]

    def _of(self, condition: int) -> tuple[Likelihood, Floats]:
        if condition not in self._known:
            published = self._published(condition, 0)
            self._known[condition] = likelihood_and_centre(published, self._views)
        return self._known[condition]

    def _published(self, condition: int, moment: int) -> Floats:
        """By predicate, with one axis for each channel."""
        published = self.tallies.meeting(condition, moment)
        return published if self._blocks is None else self._blocks.flat(published)

    def _back(self, array: Floats) -> Floats:
        return array if self._blocks is None else self._blocks.back(array)

    def _by_column(self, likelihood: Likelihood) -> Likelihood:
        return Likelihood(*map(self._back, likelihood.arrays()))


def evidence_of(tallies: Tallies) -> Evidence:
    """What tallies say of true values."""
    if not tallies.in_batches:
        return Evidence(tallies)
    # Loaded only where values were drawn at different times.
    from countveil.maths.estimate.pooled import PooledEvidence

    return PooledEvidence(tallies)


class Estimator:
    """The unbiased estimates of the totals of one question, and the base of all other methods.

    A new method overrides `counts`, and where it needs more of the release or has something to say
    about its estimates, the other two.
    """

    # Whether a question about several sensitive columns needs `Tallies.joint`.
    needs_joint_counts: ClassVar[bool] = False
    # Whether estimates are kept within what is possible; unbiased ones may be negative.
    shrinks: ClassVar[bool] = False

    def __init__(self, level: float) -> None:
        self._level = level
        self._evidence: tuple[Tallies, Evidence] | None = None

    @property
    def level(self) -> float:
        """The level of intervals."""
        return self._level

    def total(self, tallies: Tallies, total: Total, *, is_count: bool) -> Estimates:
        """The estimates of one aggregate: a count, or the sum of an argument."""
        if tallies.views:
            evidence = self.evidence(tallies)
            return self.counts(evidence, total) if is_count else self.sums(evidence, total)
        return self._by_row_weights(total, is_count=is_count)

    def evidence(self, tallies: Tallies) -> Evidence:
        """What tallies say, computed once for the totals of a question that share them."""
        if self._evidence is None or self._evidence[0] is not tallies:
            self._evidence = tallies, evidence_of(tallies)
        return self._evidence[1]

    def counts(self, evidence: Evidence, total: Total) -> Estimates:
        """The estimates of a count with a condition on sensitive columns."""
        sets = self.counted_sets(evidence, total)
        if sets is not None:
            return sets.filled(partial(set_counts, level=self._level))
        single = single_cells(total)
        if single is not None:
            return self.single_counts(evidence, total, single)
        if shares_a_draw(evidence.tallies) and total.values is None:
            estimates = set_likelihood(total).estimates(self._level)
        else:
            estimates = self._by_row_weights(total, is_count=True)
        return with_published_counts(total, estimates, self._level)

    def counted_sets(self, evidence: Evidence, total: Total) -> AllSets | None:
        """The sets of combinations that are counted, if columns were published together."""
        if evidence.tallies.blocks is None:
            return None
        if evidence.tallies.in_batches:
            from countveil.maths.estimate.pooled import pooled_sets

            return pooled_sets(total)
        from countveil.maths.estimate.joined import AllSets

        return AllSets.of(total, evidence.tallies)

    def sums(self, evidence: Evidence, total: Total) -> Estimates:
        """The estimates of a sum of an argument with a condition on sensitive columns."""
        by_row_weights = self._by_row_weights(total, is_count=False)
        single = self.single_sums(evidence, total)
        if single is None:
            return by_row_weights
        # The error that any database computes: see `asking.portable`.
        return replace(single, std_error=by_row_weights.std_error)

    def single_sums(self, evidence: Evidence, total: Total) -> Estimates | None:
        """Sums over one combination of true values each; None if it is something else."""
        single, tallies, argument = single_cells(total), evidence.tallies, total.argument
        if single is None or argument is None or tallies.lowest[argument] < 0:
            return None

        def estimates(condition: int, answers: NDArray[np.int64]) -> Estimates:
            likelihood, unit = evidence.sum_likelihood(condition, argument)
            flat = [
                tallies.by_cell(array).reshape(tallies.n_groups, -1)
                for array in likelihood.arrays()
            ]
            chosen = Likelihood(*flat).at(single.place[answers])
            if len(tallies.views) > 1:
                chosen = chosen.widened(total.misfit[:, answers] / unit)
            effective = chosen.estimates(self._level)
            return Estimates(*(array * unit for array in effective.arrays()))

        return single.fill(tallies, estimates, total.moment)

    def ratio(
        self,
        top: tuple[Total, Estimates],
        bottom: tuple[Total, Estimates],
        moment: int,
        possible: tuple[Floats | float, Floats | float] = (-np.inf, np.inf),
    ) -> Told:
        """A ratio of two totals; `moment` sums the product of both arguments.

        It is known to lie between the numbers of `possible`.
        """
        (numerator, above), (denominator, below) = top, bottom
        one, both, two = numerator.pair(denominator, moment)
        noise = PairVariance(one + numerator.misfit**2, both, two + denominator.misfit**2)
        supposed = None
        if noise.bottom.any():
            # Loaded only where both totals are uncertain.
            from countveil.maths.estimate.averages import average_variance

            shrunk = self.evidence(numerator.tallies).shrunk
            supposed = average_variance(numerator, denominator, moment, shrunk)
        unbiased = numerator.estimate, denominator.estimate
        summed = denominator.argument
        positive = summed is None or bool(numerator.tallies.lowest[summed] >= 0)
        return ratio_estimates(
            unbiased, (above, below), noise, self._level, possible,
            supposed=supposed, positive=positive, inside=self.shrinks,
        )  # fmt: skip

    def warnings(self) -> list[str]:
        """Sentences for the analyst about all estimates so far."""
        return []

    def single_counts(self, evidence: Evidence, total: Total, single: SingleCells) -> Estimates:
        """Unbiased counts of one combination of true values each."""
        tallies = evidence.tallies

        def estimates(condition: int, answers: NDArray[np.int64]) -> Estimates:
            arrays = evidence.likelihood(condition).arrays()
            flat = (tallies.by_cell(array).reshape(tallies.n_groups, -1) for array in arrays)
            likelihood = Likelihood(*flat).at(single.place[answers])
            if len(tallies.views) > 1:
                likelihood = likelihood.widened(total.misfit[:, answers])
            return likelihood.estimates(self._level)

        return single.fill(tallies, estimates)

    def _by_row_weights(self, total: Total, *, is_count: bool) -> Estimates:
        """Any total: the variance of its row weights."""
        shared = variance_apart(total) if is_count else None
        variance = total.variance if shared is None else shared
        error = np.sqrt(variance + total.misfit**2)
        if not is_count:
            return symmetric(total.estimate, error, self._level, total.estimate)
        # Centred on what is possible: beyond it the interval would be a single point.
        centre = np.clip(total.estimate, 0, total.rows)
        estimates = symmetric(total.estimate, error, self._level, centre)
        low, high = (np.clip(end, 0, total.rows) for end in (estimates.low, estimates.high))
        return Estimates(estimates.estimate, estimates.std_error, low, high)


class ShrunkEstimator(Estimator):
    """Sums of shrunk cells, with the errors of the unbiased ones."""

    shrinks = True

    def counts(self, evidence: Evidence, total: Total) -> Estimates:
        """The estimates of a count with a condition on sensitive columns."""
        unbiased = super().counts(evidence, total)
        sets = None if single_cells(total) else self.counted_sets(evidence, total)
        if sets is not None:
            return _inside(unbiased, sets.filled(_shrunk_sets).estimate)
        return _inside(unbiased, _summed(evidence.tallies, total, evidence.shrunk))

    def sums(self, evidence: Evidence, total: Total) -> Estimates:
        """The estimates of a sum of an argument with a condition on sensitive columns."""
        unbiased, argument = self.single_sums(evidence, total), total.argument
        if unbiased is None:
            unbiased = super().sums(evidence, total)
        shrunk = evidence.shrunk
        if argument is not None:
            shrunk = partial(evidence.shrunk_sums, argument=argument)
        return _inside(unbiased, _summed(evidence.tallies, total, shrunk))


def set_counts(sets: CountedSets, level: float) -> Estimates:
    """The unbiased counts of sets of combinations."""
    return sets.likelihood().estimates(level)


def _shrunk_sets(sets: CountedSets) -> Estimates:
    return Estimates(*[sets.shrunk()] * 4)


def _summed(tallies: Tallies, total: Total, cells_of: Callable[[int], Floats]) -> Floats:
    """Estimates of all cells of true values, summed over those that each answer counts."""
    conditions = total.condition_of
    estimate = np.zeros((tallies.n_groups, conditions.shape[0]))
    for condition in set(conditions.ravel().tolist()) - {NEVER}:
        counted = (conditions == condition).astype(np.float64)
        if total.values is not None:
            counted = counted * total.values
        estimate += np.einsum("gcr,cr->gc", tallies.by_cell(cells_of(condition)), counted)
    return estimate


def _inside(unbiased: Estimates, estimate: Floats) -> Estimates:
    """Another estimate, as far as the interval allows; without one where there is no interval."""
    inside = np.clip(estimate, unbiased.low, unbiased.high)
    return Estimates(inside, unbiased.std_error, unbiased.low, unbiased.high)


def _bayes(level: float, channel: str) -> Estimator:
    # Imported here: it builds on the class above, and no other method needs the paper's iteration.
    from countveil.maths.estimate.bayes import BayesEstimator

    return BayesEstimator(level, channel)


# name -> the estimator for one question, from the level and the channel.
METHODS: dict[str, Callable[[float, str], Estimator]] = {
    "shrunk": lambda level, _channel: ShrunkEstimator(level),
    "unbiased": lambda level, _channel: Estimator(level),
    "bayes": _bayes,
}


def check_method(method: str, channel: str, level: float) -> None:
    """Refuse what does not exist or does not go together."""
    if method not in METHODS:
        raise SettingsError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    if channel not in CHANNELS:
        raise SettingsError(f"channel must be one of {', '.join(CHANNELS)}, got {channel!r}.")
    if method != "bayes" and channel != "exact":
        raise SettingsError(
            "channel 'printed' needs method 'bayes': it reproduces the paper's iteration. "
            "With it no other estimate would be right."
        )
    if not 0 < level < 1:
        raise SettingsError(f"level must lie between 0 and 1, such as 0.95; got {level}.")


def make_estimator(method: str, channel: str, level: float) -> Estimator:
    """A fresh estimator for one question."""
    check_method(method, channel, level)
    return METHODS[method](level, channel)
