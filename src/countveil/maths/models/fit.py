"""Coefficients from corrected score equations.

Enters: the cells of a model and a family. Leaves: coefficients and the information, or the reason
why there are none. Must not know: formulas, errors of estimates. Theory: docs/theory/models.md.

With the true values, the coefficients solve sum of x (y - mean) = 0 over the rows. Here every row
counts in all cells with weights whose mean, over what it may publish, is 1 in its true cell and 0
elsewhere. So the sum over rows and cells of weight times x (y - mean) has the same mean as the sum
over true rows, at every value of the coefficients. Newton's method solves it. Weights may be
negative, so the information need not be positive definite: then there is no estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.models.cells import ModelData
from countveil.maths.models.families import Family

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

_MOST_STEPS, _MOST_HALVINGS = 60, 30
_CONVERGED = 1e-10
# Information, relative to the scale of the columns, below which columns count as dependent.
_DEPENDENT = 1e-10
# Odds of e^20 are not estimated: the fit is on its way to infinity.
_FARTHEST = 20.0


class NoEstimateError(Exception):
    """There is no estimate; `reason` says why, `coefficients` which ones are concerned."""

    def __init__(self, reason: str, coefficients: Numbers) -> None:
        super().__init__(reason)
        self.reason, self.coefficients = reason, coefficients


@dataclass(frozen=True)
class Fit:
    """`coefficients[response, column]`; `mean[point, cell, response]`; the information."""

    data: ModelData
    family: Family
    coefficients: Floats
    eta: Floats
    mean: Floats
    information: Floats


def fit(data: ModelData, family: Family) -> Fit:
    """Solve the corrected score equations."""
    rows, responses = data.totals
    total = float(rows.sum())
    if total <= 0:
        raise NoEstimateError("no rows", np.zeros(0, np.int64))
    coefficients = _start(data, family, rows, responses)
    value = _objective(data, family, coefficients)
    for _ in range(_MOST_STEPS):
        eta = _eta(data, coefficients)
        information = _information(data, family, eta)
        score = _score(data, family, eta)
        step = _solved(information, score.reshape(-1)).reshape(coefficients.shape)
        decrement = float((step * score).sum())
        if family.exact:
            coefficients = coefficients + step
            break
        if abs(decrement) < _CONVERGED * max(total, 1.0) ** 0.5:
            break
        coefficients, value = _advance(data, family, (coefficients, step), value)
    else:
        farthest = np.argsort(-np.abs(coefficients).reshape(-1))[:1]
        raise NoEstimateError("not converged", farthest)
    eta = _eta(data, coefficients)
    _check_finite(data, family, eta, step)
    information = _information(data, family, eta)
    _check_definite(information)
    return Fit(data, family, coefficients, eta, family.mean(eta), information)


def _start(data: ModelData, family: Family, rows: Floats, responses: Floats) -> Floats:
    """The coefficients nearest to the same mean everywhere."""
    columns = data.design.shape[2]
    if family.exact:
        return np.zeros((data.responses, columns))
    mean = responses.sum(axis=(0, 1)) / rows.sum()
    if family.name == "poisson":
        level = np.log(np.maximum(mean, 1e-6))
    else:
        mean = np.clip(mean, 1e-6, 1 - 1e-6)
        level = np.log(mean / max(1 - float(mean.sum()), 1e-6))
    flat = data.design.reshape(-1, columns)
    constant = np.linalg.lstsq(flat.T @ flat, flat.sum(axis=0), rcond=None)[0]
    start: Floats = level[:, None] * constant
    return start


def _eta(data: ModelData, coefficients: Floats) -> Floats:
    eta: Floats = data.design @ coefficients.T
    return eta


def _objective(data: ModelData, family: Family, coefficients: Floats) -> float:
    """The corrected log-likelihood."""
    rows, responses = data.totals
    eta = _eta(data, coefficients)
    with np.errstate(over="ignore", invalid="ignore"):
        return float((responses * eta).sum() - (rows * family.partition(eta)).sum())


def _score(data: ModelData, family: Family, eta: Floats) -> Floats:
    rows, responses = data.totals
    residual = responses - rows[:, :, None] * family.mean(eta)
    score: Floats = np.tensordot(residual, data.design, ((0, 1), (0, 1)))
    return score


def _information(data: ModelData, family: Family, eta: Floats) -> Floats:
    rows = data.totals[0]
    columns = data.design.shape[2]
    flat = data.design.reshape(-1, columns)
    variance = (rows[:, :, None, None] * family.variance(eta)).reshape(flat.shape[0], -1)
    n = data.responses
    information = np.zeros((n, columns, n, columns))
    for one in range(n):
        for two in range(one, n):
            block = (flat * variance[:, one * n + two, None]).T @ flat
            information[one, :, two] = block
            information[two, :, one] = block.T
    return information.reshape(n * columns, n * columns)


def _solved(information: Floats, score: Floats) -> Floats:
    _check_definite(information)
    return np.linalg.solve(information, score).astype(np.float64)


def _check_definite(information: Floats) -> None:
    """Refuse columns that depend on each other, and cells that are emptier than empty."""
    if not np.isfinite(information).all():
        raise NoEstimateError("not converged", np.arange(0))
    diagonal = np.diag(information)
    if (diagonal <= 0).any():
        raise NoEstimateError("empty", np.flatnonzero(diagonal <= 0))
    scale = 1 / np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(information * scale[:, None] * scale)
    if values[0] < _DEPENDENT:
        size = np.abs(vectors[:, 0])
        reason = "empty" if values[0] < -_DEPENDENT else "dependent"
        raise NoEstimateError(reason, np.flatnonzero(size > 0.3 * size.max()))


def _advance(
    data: ModelData, family: Family, move: tuple[Floats, Floats], value: float
) -> tuple[Floats, float]:
    """A Newton step, halved until the log-likelihood rises."""
    coefficients, step = move
    for _ in range(_MOST_HALVINGS):
        moved = coefficients + step
        risen = _objective(data, family, moved)
        if np.isfinite(risen) and risen >= value - 1e-9 * abs(value):
            return moved, risen
        step = step / 2
    raise NoEstimateError("not converged", np.argsort(-np.abs(step).reshape(-1))[:1])


def _check_finite(data: ModelData, family: Family, eta: Floats, step: Floats) -> None:
    if family.name in ("linear", "poisson"):
        return
    rows = data.totals[0]
    if float(np.abs(eta[rows != 0]).max(initial=0.0)) > _FARTHEST:
        raise NoEstimateError("separated", np.argsort(-np.abs(step).reshape(-1))[:1])
