"""Methods with a parameter, set so that they give away as much as another one.

Enters: counts by value, a mean belief. Leaves: randomised response and an invariant PRAM whose mean
belief in the true value of a linked row is this. Must not know: whose belief it is.

The mean belief B is that of docs/theory/frontier.md. It grows with the parameter of each.
"""

from __future__ import annotations

import math

import numpy as np

from countveil.comparing.baselines.method import Codes
from countveil.comparing.baselines.pram import InvariantPram
from countveil.comparing.baselines.randomised_response import RandomisedResponse
from countveil.errors import IneligibleError

_HALVINGS, _LEAST, _MOST = 50, 1e-6, 40.0


def pram_believed(counts: Codes, belief: float, estimate: str = "bayes") -> InvariantPram:
    """B = alpha^2 + (1 - alpha^2) h, where h is how likely two random rows agree."""
    shares = counts / counts.sum()
    agreement = float(shares @ shares)
    if agreement >= 1:
        raise IneligibleError("All rows have the same value: there is nothing to hide among.")
    return InvariantPram(math.sqrt(max(0.0, belief - agreement) / (1 - agreement)), estimate)


def response_believed(counts: Codes, belief: float, estimate: str = "bayes") -> RandomisedResponse:
    """By halving the range of epsilon."""
    low, high = _LEAST, _MOST
    shares = counts / counts.sum()
    if response_belief(shares, low) > belief or response_belief(shares, high) < belief:
        raise IneligibleError(
            f"No epsilon gives a mean belief of {belief:.3g}: it lies between "
            f"{response_belief(shares, low):.3g} and 1."
        )
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if response_belief(shares, middle) < belief else (low, middle)
    return RandomisedResponse((low + high) / 2, estimate, "randomised response, same belief")


def response_belief(shares: np.ndarray[tuple[int], np.dtype[np.float64]], epsilon: float) -> float:
    """B of randomised response: every output is a value, published by its own rows and by others.

    With k the chance to keep a value and q that of each other one, an output of share p occurs with
    probability q + (k - q) p, and was p before.
    """
    other = 1 / (math.exp(epsilon) + shares.size - 1)
    kept = math.exp(epsilon) * other
    agreement = float(shares @ shares)
    squares = (kept * shares) ** 2 + other**2 * (agreement - shares**2)
    return float((squares / (other + (kept - other) * shares)).sum())
