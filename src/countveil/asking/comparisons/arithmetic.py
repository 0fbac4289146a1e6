"""Arithmetic on aggregates, with errors: differences, ratios of ratios, shares of a total.

Enters: the totals of one question and what is computed from them. Leaves: `Estimates`, by plain
group and cell. Must not know: SQL text, how totals are estimated. Theory:
docs/theory/covariance.md.

The unbiased totals have a covariance; what is computed from them has the variance of its first
derivatives. A ratio of sums of totals has Fieller's interval; any other positive ratio that of its
logarithm; a count over a number that is known exactly the interval of the count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from countveil.errors import QueryError
from countveil.maths.estimate import Estimates, Total
from countveil.maths.estimate.covariances.one_column import over_groups, shares_a_draw
from countveil.maths.estimate.ratios import PairVariance, fieller
from countveil.sql.query.plan import leaves
from countveil.sql.query.question import (
    Aggregate,
    Arithmetic,
    GroupKey,
    Operand,
    OverGroups,
)

Floats = NDArray[np.float64]
Axes = tuple[int, ...]


class Measured(Protocol):
    """The totals of one question."""

    def axes(self, *aggregates: Aggregate) -> Axes:
        """The sensitive columns that matter for aggregates."""

    def total(self, aggregate: Aggregate, axes: Axes) -> tuple[Total, Estimates]:
        """One aggregate and its estimates."""

    def moment(self, one: Total, two: Total) -> int:
        """The moment of the tally that sums the product of both arguments."""

    def partition(self, keys: Sequence[GroupKey]) -> NDArray[np.int64]:
        """A number for all groups and cells that agree in these keys."""


@dataclass(frozen=True)
class _Part:
    """One leaf: its total, what is told of it, its unbiased estimate; groups it is summed over."""

    total: Total
    told: Estimates
    unbiased: Floats
    over: NDArray[np.int64] | None


@dataclass(frozen=True)
class _Value:
    """A value and its derivatives by the leaves."""

    value: Floats
    slopes: tuple[Floats | float, ...]


def combined(
    measured: Measured, arithmetic: Arithmetic, level: float, *, inside: bool
) -> Estimates:
    """What arithmetic makes of its aggregates; if `inside`, moved into the interval."""
    names = list(dict.fromkeys(leaves(arithmetic)))
    flat = [leaf.aggregate if isinstance(leaf, OverGroups) else leaf for leaf in names]
    axes = measured.axes(*flat)
    parts = [_part(measured, leaf, axes) for leaf in names]
    computed = _Computed(names, parts, _covariances(measured, parts))
    told = computed.value(arithmetic, [part.told.estimate for part in parts], rounded=True).value
    estimates = computed.estimates(arithmetic, level)
    estimate = told
    if inside:
        ends = np.nan_to_num(estimates.low, nan=-np.inf), np.nan_to_num(estimates.high, nan=np.inf)
        estimate = np.clip(told, *ends)
    known = np.isfinite(estimate)
    return Estimates(np.where(known, estimate, np.nan), *estimates.arrays()[1:])


def _part(measured: Measured, leaf: Aggregate | OverGroups, axes: Axes) -> _Part:
    if isinstance(leaf, Aggregate):
        total, told = measured.total(leaf, axes)
        return _Part(total, told, total.estimate, None)
    total, told = measured.total(leaf.aggregate, axes)
    labels = measured.partition(leaf.partition)
    summed = [_summed(array, labels) for array in (told.estimate, total.estimate)]
    zero = np.zeros_like(summed[0])
    return _Part(total, Estimates(summed[0], zero, summed[0], summed[0]), summed[1], labels)


def _summed(array: Floats, labels: NDArray[np.int64]) -> Floats:
    sums = np.bincount(labels.ravel(), np.nan_to_num(array).ravel())
    return np.asarray(sums[labels], np.float64)


def _covariances(measured: Measured, parts: Sequence[_Part]) -> list[list[Floats]]:
    """Of all leaves with each other, by group and cell."""
    table: list[list[Floats]] = [[np.zeros(0)] * len(parts) for _ in parts]
    for i, one in enumerate(parts):
        for j, two in enumerate(parts[: i + 1]):
            table[i][j] = table[j][i] = _covariance(measured, one, two, same=i == j)
    return table


def _covariance(measured: Measured, one: _Part, two: _Part, *, same: bool) -> Floats:
    moment = measured.moment(one.total, two.total)
    if one.over is None and two.over is None:
        covariance = one.total.covariance(two.total, moment)
        return covariance + one.total.misfit**2 if same else covariance
    if all(_exact(part) for part in (one, two) if part.over is not None):
        return np.zeros_like(one.unbiased)
    if not shares_a_draw(one.total.tallies):
        raise QueryError(
            "A sum OVER groups of counts with conditions on sensitive columns is estimated for one "
            "such column, in a release of a single draw. Ask for the total by a query of its own."
        )
    return over_groups((one.total, one.over), (two.total, two.over), moment)


def _exact(part: _Part) -> bool:
    """Whether a sum over groups counts every value alike, and is known."""
    conditions = part.total.condition_of
    grouped = part.total.tallies.grouped_axes
    whole = len(grouped) == len(part.total.tallies.views) or not part.total.tallies.rest_axes
    return bool(whole and (conditions == conditions.flat[0]).all() and part.total.values is None)


class _Computed:
    """Arithmetic with the covariances of its leaves."""

    def __init__(
        self,
        names: Sequence[Aggregate | OverGroups],
        parts: Sequence[_Part],
        covariances: Sequence[Sequence[Floats]],
    ) -> None:
        self._names, self._parts, self._covariances = names, parts, covariances

    def estimates(self, operand: Operand, level: float) -> Estimates:
        """The error and the interval of what is computed."""
        scale, inner = _unscaled(operand)
        value = self._unbiased(inner)
        error = self._error(inner, value)
        low, high = self._interval(inner, value, error, level)
        ends = (low * scale, high * scale)
        low, high = ends if scale >= 0 else ends[::-1]
        known = np.isfinite(error)
        return Estimates(
            value.value * scale,
            np.where(known, error * abs(scale), np.nan),
            np.where(known & np.isfinite(low), low, -np.inf),
            np.where(known & np.isfinite(high), high, np.inf),
        )

    def _error(self, operand: Operand, value: _Value) -> Floats:
        """A single aggregate has its own error, also over a number that is known."""
        if isinstance(operand, Aggregate):
            return self._parts[self._names.index(operand)].told.std_error
        if isinstance(operand, Arithmetic) and operand.operation == "divide":
            top, bottom = operand.operands
            if self._known(bottom):
                with np.errstate(divide="ignore", invalid="ignore"):
                    size = np.abs(self._unbiased(bottom).value)
                    return np.asarray(self._error(top, self._unbiased(top)) / size)
        return np.sqrt(np.maximum(self._covariance(value, value), 0.0))

    def _interval(
        self, operand: Operand, value: _Value, error: Floats, level: float
    ) -> tuple[Floats, Floats]:
        z = NormalDist().inv_cdf(0.5 + level / 2)
        if not isinstance(operand, Arithmetic) or operand.operation != "divide":
            return self._alone(operand, value, error, z)
        top, bottom = (self._unbiased(part) for part in operand.operands)
        variance = PairVariance(
            self._covariance(top, top),
            self._covariance(top, bottom),
            self._covariance(bottom, bottom),
        )
        if not variance.bottom.any():
            low, high = self._interval(
                operand.operands[0], top, np.sqrt(np.maximum(variance.top, 0.0)), level
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = np.stack([low / bottom.value, high / bottom.value])
            return ends.min(axis=0), ends.max(axis=0)
        if all(self._linear(part) for part in operand.operands):
            return fieller(top.value, bottom.value, variance, level)
        apart = bottom.value**2 > z * z * variance.bottom
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            factor = np.exp(z * error / value.value)
            low, high = value.value / factor, value.value * factor
        positive = apart & (value.value > 0)
        return np.where(positive, low, -np.inf), np.where(positive, high, np.inf)

    def _alone(
        self, operand: Operand, value: _Value, error: Floats, z: float
    ) -> tuple[Floats, Floats]:
        """A single aggregate has its own interval; anything else a symmetric one."""
        if isinstance(operand, Aggregate):
            told = self._parts[self._names.index(operand)].told
            return told.low, told.high
        return value.value - z * error, value.value + z * error

    def _linear(self, operand: Operand) -> bool:
        """Whether it is a sum of leaves, each times something that is known."""
        if not isinstance(operand, Arithmetic):
            return True
        parts = operand.operands
        if operand.operation in ("add", "subtract", "negate"):
            return all(self._linear(part) for part in parts)
        if operand.operation == "multiply":
            return any(self._known(part) for part in parts) and all(map(self._linear, parts))
        return operand.operation == "divide" and self._linear(parts[0]) and self._known(parts[1])

    def _known(self, operand: Operand) -> bool:
        value = self._unbiased(operand)
        return not self._covariance(value, value).any()

    def _unbiased(self, operand: Operand) -> _Value:
        return self.value(operand, [part.unbiased for part in self._parts])

    def _covariance(self, one: _Value, two: _Value) -> Floats:
        total = np.zeros_like(self._parts[0].unbiased)
        for i, left in enumerate(one.slopes):
            for j, right in enumerate(two.slopes):
                if np.any(left) and np.any(right):
                    # What has become infinite is hidden later.
                    with np.errstate(invalid="ignore", over="ignore"):
                        total = total + left * right * self._covariances[i][j]
        return total

    def value(self, operand: Operand, values: Sequence[Floats], *, rounded: bool = False) -> _Value:
        """What is computed from these values of the leaves."""
        shape = values[0].shape
        if isinstance(operand, float):
            return _Value(np.full(shape, operand), (0.0,) * len(values))
        if not isinstance(operand, Arithmetic):
            place = self._names.index(operand)
            slopes = tuple(float(number == place) for number in range(len(values)))
            return _Value(values[place], slopes)
        parts = [self.value(part, values, rounded=rounded) for part in operand.operands]
        if operand.operation == "coalesce":
            return _first_known(parts)
        if operand.operation == "round" and rounded:
            return _Value(_rounded(parts[0].value, parts[1].value), parts[0].slopes)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            result, derivatives = _OPERATIONS[operand.operation](*(part.value for part in parts))
            each = [
                sum(d * part.slopes[leaf] for d, part in zip(derivatives, parts, strict=False))
                for leaf in range(len(values))
            ]
        return _Value(result, tuple(each))


def _unscaled(operand: Operand) -> tuple[float, Operand]:
    """The number that multiplies all of it, and what it multiplies; rounding is left out."""
    if isinstance(operand, Arithmetic):
        parts = operand.operands
        if operand.operation == "round":
            return _unscaled(parts[0])
        if operand.operation == "multiply" and any(isinstance(part, float) for part in parts):
            number, other = parts if isinstance(parts[0], float) else parts[::-1]
            scale, inner = _unscaled(other)
            assert isinstance(number, float)  # noqa: S101 - one of them is
            return number * scale, inner
        if operand.operation == "divide" and isinstance(parts[1], float) and parts[1] != 0:
            scale, inner = _unscaled(parts[0])
            return scale / parts[1], inner
    return 1.0, operand


def _first_known(parts: Sequence[_Value]) -> _Value:
    value, slopes = parts[-1].value, list(parts[-1].slopes)
    for part in reversed(parts[:-1]):
        known = np.isfinite(part.value)
        value = np.where(known, part.value, value)
        slopes = [np.where(known, one, two) for one, two in zip(part.slopes, slopes, strict=True)]
    return _Value(value, tuple(slopes))


def _rounded(value: Floats, digits: Floats) -> Floats:
    scale = 10.0 ** np.rint(digits)
    rounded: Floats = np.rint(value * scale) / scale
    return rounded


Result = tuple[Floats, tuple[Floats | float, ...]]


def _divided(a: Floats, b: Floats) -> Result:
    b = np.where(b == 0, np.nan, b)
    return a / b, (1 / b, -a / b**2)


def _power(a: Floats, b: Floats) -> Result:
    return a**b, (b * a ** (b - 1), 0.0)


def _nullif(a: Floats, b: Floats) -> Result:
    return np.where(a == b, np.nan, a), (1.0,)


def _root(a: Floats) -> Result:
    root = np.sqrt(a)
    return root, (0.5 / root,)


def _logarithm(a: Floats) -> Result:
    a = np.where(a > 0, a, np.nan)
    return np.log(a), (1 / a,)


def _exponential(a: Floats) -> Result:
    power = np.exp(a)
    return power, (power,)


_OPERATIONS: dict[str, Callable[..., Result]] = {
    "add": lambda a, b: (a + b, (1.0, 1.0)),
    "subtract": lambda a, b: (a - b, (1.0, -1.0)),
    "multiply": lambda a, b: (a * b, (b, a)),
    "divide": _divided,
    "power": _power,
    "nullif": _nullif,
    "round": lambda a, _digits: (a, (1.0,)),
    "negate": lambda a: (-a, (-1.0,)),
    "abs": lambda a: (np.abs(a), (np.sign(a),)),
    "sqrt": _root,
    "ln": _logarithm,
    "exp": _exponential,
}
