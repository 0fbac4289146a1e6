"""Other ways to publish, behind the same interface as ours.

Enters: the true values of rows as codes, randomness. Leaves: published tables that answer counts
and say what a linked row reveals. Must not know: columns, values, files, engines.

    method.publish(codes, size, Randomness()) -> published
    published.counts(rows)   published.totals()   published.belief()
"""

from countveil.comparing.baselines.anatomy import Anatomy, diversity, is_diverse
from countveil.comparing.baselines.global_randomisation import GlobalRandomisation
from countveil.comparing.baselines.laplace import Laplace
from countveil.comparing.baselines.method import Belief, PublishedAnswers, PublishingMethod
from countveil.comparing.baselines.ours import DecoyGroups
from countveil.comparing.baselines.pram import InvariantPram
from countveil.comparing.baselines.randomised_response import RandomisedResponse

__all__ = [
    "Anatomy",
    "Belief",
    "DecoyGroups",
    "GlobalRandomisation",
    "InvariantPram",
    "Laplace",
    "PublishedAnswers",
    "PublishingMethod",
    "RandomisedResponse",
    "diversity",
    "is_diverse",
]
