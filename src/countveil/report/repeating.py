"""A protected column whose groups may hold a value more than once, as a page shows it.

Enters: ell, rows and published counts, how groups were formed, the common values. Leaves: what the
sections of a page ask of a protected column. Must not know: true counts, the source. It is loaded
only where a release has such a column. Theory: docs/theory/channel.md, "Random groups" and "Common
values".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import view_of_release
from countveil.maths.guarantees.predicate_guarantee import PredicateGuarantee
from countveil.maths.guarantees.special import SpecialColumn, beliefs_in_truth
from countveil.report.guarantee_sections import ANY_VALUE, Protected, guarantee_of
from countveil.tables.recode import value_text

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RepeatingColumn(Protected):
    """A column with random groups, or with common values in mixed ones."""

    groups: str
    common: tuple[Any, ...]

    @property
    def called(self) -> str:
        """Its name and how it is protected."""
        if self.groups == "random":
            return f"{self.name} (ell = {self.ell}, random groups)"
        names = ", ".join("missing" if v is None else value_text(v) for v in self.common)
        word = "values" if len(self.common) > 1 else "value"
        return f"{self.name} (ell = {self.ell}, common {word}: {names})"

    @property
    def any_share(self) -> bool:
        """Whether every value may have any share of the rows."""
        return self.groups == "random"

    @property
    def options(self) -> Mapping[str, object]:
        """What `countveil guarantee` has to be told of it."""
        return {"groups": "random"} if self.groups == "random" else {}

    def keeps(self, value: Any) -> float:
        """How likely a row with this value publishes it."""
        return self._kept.get(value, 1 / self.ell)

    @cached_property
    def notes(self) -> Sequence[str]:
        """The beliefs that differ from 1/ell."""
        settings = self.ell, self.groups
        special = SpecialColumn.of(self.name, settings, self.published, self.common, value_text)
        return [special.in_short(self.rows, list(self.published.values()))]

    @property
    def whole_table_note(self) -> str:
        """How its counts over the whole table differ from those of groups of different values."""
        which, others = "a value", "For a rare value that is no difference."
        if self.groups != "random":
            which, others = "a common value", "All other values are as said above."
        return (
            f"Groups of {{names}} may hold {which} more than once. Its published count is then "
            f"nearer to the truth: if f of the N rows have it, the standard error is smaller by "
            f"about the root of 1 - f/N. {others}"
        )

    @cached_property
    def _kept(self) -> dict[Any, float]:
        """How likely a row publishes its true value, by value: as the release shows it."""
        values = list(self.published)
        counts = np.array(list(self.published.values()), np.int64)
        places = tuple(sorted(values.index(v) for v in self.common if v in self.published))
        view = view_of_release(counts, self.rows, self.ell, self.groups, places)
        return dict(zip(values, view.a.tolist(), strict=True))

    def std_error(self, count: float, value: Any = ANY_VALUE) -> float:
        """The standard error of the published count of a value that `count` rows have."""
        beyond = 1 - 1 / self.ell
        if self.groups == "random":
            beyond *= 1 - count / self.rows
        elif value in self.common:
            beyond = (1 - self._gap(value)) * (1 - count / self.rows)
        return math.sqrt(max(0.0, count * beyond))

    def _gap(self, value: Any) -> float:
        """A - b of a common value, from its published share."""
        share = self.published.get(value, 0) / self.rows
        return (self._kept.get(value, 1.0) - share) / (1 - share) if share < 1 else 1.0

    def beliefs(self) -> tuple[float, float]:
        """In a person's true value: on average over the people, and what 1 in 100 reach."""
        counts = np.array(list(self.published.values()), np.float64)
        return beliefs_in_truth(counts / self.rows, np.array(list(self._kept.values())))

    def reached_by(self) -> str:
        """Who reaches the second of the beliefs."""
        return "those who publish a frequent value that is theirs"

    def combined(self, size: int, value: Any, count: int) -> PredicateGuarantee | None:
        """What holds for a value that `count` rows publish, among `size` rows."""
        share = count / self.rows
        if self.groups == "random":
            return guarantee_of(self.ell, self.rows, size, share, "random")
        if value in self.common:
            gap = max(self._gap(value), 1e-9)
            return guarantee_of(self.ell, self.rows, size, share, "random", gap)
        return guarantee_of(self.ell, self.rows, size, share)

    @property
    def examples(self) -> Sequence[tuple[Any, int]]:
        """The median value, and the most frequent one where that is another."""
        frequent = max(self.published.items(), key=lambda item: item[1])
        median = self.median
        return [median] if frequent[0] == median[0] else [median, frequent]
