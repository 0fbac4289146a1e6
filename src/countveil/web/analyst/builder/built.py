"""What the builder can express: one measure, columns to group by, conditions joined by AND.

Enters: nothing. Leaves: plain values. Must not know: SQL, forms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

# What is asked for; those of NUMBERS are of a column of numbers.
COUNT, SHARE, AVERAGE, SUM, MEDIAN = "count", "share", "average", "sum", "median"
MEASURES = {
    COUNT: "How many rows", SHARE: "Which share of the rows", AVERAGE: "The average of",
    SUM: "The sum of", MEDIAN: "The median of",
}  # fmt: skip
NUMBERS = {AVERAGE: "avg", SUM: "sum", MEDIAN: "median"}

# Comparisons with one value, with two, with several, with none.
ONE = {
    "=": "is", "<>": "is not", "<": "is below", "<=": "is at most", ">": "is above",
    ">=": "is at least",
}  # fmt: skip
TWO = {"between": "is from … to"}
SEVERAL = {"in": "is one of", "not in": "is none of"}
NONE = {"is null": "is missing", "is not null": "is not missing"}
COMPARISONS = {**ONE, **TWO, **SEVERAL, **NONE}
ORDERED = {"<", "<=", ">", ">=", "between"}

# How the values of a column are put into classes: of numbers by a width, of dates by a part.
WIDTHS = ("5", "10", "20", "50", "100", "1000", "10000")
PERIODS = ("month", "quarter", "year")


@dataclass(frozen=True, slots=True)
class Condition:
    """A column compared with values, each as it is typed."""

    column: str
    comparison: str = "="
    values: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether it has as many values as its comparison needs."""
        if not self.column or self.comparison not in COMPARISONS:
            return False
        if self.comparison in NONE:
            return True
        needed = 2 if self.comparison in TWO else 1
        return len([value for value in self.values if value != ""]) >= needed


@dataclass(frozen=True, slots=True)
class Group:
    """A column to group by: each of its values, or classes of them (`step`)."""

    column: str
    step: str = ""


@dataclass(frozen=True, slots=True)
class Built:
    """A question. `of` is the column of a sum or average, `part` what a share is the share of."""

    measure: str = COUNT
    of: str = ""
    part: Condition | None = None
    groups: tuple[Group, ...] = ()
    conditions: tuple[Condition, ...] = ()

    def without_group(self, place: int) -> Built:
        """The same question without one of its groups."""
        return replace(self, groups=(*self.groups[:place], *self.groups[place + 1 :]))

    def with_step(self, place: int, step: str) -> Built:
        """The same question with one of its groups in classes."""
        group = replace(self.groups[place], step=step)
        return replace(self, groups=(*self.groups[:place], group, *self.groups[place + 1 :]))

    def without_condition(self, place: int) -> Built:
        """The same question without one of its conditions."""
        kept = (*self.conditions[:place], *self.conditions[place + 1 :])
        return replace(self, conditions=kept)
