"""What belongs to the paper alone: its printed formulas, its Bayes iteration, its curves.

Enters: plain arrays. Leaves: the paper's numbers. Must not know: SQL, releases, other estimators.
Everything here is kept for comparison and reproduction; docs/theory says where the paper is wrong
and what countveil computes instead. Only `maths/estimate/bayes.py` uses it to answer questions
(method "bayes", channel "exact" or "printed").
"""

from countveil.maths.paper.iteration import (
    PAPER_TOLERANCE,
    BayesResult,
    Rounds,
    bayes_counts,
    counts_of_known_channel,
)
from countveil.maths.paper.limit import resting_counts, resting_counts_of_known_channel
from countveil.maths.paper.printed import b_printed

__all__ = [
    "PAPER_TOLERANCE",
    "BayesResult",
    "Rounds",
    "b_printed",
    "bayes_counts",
    "counts_of_known_channel",
    "resting_counts",
    "resting_counts_of_known_channel",
]
