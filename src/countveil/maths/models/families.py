"""The families of models, each with its canonical link.

Enters: linear predictors eta, by cell and response. Leaves: means, variances, and the function b of
which the mean is the derivative: the log-likelihood of y is y eta - b(eta). Must not know: data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# exp of more than this is infinite; a fit that goes there has left the data.
_LARGEST = 700.0


@dataclass(frozen=True)
class Family:
    """`mean` and `partition` (b) by cell and response; `variance` by cell and two responses."""

    name: str
    mean: Callable[[Floats], Floats]
    partition: Callable[[Floats], Floats]
    variance: Callable[[Floats], Floats]

    @property
    def exact(self) -> bool:
        """Whether one Newton step is the answer."""
        return self.name == "linear"


def _linear_variance(eta: Floats) -> Floats:
    return np.ones((*eta.shape, 1))


def _half_square(eta: Floats) -> Floats:
    half: Floats = eta[..., 0] ** 2 / 2
    return half


def _exponential(eta: Floats) -> Floats:
    mean: Floats = np.exp(np.minimum(eta, _LARGEST))
    return mean


def _shares(eta: Floats) -> Floats:
    """Of every response but the first, which has eta = 0."""
    top = np.maximum(eta.max(axis=-1, keepdims=True), 0.0)
    parts = np.exp(eta - top)
    shares: Floats = parts / (np.exp(-top) + parts.sum(axis=-1, keepdims=True))
    return shares


def _log_sum(eta: Floats) -> Floats:
    top = np.maximum(eta.max(axis=-1), 0.0)
    total: Floats = top + np.log(np.exp(-top) + np.exp(eta - top[..., None]).sum(axis=-1))
    return total


def _shares_variance(eta: Floats) -> Floats:
    mean = _shares(eta)
    variance: Floats = mean[..., None] * (np.eye(eta.shape[-1]) - mean[..., None, :])
    return variance


FAMILIES = {
    "linear": Family("linear", lambda eta: eta, _half_square, _linear_variance),
    "logistic": Family("logistic", _shares, _log_sum, _shares_variance),
    "multinomial": Family("multinomial", _shares, _log_sum, _shares_variance),
    "poisson": Family(
        "poisson",
        _exponential,
        lambda eta: _exponential(eta)[..., 0],
        lambda eta: _exponential(eta)[..., None],
    ),
}
