"""Numbers out of the results, ready to be put into sentences.

Enters: results. Leaves: means over repetitions, and text. Must not know: what is claimed of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from study.charts.lines import half_width, mean
from study.results import Results

BANDS = ((0.02, 0.05), (0.01, 0.02), (0.005, 0.01))


class Numbers:
    """The results, asked by what they are about."""

    def __init__(self, results: Results) -> None:
        self.results = results

    def mean(self, table: str, column: str = "error", /, **wanted: object) -> float:
        """The mean of all such rows."""
        values = self.results.values(table, column, **wanted)
        if not values:
            raise LookupError(f"no results in {table}.csv for {wanted}")
        return mean(values)

    def interval(self, table: str, column: str = "error", /, **wanted: object) -> str:
        """Mean and half of its 95% interval."""
        values = self.results.values(table, column, **wanted)
        return f"{mean(values):.3f} ± {half_width(values):.3f}"

    def if_any(self, table: str, /, **wanted: object) -> str:
        """The mean error, or a dash: a small table has no such queries."""
        values = self.results.values(table, "error", **wanted)
        return f"{mean(values):.3f}" if values else "-"

    def bands(self, table: str, /, **wanted: object) -> list[float]:
        """The errors at 2-5%, 1-2% and 0.5-1%."""
        return [self.mean(table, kind="band", low=low, **wanted) for low, _ in BANDS]

    def fine(self, method: str) -> list[float]:
        """The errors at 4-5%, 3-4%, 2-3% and 1-2%, as far as there are such queries."""
        line = self.by("by_method", "low", method=method, kind="fine")
        return [line[low] for low in sorted(line, reverse=True)]

    def has(self, table: str, /, **wanted: object) -> bool:
        """Are there such rows?"""
        return bool(self.results.where(table, **wanted))

    def by(self, table: str, along: str, /, **wanted: object) -> dict[float, float]:
        """The error for each value of a column."""
        places = self.results.different(table, along, **wanted)
        return {place: self.mean(table, **{**wanted, along: place}) for place in places}

    def middle(self, table: str, column: str, /, **wanted: object) -> float:
        """The median."""
        return median(self.results.values(table, column, **wanted))


def slashed(values: Sequence[float], digits: int = 2) -> str:
    """0.05 / 0.08 / 0.12."""
    return " / ".join(f"{value:.{digits}f}" for value in values)


def span(values: Sequence[float], digits: int = 2) -> str:
    """From the least to the most."""
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"


def slope(points: dict[float, float]) -> tuple[float, float]:
    """The line through the points by least squares: its slope, and the correlation."""
    x, y = list(points), list(points.values())
    across, up = mean(x), mean(y)
    square = sum((a - across) ** 2 for a in x)
    both = sum((a - across) * (b - up) for a, b in zip(x, y, strict=True))
    spread = sum((b - up) ** 2 for b in y)
    return both / square, both / (square * spread) ** 0.5 if spread else 0.0
