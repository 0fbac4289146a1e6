"""From tallies of published values to estimates of true counts.

Enters: published counts per predicate as plain arrays, and the channel. Leaves: estimates,
standard errors, intervals, verdicts. Must not know: SQL, files, engines, or anything the publisher
has not published.
"""

from countveil.maths.estimate.totals import Tallies, Total
from countveil.maths.estimate.estimates import Estimate, Estimates, IteratedEstimates, Rounds, verdicts
from countveil.maths.paper.bayes import BayesResult, bayes_counts
from countveil.maths.estimate.methods import estimate_ratio, estimate_total
from countveil.maths.estimate.methods import METHODS, check_method
from countveil.maths.estimate.shrunk import shrunk_counts
from countveil.maths.estimate.unbiased import unbiased_counts, unbiased_variance

__all__ = [
    "METHODS",
    "BayesResult",
    "Estimate",
    "Estimates",
    "IteratedEstimates",
    "Rounds",
    "Tallies",
    "Total",
    "bayes_counts",
    "check_method",
    "estimate_ratio",
    "estimate_total",
    "shrunk_counts",
    "unbiased_counts",
    "unbiased_variance",
    "verdicts",
]
