"""Decoy groups: from the histogram of a sensitive column to the composition of its groups.

Enters: counts per value, ell, the options. Leaves: group templates (which values sit together, how
often). Must not know: rows, other columns, files, or which tuple sits in which group.
"""

from countveil.maths.groups.compose import form_groups
from countveil.maths.groups.eligibility import check_eligible, largest_ell, rows_over
from countveil.maths.groups.mixed import mixed_groups
from countveil.maths.groups.settings import ColumnSettings

__all__ = [
    "ColumnSettings",
    "check_eligible",
    "form_groups",
    "largest_ell",
    "mixed_groups",
    "rows_over",
]
