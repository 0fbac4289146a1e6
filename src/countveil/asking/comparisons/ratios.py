"""Averages and shares, with what is known of them before anything is estimated.

Enters: the totals of one question, a ratio of two of them. Leaves: `Estimates` by plain group and
cell, and which have a denominator that is told from 0. Must not know: SQL text, how totals are
estimated. Theory: docs/theory/estimates.md, "Averages and shares".

Plain columns are published as they are. Whichever rows of a predicate have a sensitive value, the
average of a plain number over them lies between the smallest and the largest number of the
predicate; neither the estimate nor an end of its interval lies outside.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from countveil.asking.comparisons.arithmetic import Measured
from countveil.maths.estimate import NEVER, Estimator, Total
from countveil.maths.estimate.ratios import Bounds, Told
from countveil.sql.query import TallyPlan
from countveil.sql.query.plan import AggregatePlan, is_share
from countveil.sql.query.question import Measure

Floats = NDArray[np.float64]


def ratio(measured: Measured, measure: Measure, plan: TallyPlan, estimator: Estimator) -> Told:
    """A measure with a denominator."""
    assert measure.denominator is not None  # noqa: S101 - only those are passed on
    axes = measured.axes(measure.numerator, measure.denominator)
    top = measured.total(measure.numerator, axes)
    bottom = measured.total(measure.denominator, axes)
    possible = _possible(measure, plan, top[0])
    moment = measured.moment(top[0], bottom[0])
    estimates, told = estimator.ratio(top, bottom, moment, possible)
    if estimator.shrinks or not is_share(measure):
        # An unbiased share may be negative, as an unbiased count may.
        with np.errstate(invalid="ignore"):
            estimates = replace(estimates, estimate=np.clip(estimates.estimate, *possible))
    return estimates, told


def _possible(measure: Measure, plan: TallyPlan, total: Total) -> Bounds:
    """Between which numbers a ratio must lie: a share, or an average of known numbers."""
    assert measure.denominator is not None  # noqa: S101 - only those are passed on
    top, bottom = plan.aggregates[measure.numerator], plan.aggregates[measure.denominator]
    lowest = total.tallies.lowest
    if bottom.argument is not None and lowest[bottom.argument] < 0:
        return -np.inf, np.inf
    if is_share(measure):
        return 0.0, 1.0
    same = measure.numerator.condition == measure.denominator.condition
    averaged = plan.averaged(measure) if same and top.value_of is None else None
    if averaged is not None:
        # An average over no row has no bounds.
        low, high = total.range_of(averaged)
        return np.where(low <= high, low, -np.inf), np.where(low <= high, high, np.inf)
    if top.argument is not None and lowest[top.argument] < 0:
        return -np.inf, np.inf
    return (0.0, np.inf) if top.value_of is None else _of_classes(top, bottom, same=same)


def _of_classes(top: AggregatePlan, bottom: AggregatePlan, *, same: bool) -> Bounds:
    """Of numbers that classes stand for."""
    assert top.value_of is not None  # noqa: S101 - only those are passed on
    numbers = top.value_of[top.condition_of != NEVER]
    if top.argument != bottom.argument or not same:
        return (0.0 if numbers.min(initial=0.0) >= 0 else -np.inf), np.inf
    return float(numbers.min(initial=np.inf)), float(numbers.max(initial=-np.inf))
