"""From tallies of published values to estimates of true counts.

Enters: published counts per predicate as plain arrays, and the channel. Leaves: estimates,
standard errors, intervals, verdicts. Must not know: SQL, files, engines, or anything the publisher
has not published.
"""

from countveil.estimate.answer import Estimate, Estimates, verdicts
from countveil.estimate.bayes import BayesResult, bayes_counts
from countveil.estimate.methods import METHODS, estimate_cells
from countveil.estimate.unbiased import unbiased_counts, unbiased_variance

__all__ = [
    "METHODS",
    "BayesResult",
    "Estimate",
    "Estimates",
    "bayes_counts",
    "estimate_cells",
    "unbiased_counts",
    "unbiased_variance",
    "verdicts",
]
