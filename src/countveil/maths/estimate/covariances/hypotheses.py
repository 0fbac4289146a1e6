"""Tests with estimated counts: p-values, chi-square tests with the right variance, many tests.

Enters: estimates with errors; estimated tables with the covariance of their cells. Leaves:
p-values. Must not know: SQL. Theory: docs/theory/covariance.md, "Tests".

**Chi-square.** X = sum of h^2 / e over cells, with h what cells exceed the expected e by. Under the
null hypothesis it is a sum of squared normal variables times the eigenvalues of the covariance of
h / sqrt(e), not a chi-square variable: the draw makes cells noisier than a sample does, and some
more than others. Rao and Scott, with Satterthwaite's second moment: X times sum(l) / sum(l^2) is
nearly a chi-square variable with sum(l)^2 / sum(l^2) degrees of freedom. The covariance is that of
the draw plus that of the rows, as a sample of those that could have been there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TERMS, _CLOSE, _TINY = 10_000, 1e-14, 1e-300


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """A corrected chi-square test: the statistic after the correction, its degrees, the p-value."""

    statistic: float
    degrees: float
    p_value: float


def two_sided(estimate: float | None, error: float | None) -> float | None:
    """The p-value of a normal estimate, if the truth were 0."""
    if estimate is None or error is None:
        return None
    if error == 0:
        return 1.0 if estimate == 0 else 0.0
    return min(1.0, 2 * NormalDist().cdf(-abs(estimate) / error))


def adjusted(p_values: Sequence[float | None], how: str | None) -> list[float | None]:
    """P-values for many tests: `holm` (any error at all) or `fdr` (the share of false findings)."""
    known = [(p, place) for place, p in enumerate(p_values) if p is not None]
    result = list(p_values)
    if how is None or not known:
        return result
    known.sort()
    number, running = len(known), 0.0
    if how == "holm":
        for rank, (p, place) in enumerate(known):
            running = max(running, min(1.0, (number - rank) * p))
            result[place] = running
        return result
    running = 1.0
    for rank in range(number, 0, -1):
        p, place = known[rank - 1]
        running = min(running, p * number / rank)
        result[place] = running
    return result


def independence(table: Floats, covariance: Floats) -> ChiSquare:
    """Are rows and columns of an estimated table independent?"""
    n = float(table.sum())
    rows, columns = np.maximum(table.sum(axis=1), 0.0) / n, np.maximum(table.sum(axis=0), 0.0) / n
    rows, columns = rows / rows.sum(), columns / columns.sum()
    expected = n * np.outer(rows, columns)
    # h = x - x_i. x_.j / n, and its derivatives by the cells.
    residual = table - np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    project = np.kron(np.eye(rows.size), np.eye(columns.size))
    project -= np.kron(rows[:, None] * np.ones(rows.size), np.eye(columns.size))
    project -= np.kron(np.eye(rows.size), columns[:, None] * np.ones(columns.size))
    project += np.kron(rows[:, None] * np.ones(rows.size), columns[:, None] * np.ones(columns.size))
    sampled = np.kron(_multinomial(rows), _multinomial(columns)) * n
    return _corrected(
        residual.ravel(), expected.ravel(), project @ covariance @ project.T + sampled
    )


def goodness_of_fit(counts: Floats, covariance: Floats, shares: Floats) -> ChiSquare:
    """Do estimated counts have these shares?"""
    n = float(counts.sum())
    project = np.eye(counts.size) - shares[:, None]
    covariance = project @ covariance @ project.T + n * _multinomial(shares)
    return _corrected(counts - n * shares, n * shares, covariance)


def _multinomial(shares: Floats) -> Floats:
    variance: Floats = np.diag(shares) - np.outer(shares, shares)
    return variance


def _corrected(residual: Floats, expected: Floats, covariance: Floats) -> ChiSquare:
    used = expected > 0
    scale = 1 / np.sqrt(expected[used])
    statistic = float((residual[used] ** 2 / expected[used]).sum())
    scaled = covariance[np.ix_(used, used)] * np.outer(scale, scale)
    first, second = float(np.trace(scaled)), float((scaled * scaled.T).sum())
    if first <= 0 or second <= 0:
        return ChiSquare(0.0, 0.0, 1.0)
    degrees, corrected = first**2 / second, statistic * first / second
    return ChiSquare(corrected, degrees, chi_square_tail(corrected, degrees))


def chi_square_tail(statistic: float, degrees: float) -> float:
    """The chance that a chi-square variable exceeds the statistic."""
    a, x = degrees / 2, statistic / 2
    if x <= 0:
        return 1.0
    front = math.exp(-x + a * math.log(x) - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for step in range(1, _TERMS):
            term *= x / (a + step)
            total += term
            if term < total * _CLOSE:
                break
        return max(0.0, 1 - front * total)
    # The continued fraction, by the method of Lentz.
    b = x + 1 - a
    c, d = 1 / _TINY, 1 / b
    result = d
    for step in range(1, _TERMS):
        factor = -step * (step - a)
        b += 2
        d = 1 / (_nonzero(factor * d + b))
        c = _nonzero(b + factor / c)
        change = d * c
        result *= change
        if abs(change - 1) < _CLOSE:
            break
    return min(1.0, front * result)


def _nonzero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY
