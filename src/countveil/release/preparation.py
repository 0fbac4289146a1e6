"""What was done to a table before it was published, as far as a release says it.

Enters: what the publisher declared. Leaves: a `Preparation`, as JSON and back, in words, and for a
value that an analyst names: what became of it. Must not know: the table. No value is listed because
it occurs, and no constant of a condition is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from countveil.release.steps import (
    STEPS,
    InClasses,
    InPeriods,
    Limited,
    Mapped,
    MergedRare,
    Shortened,
    Step,
)

# Declared values up to this many are listed in a release.
MOST_LISTED = 10_000
_ROWS = {"first": "the first by", "last": "the last by", "any": "one that was drawn"}
_EQUALITIES = ("equal", "unequal", "in")


@dataclass(frozen=True, slots=True)
class OneRowEach:
    """One row of each person is published: the `first` or `last` by a column, or `any`."""

    row: str
    by: str | None = None

    def __post_init__(self) -> None:
        if self.row not in _ROWS or (self.by is None) != (self.row == "any"):
            raise ValueError("which row of each person was published is not known")
        if not isinstance(self.by, str | None):
            raise TypeError("the column that orders rows is not text")

    @property
    def sentence(self) -> str:
        """In words."""
        if self.by is None:
            return "One row of each person is published, drawn from the person's rows."
        return (
            f"One row of each person is published, {_ROWS[self.row]} {self.by!r}; of several with "
            f"the same {self.by!r} one was drawn, and rows without it come last."
        )


@dataclass(frozen=True, slots=True)
class Preparation:
    """How rows were chosen, what meant a missing value, and the steps by column, in order.

    `filtered_by` are the columns of a condition that chose the rows.
    """

    columns: Mapping[str, tuple[Step, ...]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    filtered_by: tuple[str, ...] = ()
    one_per: OneRowEach | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain values for the manifest; what says nothing is left out."""
        content: dict[str, Any] = {
            "filtered_by": list(self.filtered_by),
            "one_per": None if self.one_per is None else _without_none(asdict(self.one_per)),
            "missing": list(self.missing),
            "columns": {
                name: [{"what": step.what, **_without_none(asdict(step))} for step in steps]
                for name, steps in self.columns.items()
            },
        }
        return {name: value for name, value in content.items() if value}

    @classmethod
    def from_json(cls, content: Any, known: Sequence[str]) -> Preparation:
        """Read and check what `as_json` wrote; `known` are the columns of the release."""
        if not isinstance(content, dict) or not content:
            raise TypeError("'preparation' is not an object")
        unknown = set(content) - {"filtered_by", "one_per", "missing", "columns"}
        if unknown:
            raise ValueError(f"unknown field {min(unknown)!r} of 'preparation'")
        columns = content.get("columns", {})
        if not isinstance(columns, dict) or not set(columns) <= set(known):
            raise ValueError("'preparation' names a column that the release does not have")
        one_per = content.get("one_per")
        return cls(
            {name: tuple(_step(step) for step in steps) for name, steps in columns.items()},
            _texts(content.get("missing", [])),
            _texts(content.get("filtered_by", [])),
            None if one_per is None else OneRowEach(**one_per),
        )

    def sentences(self) -> list[str]:
        """What was done, in words."""
        said = []
        if self.filtered_by:
            said.append(f"Rows were chosen by a condition on {_listed(self.filtered_by)}.")
        if self.one_per is not None:
            said.append(self.one_per.sentence)
        if self.missing:
            said.append(f"These texts stood for a missing value: {_listed(self.missing)}.")
        said += [f"In column {name!r} {self.changes(name)}." for name in self.columns]
        return said

    def changes(self, column: str) -> str:
        """What was done to a column, in words; empty if nothing was."""
        return ", then ".join(step.sentence for step in self.columns.get(column, ()))

    def classes(self, column: str) -> InClasses | None:
        """The classes that a column's numbers were put into."""
        steps = self.columns.get(column, ())
        return next((step for step in steps if isinstance(step, InClasses)), None)

    def is_in_periods(self, column: str) -> bool:
        """Whether the values of a column are periods, which sort as texts do."""
        return any(isinstance(step, InPeriods) for step in self.columns.get(column, ()))

    def hidden_rule(self, column: str) -> str | None:
        """The rule by which values of a column went that the release does not list, in words."""
        for step in self.columns.get(column, ()):
            if isinstance(step, MergedRare) or (isinstance(step, Mapped) and step.labels is None):
                return step.sentence
        return None

    def refusal(self, column: str, comparison: str, value: Any) -> str | None:
        """Why a column cannot be compared with a value: what became of it; None if it can."""
        if value in self.missing:
            return (
                f"{value!r} stood for a missing value before publishing. Ask for {column} IS NULL."
            )
        steps = self.columns.get(column, ())
        if comparison not in _EQUALITIES:
            return _cut_through(column, comparison, value, steps)
        became, said = value, []
        for step in steps:
            after = step.became(became)
            if after != became and not isinstance(step, MergedRare):
                said.append(step.said(became))
            became = after
        if not said:
            return None
        return f"{value!r} {' and then '.join(said)} before publishing; ask for {became!r}."

    def refusal_of_pattern(self, column: str, pattern: str) -> str | None:
        """Why a column cannot be searched for a pattern of LIKE; None if it can."""
        wanted = "".join({"%": ".*", "_": "."}.get(char, re.escape(char)) for char in pattern)
        start = re.split("[%_]", pattern)[0]
        for step in self.columns.get(column, ()):
            if not isinstance(step, Mapped | Shortened):
                continue
            replaced = step.labels or {} if isinstance(step, Mapped) else {}
            met = [v for v in replaced if re.fullmatch(wanted, v, re.DOTALL | re.IGNORECASE)]
            asked = met[0] if met else start if isinstance(step, Shortened) else None
            if asked is not None and step.became(asked) != asked:
                return (
                    f"The pattern {pattern!r} asks for values of {column!r} such as {asked!r}, "
                    f"which {step.said(asked)} before publishing. Ask for {step.became(asked)!r}."
                )
        return None

    def unlisted(self, column: str, value: Any) -> str:
        """What is said of a value that no row publishes, where values went by a rule."""
        return (
            f"No row of the release has {column} = {value!r}. Before publishing, "
            f"{self.hidden_rule(column)}; whether this one is among them is not published."
        )


def _cut_through(column: str, comparison: str, value: Any, steps: Sequence[Step]) -> str | None:
    for step in steps:
        if isinstance(step, Limited) and step.beyond(comparison, value):
            return (
                f"Before publishing, {step.sentence} in column {column!r}, so this comparison "
                f"cannot be answered. Compare it with numbers between the limits."
            )
        if isinstance(step, InPeriods) and step.became(value) != value:
            return (
                f"Before publishing, {step.sentence} in column {column!r}. Compare it with one, "
                f"such as {step.became(value)!r}."
            )
    return None


def _step(content: Any) -> Step:
    kinds = dict(content)
    step: Step = STEPS[kinds.pop("what")](**kinds)
    return step


def _texts(content: Any) -> tuple[str, ...]:
    if not isinstance(content, list) or not all(isinstance(text, str) for text in content):
        raise TypeError("a list of 'preparation' is not a list of texts")
    return tuple(content)


def _without_none(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if value not in (None, "")}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
