"""What a release shows of its columns: roles, types, values and how many rows have each.

Enters: an opened release. Leaves: facts by column, every count an answer of the release. Must not
know: pages. No row is shown: a row's published value is not that person's.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from countveil.errors import CountveilError
from countveil.maths.estimate import Estimate
from countveil.release import PublishedColumn
from countveil.release.values import BOOLEAN, NUMBER, TEXT, kind_of
from countveil.sql.dialects.literals import name_text
from countveil.web.analyst.opened import OpenRelease

# Beyond so many values a column is described by its ends, and typed rather than picked.
MOST_VALUES = 300


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value and how many rows have it; `label` is what it stands for."""

    value: Any
    label: str
    count: Estimate | None


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column. `distinct` is None where it is not known yet, `values` empty where they are many.

    `low` and `high` are the ends of a column of plain numbers.
    """

    name: str
    role: str
    type: str
    kind: str
    label: str = ""
    ell: int | None = None
    groups: str = ""
    distinct: int | None = None
    values: Sequence[ValueCount] = ()
    low: float | None = None
    high: float | None = None
    problem: str = ""

    @property
    def is_sensitive(self) -> bool:
        """Whether its rows publish drawn values."""
        return self.role == "sensitive"

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers."""
        return self.kind == NUMBER

    @property
    def listed(self) -> list[Any]:
        """The values themselves, without the missing one."""
        return [each.value for each in self.values if each.value is not None]


@dataclass(slots=True)
class Facts:
    """The facts of all columns, counted in a thread; those not counted yet have no counts."""

    opened: OpenRelease
    columns: list[ColumnFacts] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _stopped: bool = False

    def __post_init__(self) -> None:
        """Begin at once."""
        self.columns = [_uncounted(self.opened, column) for column in self.opened.release.columns]
        threading.Thread(target=self._count, name="countveil-facts", daemon=True).start()

    def stop(self) -> None:
        """Count no further column."""
        self._stopped = True

    @property
    def complete(self) -> bool:
        """Whether all columns are counted."""
        return self._over.is_set()

    def wait(self, seconds: float) -> bool:
        """Whether all columns are counted within this time."""
        return self._over.wait(seconds)

    def column(self, name: str) -> ColumnFacts | None:
        """The column of exactly this name."""
        return next((column for column in self.columns if column.name == name), None)

    def _count(self) -> None:
        for place, column in enumerate(self.columns):
            if self._stopped:
                break
            self.columns[place] = self._with_counts(column)
        self._over.set()

    def _with_counts(self, column: ColumnFacts) -> ColumnFacts:
        """A column with its counts, or with what stands in their way."""
        try:
            return _counted(self.opened, column)
        except CountveilError as error:
            return _with(column, problem=str(error))
        except (Exception, KeyboardInterrupt) as fault:  # noqa: BLE001 - its text may quote data
            return _with(column, problem=f"It could not be counted ({type(fault).__name__}).")


def _uncounted(opened: OpenRelease, column: PublishedColumn) -> ColumnFacts:
    """What the manifest alone says."""
    manifest = opened.manifest
    entry = manifest.sensitive.get(column.name)
    labels = manifest.codebook.get(column.name)
    role = "weight" if column.name == manifest.weight else column.role
    facts = ColumnFacts(
        column.name, role, column.type, kind_of(column.type), labels.label if labels else ""
    )
    if entry is None:
        return facts
    listed = [ValueCount(value, _label(opened, column.name, value), None) for value in entry.domain]
    return _with(
        facts, ell=entry.ell, groups=entry.groups, distinct=len(listed), values=listed[:MOST_VALUES]
    )


def _counted(opened: OpenRelease, column: ColumnFacts) -> ColumnFacts:
    """With the counts of the whole table."""
    name = name_text(column.name)
    if not column.is_sensitive:
        (number,) = opened.sql_later(f"SELECT count(DISTINCT {name}) AS n FROM release").estimates
        column = _with(column, distinct=int(number.estimate or 0))
        if column.is_number:
            column = _with_ends(opened, column, name)
        if (column.distinct or 0) > MOST_VALUES:
            return column
    answer = opened.sql_later(f"SELECT {name}, count(*) FROM release GROUP BY {name}")
    values = [
        ValueCount(value, _label(opened, column.name, value), count)
        for (value,), count in zip(answer.groups, answer.estimates, strict=True)
    ]
    return _with(column, values=values[:MOST_VALUES])


def _with_ends(opened: OpenRelease, column: ColumnFacts, name: str) -> ColumnFacts:
    query = f"SELECT min({name}) AS low, max({name}) AS high FROM release"
    low, high = (block.estimates[0].estimate for block in opened.sql_later(query).blocks)
    return _with(column, low=low, high=high)


def _with(column: ColumnFacts, **changes: Any) -> ColumnFacts:
    from dataclasses import replace

    return replace(column, **changes)


def _label(opened: OpenRelease, name: str, value: Any) -> str:
    labels = opened.manifest.codebook.get(name)
    return labels.values.get(str(value), "") if labels and value is not None else ""


def completions(facts: Facts) -> dict[str, Any]:
    """What the editor of SQL proposes."""
    plain = (TEXT, BOOLEAN, NUMBER)
    return {
        "columns": [
            {
                "name": column.name,
                "role": column.role,
                "values": [v for v in column.listed if isinstance(v, str | int | float)]
                if column.kind in plain
                else [str(v) for v in column.listed],
            }
            for column in facts.columns
        ],
        "functions": [
            "count(*)", "sum", "avg", "median", "quantile_cont", "stddev", "variance", "min", "max",
            "count_if", "lower", "upper", "left", "right", "length", "round", "floor", "coalesce",
            "year", "quarter", "month", "date_trunc",
        ],
        "tables": ["release"],
    }  # fmt: skip
