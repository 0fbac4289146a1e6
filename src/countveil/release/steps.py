"""One change to the values of a column, as far as a release says it.

Enters: what the publisher declared. Leaves: for each kind of change a value that says, in words,
what was done, and what is published in place of a value. Must not know: the table. All of it was
declared before a row was read, or is a rule.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

# A period -> the label of the one that a day falls into; as texts, labels sort as the periods do.
PERIODS: dict[str, Callable[[dt.date], str]] = {
    "day": dt.date.isoformat,
    "week": lambda day: "{:04d}-W{:02d}".format(*day.isocalendar()),
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "decade": lambda day: f"{day.year // 10 * 10:04d}s",
}
# What a code has between its parts; a prefix does not end with it.
SEPARATORS = " .-/_"
# The labels of a period, as a pattern.
_LABELS = {
    "day": r"\d{4}-\d{2}-\d{2}", "week": r"\d{4}-W\d{2}", "month": r"\d{4}-\d{2}",
    "quarter": r"\d{4}-Q[1-4]", "year": r"\d{4}", "decade": r"\d{3}0s",
}  # fmt: skip
_HOW = {"labels": "was labelled", "merge": "was merged into", "level": "was replaced by"}
_FEW = 5


@dataclass(frozen=True, slots=True)
class Mapped:
    """Declared values were replaced: `labels[value]` is published.

    `how` is `labels` (what a code stands for), `merge` (a label for several values) or `level` (a
    level of a hierarchy, with its name). Too long a list is not published.
    """

    what: ClassVar[str] = "mapped"
    how: str
    labels: Mapping[str, str] | None = None
    level: str = ""

    def __post_init__(self) -> None:
        labels = self.labels or {}
        texts = (self.level, *labels, *labels.values())
        if self.how not in _HOW or not all(isinstance(text, str) for text in texts):
            raise ValueError("what replaced values is not known, or is no text")

    @property
    def sentence(self) -> str:
        """In words."""
        if self.how == "labels":
            return "codes were replaced by their labels"
        if self.how == "level":
            return f"values were replaced by their {self.level!r} in a hierarchy"
        if self.labels is None:
            return "values were merged by a list of the publisher"
        common = list(dict.fromkeys(self.labels.values()))
        listed = ", ".join(repr(label) for label in common[:_FEW])
        more = f" and {len(common) - _FEW:,} more" if len(common) > _FEW else ""
        return f"{len(self.labels):,} declared values were merged into {listed}{more}"

    def became(self, value: Any) -> Any:
        """What is published in place of a value."""
        labels = self.labels or {}
        return value if value in labels.values() else labels.get(code_text(value), value)

    def said(self, value: Any) -> str:
        """What happened to a value that is not published."""
        return f"{_HOW[self.how]} {self.became(value)!r}"


@dataclass(frozen=True, slots=True)
class MergedRare:
    """All values with fewer than `below` rows got one label; which they were is not published."""

    what: ClassVar[str] = "rare"
    below: int
    label: str

    def __post_init__(self) -> None:
        if not _is_whole(self.below) or self.below < 2 or not isinstance(self.label, str):
            raise ValueError("a merge of rare values is not a number of rows and a label")

    @property
    def sentence(self) -> str:
        """In words."""
        return f"values with fewer than {self.below:,} rows were merged into {self.label!r}"

    def became(self, value: Any) -> Any:
        """What is published in place of a value, if it is not rare."""
        return value


@dataclass(frozen=True, slots=True)
class Shortened:
    """Codes were cut to their first `length` characters."""

    what: ClassVar[str] = "prefix"
    length: int

    def __post_init__(self) -> None:
        if not _is_whole(self.length) or self.length < 1:
            raise ValueError("the length of a prefix is not a positive whole number")

    @property
    def sentence(self) -> str:
        """In words."""
        return f"codes were cut to their first {self.length} characters"

    def became(self, value: Any) -> Any:
        """What is published in place of a value."""
        text = code_text(value)
        return prefix_of(text, self.length) if len(text) > self.length else value

    def said(self, value: Any) -> str:
        """What happened to a value that is not published."""
        return f"was cut to {self.became(value)!r}"


@dataclass(frozen=True, slots=True)
class InPeriods:
    """Dates were replaced by the period that they fall into."""

    what: ClassVar[str] = "period"
    period: str

    def __post_init__(self) -> None:
        if self.period not in _LABELS:
            raise ValueError("a period of dates is unknown")

    @property
    def sentence(self) -> str:
        """In words."""
        return f"dates were replaced by their {self.period}"

    def became(self, value: Any) -> Any:
        """What is published in place of a value."""
        text = code_text(value)
        if re.fullmatch(_LABELS[self.period], text):
            return text
        try:
            day = dt.date.fromisoformat(text[:10])
        except ValueError:
            return value
        return PERIODS[self.period](day)

    def said(self, value: Any) -> str:
        """What happened to a value that is not published."""
        return f"was replaced by its {self.period}, {self.became(value)!r},"


@dataclass(frozen=True, slots=True)
class InClasses:
    """Numbers were put into classes that end at `edges`; `whole` says that all were whole."""

    what: ClassVar[str] = "classes"
    edges: tuple[float, ...]
    labels: tuple[str, ...]
    whole: bool

    def __post_init__(self) -> None:
        edges, labels = tuple(self.edges), tuple(self.labels)
        sound = all(map(_is_number, edges)) and list(edges) == sorted(set(edges))
        if not sound or len(labels) != len(edges) + 1 or not isinstance(self.whole, bool):
            raise ValueError("the classes of a column are not increasing numbers with labels")
        if not all(isinstance(label, str) for label in labels):
            raise TypeError("the label of a class is not text")
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "labels", labels)

    @property
    def sentence(self) -> str:
        """In words."""
        return f"numbers were put into {len(self.labels):,} classes"

    def became(self, value: Any) -> Any:
        """What is published in place of a value."""
        if not _is_number(value):
            return value
        return self.labels[sum(edge <= value for edge in self.edges)]

    def said(self, value: Any) -> str:
        """What happened to a value that is not published."""
        return f"was put into the class {self.became(value)!r}"


@dataclass(frozen=True, slots=True)
class Rounded:
    """Numbers were rounded to the nearest multiple of `step`."""

    what: ClassVar[str] = "rounded"
    step: float

    def __post_init__(self) -> None:
        if not _is_number(self.step) or not self.step > 0:
            raise ValueError("the step of rounded numbers is not positive")

    @property
    def sentence(self) -> str:
        """In words."""
        return f"numbers were rounded to multiples of {_number(self.step)}"

    def became(self, value: Any) -> Any:
        """What is published in place of a value."""
        if not _is_number(value):
            return value
        nearest = round(value / self.step) * self.step
        return value if abs(nearest - value) <= 1e-9 * max(1.0, abs(value)) else nearest

    def said(self, value: Any) -> str:
        """What happened to a value that is not published."""
        return f"was rounded to {_number(self.became(value))}"


@dataclass(frozen=True, slots=True)
class Limited:
    """Numbers below `bottom` and above `top` were replaced by these."""

    what: ClassVar[str] = "limits"
    bottom: float | None = None
    top: float | None = None

    def __post_init__(self) -> None:
        limits = [limit for limit in (self.bottom, self.top) if limit is not None]
        if not limits or not all(map(_is_number, limits)) or limits != sorted(limits):
            raise ValueError("the limits of numbers are not numbers in order")

    @property
    def sentence(self) -> str:
        """In words."""
        said = []
        if self.bottom is not None:
            said.append(f"numbers below {_number(self.bottom)} were replaced by it")
        if self.top is not None:
            said.append(f"numbers above {_number(self.top)} were replaced by it")
        return " and ".join(said)

    def became(self, value: Any) -> Any:
        """What is published in place of a value."""
        if not _is_number(value):
            return value
        if self.top is not None and value > self.top:
            return self.top
        return self.bottom if self.bottom is not None and value < self.bottom else value

    def said(self, value: Any) -> str:
        """What happened to a value that is not published."""
        return f"was replaced by {_number(self.became(value))}"

    def beyond(self, comparison: str, value: Any) -> bool:
        """Whether a comparison asks about numbers that were replaced by a limit."""
        if not _is_number(value):
            return False
        above = self.top is not None and (
            value > self.top or (value == self.top and comparison in ("greater", "at_most"))
        )
        below = self.bottom is not None and (
            value < self.bottom or (value == self.bottom and comparison in ("less", "at_least"))
        )
        return above or below


Step = Mapped | MergedRare | Shortened | InPeriods | InClasses | Rounded | Limited
STEPS: dict[str, type[Any]] = {
    Mapped.what: Mapped,
    MergedRare.what: MergedRare,
    Shortened.what: Shortened,
    InPeriods.what: InPeriods,
    InClasses.what: InClasses,
    Rounded.what: Rounded,
    Limited.what: Limited,
}


def prefix_of(text: str, length: int) -> str:
    """The first characters of a code, without a separator at their end."""
    return text[:length].rstrip(SEPARATORS) if len(text) > length else text


def code_text(value: Any) -> str:
    """A value as a publisher writes it in a file: 1.0 is the code 1."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat() if isinstance(value, dt.date) else str(value)


def _number(value: Any) -> str:
    return f"{int(value)}" if float(value).is_integer() else f"{value:.12g}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
