"""One row of each person: which one, and how many rows are then left.

Enters: a draft and the columns of its table, what was chosen in a form. Leaves: what a screen
offers, and the option `one_per` that says it. Must not know: pages, how rows are chosen.

A row that is drawn is not offered: whoever attacks the release afterwards must find the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from countveil.errors import InputError, SettingsError
from countveil.publishing.advise.inspecting.inspection import Inspection
from countveil.release.values import DATE, NUMBER, TEXT, TIMESTAMP, kind_of
from countveil.tables.one_per import FIRST, LAST, OnePer
from countveil.web.forms import Form
from countveil.web.jobs import Job
from countveil.web.publisher.draft import Draft

ALL = "all"
_KINDS = {TIMESTAMP: 0, DATE: 0, NUMBER: 1, TEXT: 2}
_IN_WORDS = {
    ALL: "all are published; those with the same value publish alike",
    FIRST: "only the first one is published",
    LAST: "only the last one is published",
}


@dataclass(frozen=True, slots=True)
class OneRow:
    """What is offered, what is chosen, and the effect of it as far as it is counted."""

    row: str
    by: str
    columns: Sequence[tuple[int, str]]
    job: Job | None
    rows: int | None

    @property
    def choices(self) -> dict[str, str]:
        """All that can be chosen, in words."""
        return _IN_WORDS

    @property
    def problem(self) -> str:
        """Why it cannot be done with this table."""
        return "" if self.job is None else self.job.error


def one_row_arguments(draft: Draft, arguments: dict[str, Any]) -> dict[str, Any]:
    """What is counted to show the effect; `arguments` read the table without it."""
    return {**arguments, "one_per": {draft.person: draft.one_per}}


def offered(draft: Draft, facts: Inspection, job: Job | None, kept: Inspection | None) -> OneRow:
    """What the person's column offers; `job` counts the rows, of which `kept` are left."""
    chosen = OnePer.of(str(draft.person), draft.one_per) if draft.one_per else None
    columns = [(n, facts.columns[n].name) for n in _places(facts, draft)]
    rows = None if kept is None else kept.rows
    if chosen is None:
        return OneRow(ALL, "", columns, job, rows)
    return OneRow(chosen.row, str(chosen.by), columns, job, rows)


def chosen_row(draft: Draft, facts: Inspection, form: Form) -> str:
    """The option that says what was chosen; empty for all rows."""
    if draft.person is None:
        raise InputError("No column is the person any more. Choose it first.")
    row, place = form.text("row"), form.whole("by", 0, 100_000)
    if row == ALL:
        return ""
    if row not in _IN_WORDS:
        raise SettingsError("All rows of a person are published, only the first, or only the last.")
    if place not in _places(facts, draft):
        raise SettingsError(
            f"Which row of a person is the {row} one? Choose the column that says it: a date, a "
            f"time or a number."
        )
    text = f"{row} by {facts.columns[place].name}"
    OnePer.of(draft.person, text)
    return text


def _places(facts: Inspection, draft: Draft) -> list[int]:
    """The columns that may say which row is the first: dates, then numbers, then texts."""
    kinds = [_KINDS.get(kind_of(column.type)) for column in facts.columns]
    others = [(kind, n) for n, kind in enumerate(kinds) if facts.columns[n].name != draft.person]
    return [n for _, n in sorted((kind, n) for kind, n in others if kind is not None)]
