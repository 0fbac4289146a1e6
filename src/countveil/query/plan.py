"""What to tally for a query, and which cells to answer.

Enters: an outline of the query and the roles of the columns. Leaves: a `CountQuery`: one tally for
the engine over non-sensitive conditions and groups, and the sensitive column whose published values
it counts. Must not know: engines, estimators.

Conditions on a sensitive column are taken out here. They never filter rows: the published value of
a row is not its true one, so the tally counts all published values and the estimate corrects them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from countveil.errors import QueryError
from countveil.query.conditions import AllOf, Compare, Condition, IsNull
from countveil.query.names import ReleaseColumns
from countveil.query.parse import Outline


@dataclass(frozen=True, slots=True)
class Tally:
    """Count the rows that meet `where`, by `group_by` and by published value of `sensitive`."""

    where: AllOf
    group_by: tuple[str, ...]
    sensitive: str | None


@dataclass(frozen=True, slots=True)
class Only:
    """The one value of the sensitive column that is asked for; None stands for missing."""

    value: Any


@dataclass(frozen=True, slots=True)
class CountQuery:
    """A tally and the cells to answer: all values of the sensitive column, or only one."""

    tally: Tally
    selected: tuple[str, ...]
    only: Only | None


def plan_count(outline: Outline, columns: ReleaseColumns) -> CountQuery:
    """Separate what is published as it is from what must be estimated."""
    plain: list[Condition] = []
    only: dict[str, Only] = {}
    for condition in outline.where.parts:
        name = getattr(condition, "column", "")
        if columns.find(name).role != "sensitive":
            plain.append(condition)
            continue
        value = _wanted(condition)
        if name in only and only[name] != value:
            raise QueryError(
                f"Column {name!r} is compared with two values; a row has one. Ask for one."
            )
        only[name] = value
    grouped = [name for name in outline.group_by if columns.find(name).role == "sensitive"]
    sensitive = list(dict.fromkeys([*only, *grouped]))
    if len(sensitive) > 1:
        raise QueryError(
            f"The query uses {len(sensitive)} sensitive columns ({', '.join(sensitive)}). "
            f"One sensitive column per query is supported."
        )
    name = sensitive[0] if sensitive else None
    keys = tuple(key for key in outline.group_by if key not in sensitive)
    return CountQuery(
        Tally(AllOf(tuple(plain)), keys, name),
        outline.selected,
        only.get(name) if name is not None else None,
    )


def _wanted(condition: Condition) -> Only:
    if isinstance(condition, Compare) and condition.operator == "=":
        return Only(condition.value)
    if isinstance(condition, IsNull) and not condition.negated:
        return Only(None)
    name = getattr(condition, "column", "")
    raise QueryError(
        f"Column {name!r} is sensitive. On a sensitive column, supported are = with one value, "
        f"IS NULL, and GROUP BY."
    )
