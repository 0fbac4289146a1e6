"""Axes of charts: where a number lies, and which round numbers stand along it.

Enters: the range of an axis. Leaves: places from 0 to 1, ticks and their text. Must not know: what
is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low` to `high`, on a logarithmic scale if wished."""

    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """Where a value lies, from 0 to 1 along the axis; far outside for what has no place."""
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        if value <= 0:
            return -10.0
        return math.log(value / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[float]:
        """Round values along the axis."""
        if not self.log:
            step = _round_step(self.low, self.high)
            first = math.ceil(self.low / step - 1e-9)
            last = math.floor(self.high / step + 1e-9)
            return [round(number * step, 12) for number in range(first, last + 1)]
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        within = (1, 2, 5) if last - first <= 3 else (1,)
        every = max(1, (last - first) // 6)
        found = [
            factor * 10.0**power for power in range(first, last + 1, every) for factor in within
        ]
        return [value for value in found if self.low <= value * 1.000001 and value <= self.high]


def around(values: Sequence[float]) -> Axis:
    """An axis that spans the values, from one round number to another."""
    low, high = min(values), max(values)
    step = _round_step(low, high)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Axis(first * step, max(last, first + 1) * step)


def tick_text(value: float) -> str:
    """A number on an axis."""
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:g}"


def _round_step(low: float, high: float) -> float:
    rough = max(high - low, 1e-12) / 6
    unit = 10.0 ** math.floor(math.log10(rough))
    return next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough * 0.999)
