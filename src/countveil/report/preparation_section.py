"""What was done to a table before it was published, as rows of a table for people.

Enters: the `Preparation` of a release. Leaves: for each column what was done, and what published
values stand for. Must not know: pages, terminals.
"""

from __future__ import annotations

from collections.abc import Mapping

from countveil.release import Preparation
from countveil.release.steps import Mapped

HEADER = ("column", "published", "stands for")
_MEMBERS, _LABELS = 8, 12


def stands_for(preparation: Preparation) -> list[tuple[str, str, str]]:
    """Published values and the declared values that they stand for, the first of each column."""
    rows = []
    for column, steps in preparation.columns.items():
        for step in steps:
            if isinstance(step, Mapped) and step.labels:
                rows += _rows(column, step.labels)
    return rows


def _rows(column: str, labels: Mapping[str, str]) -> list[tuple[str, str, str]]:
    members: dict[str, list[str]] = {}
    for value, label in labels.items():
        members.setdefault(label, []).append(value)
    rows = [(column, label, _listed(values)) for label, values in members.items()]
    left = len(rows) - _LABELS
    if left > 0:
        rows = [*rows[:_LABELS], (column, f"... and {left:,} more", "")]
    return rows


def _listed(values: list[str]) -> str:
    left = len(values) - _MEMBERS
    more = f" and {left:,} more" if left > 0 else ""
    return ", ".join(values[:_MEMBERS]) + more
