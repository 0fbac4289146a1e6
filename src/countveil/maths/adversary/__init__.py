"""What somebody believes about a person: without a release, and with it.

Enters: codes of plain and sensitive columns, the channel. Leaves: beliefs. Must not know: files,
names of values, what is done with the beliefs. The truth enters, so the publisher alone uses it.

    classifier    the value guessed from other columns, each on its own (logistic regression)
    cells         the same from the shares in ever finer cells of several columns together
    exposure      both together as the prior, updated by a release: the belief in the true value
    bayes         any prior, updated by one release or several in which the row is known
"""

from countveil.maths.adversary.bayes import beliefs_after, guess_after, log_evidence
from countveil.maths.adversary.classifier import KnownColumn, cross_fitted
from countveil.maths.adversary.exposure import Exposure, Linked, measure_exposure, published_chances

__all__ = [
    "Exposure",
    "KnownColumn",
    "Linked",
    "beliefs_after",
    "cross_fitted",
    "guess_after",
    "log_evidence",
    "measure_exposure",
    "published_chances",
]
