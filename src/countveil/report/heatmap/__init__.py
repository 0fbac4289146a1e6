"""A matrix of estimates as a heat map: SVG for a page, a notebook or a file.

Enters: a `HeatMap`. Leaves: a picture, or an element of a page. Must not know: what is counted.
"""

from countveil.report.heatmap.drawing import (
    HEAT_STYLE,
    MOST_COLUMNS,
    MOST_ROWS,
    HeatCell,
    HeatMap,
    heat_element,
    heat_picture,
)

__all__ = [
    "HEAT_STYLE",
    "MOST_COLUMNS",
    "MOST_ROWS",
    "HeatCell",
    "HeatMap",
    "heat_element",
    "heat_picture",
]
