"""Rows of results to lines with bars.

Enters: results, what to average, along which column. Leaves: lines of a chart. Must not know: what
they mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from countveil.report.chart import Line
from study.results import Results

NAMES = {
    "paper": "the paper's choices",
    "ours": "countveil",
    "anatomy": "Anatomy",
    "laplace-0.01": "Laplace, epsilon 0.01",
    "laplace-0.05": "Laplace, epsilon 0.05",
    "global-bayes": "mechanism A, Bayes",
    "global-unbiased": "mechanism A, unbiased",
    "global-stopped": "mechanism A, stopped at 1%",
    "global-printed": "mechanism A, printed matrix",
    "response": "randomised response",
    "pram": "invariant PRAM",
    "mixed-unbiased": "mixed groups, unbiased",
    "random": "random groups",
    "common": "common values",
    "ours-removed": "mixed groups, rows removed",
    "anatomy-removed": "Anatomy, rows removed",
    "together": "together",
    "together-unbiased": "together, unbiased",
    "together-matched": "together, larger ell",
    "apart": "apart",
    "apart-unbiased": "apart, unbiased",
    "noised": "countveil, bounded",
    "noised-random": "random groups, bounded",
    "response-odds": "randomised response, same K",
    "laplace-odds": "Laplace, same K",
}
_NORMAL = 1.96


def mean(values: Sequence[float]) -> float:
    """Plain mean."""
    return sum(values) / len(values)


def half_width(values: Sequence[float]) -> float:
    """Half of a 95% interval of the mean; 0 for a single value."""
    if len(values) < 2:
        return 0.0
    middle = mean(values)
    variance = sum((value - middle) ** 2 for value in values) / (len(values) - 1)
    return _NORMAL * math.sqrt(variance / len(values))


def line(
    results: Results,
    table: str,
    along: str,
    column: str,
    name: str,
    hue: int,
    dash: str = "solid",
    **wanted: object,
) -> Line:
    """The mean of a column for each value of another one; empty if the table is not there."""
    if table not in results.tables:
        return Line(name, [], [], hue=hue, dash=dash)
    places = results.different(table, along, **wanted)
    values = [results.values(table, column, **{**wanted, along: place}) for place in places]
    middles = [mean(some) for some in values]
    widths = [half_width(some) for some in values]
    return Line(
        name,
        places,
        middles,
        [middle - width for middle, width in zip(middles, widths, strict=True)],
        [middle + width for middle, width in zip(middles, widths, strict=True)],
        hue=hue,
        dash=dash,
    )


def shown_band(low: float, high: float) -> str:
    """0.005 to 0.01 as 0.5-1%."""
    return f"{100 * low:g}-{100 * high:g}%"
