"""Other ways to publish, in the same shape as ours: to be compared with.

Enters: the true values of rows as codes, randomness. Leaves: published tables that answer counts
and say what a linked row gives away. Must not know: columns, values, files, engines.

    method.publish(codes, size, Randomness()) -> published
    published.counts(rows)   published.totals()   published.belief()
"""

from countveil.baselines.anatomy import Anatomy, diversity, is_diverse
from countveil.baselines.contract import Belief, Method, Published
from countveil.baselines.global_randomisation import GlobalRandomisation
from countveil.baselines.ours import DecoyGroups

__all__ = [
    "Anatomy",
    "Belief",
    "DecoyGroups",
    "GlobalRandomisation",
    "Method",
    "Published",
    "diversity",
    "is_diverse",
]
