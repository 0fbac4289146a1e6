"""The advice for one column.

Enters: what was found. Leaves: the same, in one value. Must not know: how it was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from countveil.publishing.advise.figures import EllFigures
from countveil.publishing.advise.recommend import Recommendation


@dataclass(frozen=True, slots=True)
class ColumnAdvice:
    """One column: a line per feasible ell, and what to do."""

    column: str
    rows: int
    sampled_rows: int
    lines: Sequence[EllFigures]
    recommendation: Recommendation
    larger: str
    notes: Sequence[str]

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return asdict(self)
