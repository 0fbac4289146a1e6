"""What is promised: how near counts are to the truth, and the promise in words.

Enters: ell, sizes of counts. Leaves: exact probabilities, and sentences. Must not know: any table.
Start at `guarantee`; `binomial` computes, `promise` has the words.
"""

from countveil.maths.guarantees.binomial import chance_failing, chance_off, chance_within
from countveil.maths.guarantees.guarantee import Guarantee, GuaranteeAnswer, Way
from countveil.maths.guarantees.promise import (
    average_belief,
    belief,
    guarantee_table,
    odds_factor,
    statement,
)

__all__ = [
    "Guarantee",
    "GuaranteeAnswer",
    "Way",
    "average_belief",
    "belief",
    "chance_failing",
    "chance_off",
    "chance_within",
    "guarantee_table",
    "odds_factor",
    "statement",
]
