"""What a hint does to a belief.

Enters: a prior belief, a factor on its odds; a count, the rows, ell. Leaves: the belief after it,
and the factor that seeing a published value has. Must not know: any table.
"""

from __future__ import annotations


def odds_factor(share: float, ell: int) -> float:
    """A / b: seeing a value of this share multiplies the odds that it is the true one by this."""
    return (1 - share) / ((ell - 1) * share)


def belief(prior: float, factor: float) -> float:
    """The belief after evidence that multiplies the odds by `factor`.

    With epsilon-differential privacy the factor may be e^epsilon: for epsilon = ln 3 a prior of one
    half becomes 0.75, the example of section 2.1 of the paper.
    """
    return prior * factor / (prior * factor + 1 - prior)
