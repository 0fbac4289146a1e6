"""From tallies of published values to estimates of true counts.

Enters: published counts per predicate as plain arrays, and the channel. Leaves: estimates,
standard errors, intervals, verdicts. Must not know: SQL, files, engines, or anything the publisher
has not published. Theory: docs/theory/estimates.md.

    totals      what was tallied; any total as a weighted sum over rows
    unbiased    one column: the estimate and its variance       products   several columns
    sums        sums of plain numbers, survey weights           ratios     averages and shares
    estimates   intervals and verdicts                          shrunk     the default
    methods     the estimators by name                          bayes      the paper's method

To add an estimator: write one module here with a subclass of `methods.Estimator`, and add one line
to the table `methods.METHODS`.
"""

from countveil.maths.estimate.estimates import Estimate, Estimates, verdicts
from countveil.maths.estimate.methods import (
    CHANNELS,
    METHODS,
    Estimator,
    check_method,
    make_estimator,
)
from countveil.maths.estimate.shrunk import shrunk_counts
from countveil.maths.estimate.totals import ALWAYS, NEVER, Tallies, Total
from countveil.maths.estimate.unbiased import unbiased_counts

__all__ = [
    "ALWAYS",
    "CHANNELS",
    "METHODS",
    "NEVER",
    "Estimate",
    "Estimates",
    "Estimator",
    "Tallies",
    "Total",
    "check_method",
    "make_estimator",
    "shrunk_counts",
    "unbiased_counts",
    "verdicts",
]
