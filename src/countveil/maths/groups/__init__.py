"""Decoy groups: from the histogram of a sensitive column to the composition of its groups.

Enters: counts per value, ell, the options. Leaves: group templates (which values share a group, and
how often). Must not know: rows, other columns, files, or which row is in which group. Start at
`composition.form_groups`, then `mixed`.
"""

from countveil.maths.groups.composition import (
    ColumnSettings,
    check_eligible,
    form_groups,
    rows_over,
)
from countveil.maths.groups.feasible import Obstacle, largest_ell, obstacle, what_helps
from countveil.maths.groups.mixed import mixed_groups

__all__ = [
    "ColumnSettings",
    "Obstacle",
    "check_eligible",
    "form_groups",
    "largest_ell",
    "mixed_groups",
    "obstacle",
    "rows_over",
    "what_helps",
]
