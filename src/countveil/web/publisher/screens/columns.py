"""The screen *Columns*: what each holds, what becomes of it, and what coarser values would do.

Enters: roles by a click, options about values as texts. Leaves: a draft. Must not know: how
anything is counted. A page names a column by its place in the table, because a name may be hostile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup
from starlette.routing import BaseRoute

from countveil.errors import InputError, SettingsError
from countveil.publishing.advise.inspecting.inspection import InspectedColumn, Inspection
from countveil.publishing.advise.inspecting.values import ColumnValues
from countveil.release.values import NUMBER, kind_of
from countveil.tables import table_options
from countveil.tables.recode import is_inline
from countveil.web.forms import Form
from countveil.web.jobs import Job
from countveil.web.publisher.by_value import (
    labels_open,
    listed_values,
    merged_texts,
    values_arguments,
)
from countveil.web.publisher.draft import BY_COLUMN, LISTS, Draft
from countveil.web.publisher.one_row import OneRow, chosen_row, offered, one_row_arguments
from countveil.web.publisher.screens.frame import Asked, Screens, lines_for
from countveil.web.publisher.screens.table import checked_address
from countveil.web.publisher.state import PublisherState
from countveil.web.publisher.steps import facts_arguments, result_of

ROLES = ("protect", "publish", "drop", "person", "weight")
_BARS = "▁▂▃▄▅▆▇█"
_FILES = ("merge", "labels", "levels", "domain")
_NAME = "columns"


@dataclass(frozen=True, slots=True)
class ColumnRow:
    """A column on the screen: what it is, and before its values were prepared."""

    place: int
    column: InspectedColumn
    before: InspectedColumn | None
    role: str
    picture: Markup
    texts: dict[str, str]
    problem: str = ""

    @property
    def changed(self) -> bool:
        """Whether preparing its values has an effect to be shown."""
        return self.before is not None and bool(self.texts)

    @property
    def roles(self) -> Sequence[str]:
        """What may become of it, as one click; few columns are weights."""
        return [role for role in ROLES if role != ("person" if self.role == "weight" else "weight")]

    @property
    def can_weigh(self) -> bool:
        """Whether it could be the weight of rows: only numbers that are published can."""
        return self.role == "publish" and kind_of(self.column.type) == NUMBER

    @property
    def options_open(self) -> bool:
        """Whether something was typed that the list of values does not show."""
        return any(o not in LISTS or not is_inline(text) for o, text in self.texts.items())


def columns_routes(screens: Screens) -> list[BaseRoute]:
    """The screen and its forms."""
    return screens.routes(
        _NAME,
        _content,
        {
            "role": _role,
            "values": _values,
            "list": _list,
            "by-value": _by_value,
            "suggested": _suggested,
            "missing": _missing,
            "one-per": _one_per,
        },
    )


def latest_facts(state: PublisherState) -> tuple[Job, Inspection | None]:
    """The job about the columns as they are prepared, and the best that is known of them yet."""
    job = state.begin("facts", **facts_arguments(state.draft))
    plain = state.job("facts", **facts_arguments(state.draft, prepared=False))
    known = result_of(job)
    return job, known if known is not None else result_of(plain)


def _content(state: PublisherState, asked: Asked) -> dict[str, Any]:
    draft = state.draft
    job, facts = latest_facts(state)
    unchanged = _before(state)
    before = result_of(unchanged)
    one_row = None if facts is None else _one_row(state, facts)
    counting = None if one_row is None else one_row.job
    job = next((each for each in (job, unchanged, counting) if each and each.running), job)
    rows = [] if facts is None else _rows(facts, before, draft, job, asked)
    suggested = [] if facts is None else [c.name for c in facts.columns if c.role == "sensitive"]
    return {
        "job": job,
        "facts": facts,
        "rows": rows,
        "suggested": [name for name in suggested if name not in draft.sensitive],
        "marks": [] if facts is None else _marks(facts, draft),
        "options": BY_COLUMN,
        "one_row": one_row,
        **_listing(state),
        "lines": lines_for(state, "inspect"),
    }


def _before(state: PublisherState) -> Job | None:
    """What is known of the values before they are prepared, if they are."""
    plain = facts_arguments(state.draft, prepared=False)
    known = state.job("facts", **plain)
    if result_of(known) is not None or not state.draft.by_column:
        return known
    return state.begin("before", **plain)


def _one_row(state: PublisherState, facts: Inspection) -> OneRow | None:
    """Which row of a person is kept, and how many that are."""
    draft = state.draft
    if draft.person is None:
        return None
    job = None
    if draft.one_per:
        plain = facts_arguments(draft)
        kept = one_row_arguments(draft, plain["arguments"])
        job = state.begin("one_row", table=draft.table, arguments=kept)
    return offered(draft, facts, job, result_of(job))


def _one_per(state: PublisherState, form: Form) -> None:
    """All rows of a person, or the first or last one alone."""
    _, facts = latest_facts(state)
    if facts is None:
        raise InputError("That column is not known any more. Look at the table again.")
    text = chosen_row(state.draft, facts, form)
    state.change(lambda draft: replace(draft, one_per=text), "rows of a person")


def _marks(facts: Inspection, draft: Draft) -> list[str]:
    named = draft.reading.get("missing", ())
    return [mark for mark in facts.missing_marks if mark not in named]


def _rows(
    facts: Inspection, before: Inspection | None, draft: Draft, job: Job, asked: Asked
) -> list[ColumnRow]:
    known = {} if before is None else {column.name: column for column in before.columns}
    return [
        ColumnRow(
            place,
            column,
            known.get(column.name),
            draft.role(column.name),
            histogram(column.histogram),
            draft.texts(column.name),
            _problem(column.name, place, job, asked),
        )
        for place, column in enumerate(facts.columns)
    ]


def _problem(name: str, place: int, job: Job, asked: Asked) -> str:
    """What is wrong with what was typed about this column."""
    if asked.problem and asked.subject == str(place):
        return asked.problem
    return job.error if job.error and repr(name) in job.error else ""


def histogram(bars: str) -> Markup:
    """The small histogram of an inspection, drawn."""
    heights = [_BARS.index(bar) + 1 for bar in bars if bar in _BARS]
    if not heights:
        return Markup("")
    rects = Markup("").join(
        Markup('<rect x="{}" y="{}" width="7" height="{}"/>').format(
            9 * place, 24 - 3 * height, 3 * height
        )
        for place, height in enumerate(heights)
    )
    return Markup(
        '<svg class="histogram" viewBox="0 0 {} 24" width="{}" height="24" aria-hidden="true">'
        "{}</svg>"
    ).format(9 * len(heights), 9 * len(heights), rects)


def column_at(state: PublisherState, form: Form) -> InspectedColumn:
    """The column that a form is about."""
    _, facts = latest_facts(state)
    place = form.whole("subject", 0, 100_000)
    if facts is None or place is None or place >= len(facts.columns):
        raise InputError("That column is not known any more. Look at the table again.")
    return facts.columns[place]


def _role(state: PublisherState, form: Form) -> None:
    column, role = column_at(state, form), form.text("role")
    if role not in ROLES:
        raise InputError(f"A column can be one of {', '.join(ROLES)}.")
    state.change(lambda draft: _in_role(draft, column, role), f"{role}: {column.name}")


def _in_role(draft: Draft, column: InspectedColumn, role: str) -> Draft:
    """A column of many numbers is protected in classes; those that the inspection suggests."""
    changed = draft.with_role(column.name, role)
    if role == "protect" and column.bins and not draft.texts(column.name):
        return changed.with_texts(column.name, {"bins": column.bins})
    return changed


def _suggested(state: PublisherState, _form: Form) -> None:
    """Protect what sounds as if it should be."""
    _, facts = latest_facts(state)

    def as_suggested(draft: Draft) -> Draft:
        for column in facts.columns if facts is not None else ():
            if column.role == "sensitive" and draft.role(column.name) == "publish":
                draft = _in_role(draft, column, "protect")
        return draft

    state.change(as_suggested, "the suggested roles")


def _missing(state: PublisherState, _form: Form) -> None:
    """Take the marks as missing that look like it."""
    _, facts = latest_facts(state)

    def with_marks(draft: Draft) -> Draft:
        marks = [] if facts is None else _marks(facts, draft)
        missing = [*draft.reading.get("missing", ()), *marks]
        return replace(draft, reading={**draft.reading, "missing": missing})

    state.change(with_marks, "marks of missing values")


def _values(state: PublisherState, form: Form) -> None:
    """Classes, merged values, labels: checked as the functions check them."""
    column = column_at(state, form)
    texts = {option: form.text(option) for option in BY_COLUMN}
    texts = {option: _with_file(state, option, text) for option, text in texts.items()}
    changed = state.draft.with_texts(column.name, texts)
    table_options(**changed.reading_arguments())
    state.change(lambda draft: draft.with_texts(column.name, texts), f"values of {column.name}")


def _list(state: PublisherState, form: Form) -> None:
    """List the values of a column to choose from, or no longer."""
    column = column_at(state, form)
    state.listed = column.name if form.text("show") == "yes" else ""


def _listing(state: PublisherState) -> dict[str, Any]:
    """The values of the column that is looked at, and what becomes of each."""
    draft, name = state.draft, state.listed
    if not name or "bins" in draft.texts(name):
        return {"listed": name, "listing": None, "values": (), "labels_open": False}
    job = state.begin("values", **values_arguments(draft, name))
    values: ColumnValues | None = result_of(job)
    return {
        "listed": name,
        "listing": job,
        "values": () if values is None else listed_values(draft, values),
        "labels_open": values is not None and labels_open(draft, values),
    }


def _by_value(state: PublisherState, form: Form) -> None:
    """Merge the chosen values, part them, or give labels: as the options say it."""
    column = column_at(state, form)
    job = state.job("values", **values_arguments(state.draft, column.name))
    values: ColumnValues | None = result_of(job)
    if job is None or values is None or form.text("listing") != job.id:
        raise InputError("The values have changed meanwhile. Look at what is listed now.")
    places = range(len(values.values))
    chosen = {place for place in places if form.text(f"chosen-{place}")}
    open_labels = labels_open(state.draft, values)
    typed = {place: form.text(f"label-{place}") for place in places if open_labels}
    into, wanted = form.text("into"), form.text("do")
    if wanted == "label":
        chosen, into = set(), ""
    elif not chosen:
        raise SettingsError("Choose the values first: tick the boxes beside them.")
    elif wanted == "apart":
        into = ""
    elif not into:
        raise SettingsError("Name what the chosen values become together.")
    texts = merged_texts(state.draft, values, chosen, into, typed)
    changed = state.draft.with_texts(column.name, texts)
    table_options(**changed.reading_arguments())
    state.change(lambda draft: draft.with_texts(column.name, texts), f"values of {column.name}")


def _with_file(state: PublisherState, option: str, text: str) -> str:
    """A file that an option names must lie below the root, and is named from this folder."""
    rules = ("rare:", "prefix:", "public:", "{")
    if option not in _FILES or not text or text.lower().startswith(rules):
        return text
    file, mark, level = text.rpartition(":") if option == "levels" else (text, "", "")
    return checked_address(state.places, file) + mark + level
