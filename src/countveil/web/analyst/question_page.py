"""The page of a question: its form, its answer, what else may be asked.

Enters: a question as it stands. Leaves: a page. Must not know: routes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from countveil.errors import QueryError
from countveil.release import kind_of
from countveil.web.analyst.builder.built import SHARE, Built
from countveil.web.analyst.builder.read_back import built_from
from countveil.web.analyst.builder.vocabulary import VOCABULARY
from countveil.web.analyst.builder.written import axes_sql, where_sql
from countveil.web.analyst.handling import framed, state_of
from countveil.web.analyst.lines import Lines, ask_lines, crosstab_lines
from countveil.web.analyst.offered import offered
from countveil.web.analyst.questions import DEFAULTS, METHODS, Asked, Outcome, View
from countveil.web.analyst.shown import matrix, shown
from countveil.web.forms import Form
from countveil.web.rendering import Pages

_MOST_PAST = 30


def question_page(
    pages: Pages,
    request: Request,
    asked: Asked,
    *,
    changed: str = "",
    problem: str = "",
    status: int = 200,
) -> Response:
    """A question; `changed` is the form of it that has just been changed: the other one is sent."""
    state, opened = state_of(request), asked.opened
    facts, built = state.facts(opened), building_of(asked)
    crossed = asked.view is View.CROSSTAB
    if not request.headers.get("hx-request"):
        # Values to choose from; a large release shows them from the next page on.
        facts.wait(0.5)
    content: dict[str, Any] = {
        "asked": asked, "built": built, "changed": changed, "facts": facts, "problem": problem,
        "methods": METHODS, "running": asked.outcome is Outcome.RUNNING, "history": [],
        "answered": None, "matrix": None, "offers": [], **VOCABULARY,
    }  # fmt: skip
    if not changed:
        content["history"] = _past(state.history(opened), asked)
        if asked.answer is not None:
            answered = built_from(asked.sql, kinds_of(asked))
            shares = answered is not None and answered.measure == SHARE
            content["answered"] = shown(asked.answer, charted=not crossed, shares=shares)
            content["matrix"] = matrix(asked.answer) if crossed else None
            content["offers"] = _offers(asked, facts)
    return framed(
        pages,
        request,
        "crosstab.html" if crossed else "ask.html",
        title="Cross-tab" if crossed else "Ask",
        step=asked.view.value,
        opened=opened,
        lines=_lines(asked, built),
        status=status,
        **content,
    )


def _past(history: list[Asked], asked: Asked) -> list[Asked]:
    """Questions of the same screen that were asked, the last one first."""
    past = [q for q in history if q.outcome is not Outcome.NEW and q.view is asked.view]
    return past[:_MOST_PAST]


def _offers(asked: Asked, facts: Any) -> list[Any]:
    """Coarser questions; which they are is decided once."""
    if asked.offers is None:
        facts.wait(1.0)
        asked.offers = offered(asked, built_from(asked.sql, kinds_of(asked)), facts)
    return asked.offers


def _lines(asked: Asked, built: Built | None) -> Lines:
    """What does the same elsewhere, of the question as it stands in the form."""
    place, kinds = asked.opened.typed, kinds_of(asked)
    if asked.view is View.CROSSTAB and built is not None and len(built.groups) == 2:
        try:
            side, top = axes_sql(built, kinds)
            where = where_sql(built, kinds)
        except QueryError:
            return ask_lines(place, asked.draft, asked.options)
        return crosstab_lines(place, (side, top), where, asked.draft, asked.options)
    return ask_lines(place, asked.draft, asked.options)


def kinds_of(asked: Asked) -> Mapping[str, str]:
    """The kind of each column."""
    return {column.name: kind_of(column.type) for column in asked.opened.release.columns}


def building_of(asked: Asked) -> Built | None:
    """What the builder shows of a question; None if it is SQL only."""
    if asked.building is not None:
        return asked.building
    return built_from(asked.draft, kinds_of(asked))


def options_of(form: Form) -> dict[str, Any]:
    """How to answer; SettingsError says what an option cannot be."""
    method = form.text("method")
    level, within = form.number("level", 0.5, 0.9999), form.number("within", 0.001, 0.5)
    return {
        "method": method if method in METHODS else DEFAULTS["method"],
        "level": DEFAULTS["level"] if level is None else level,
        "within": DEFAULTS["within"] if within is None else within,
        "weighted": form.text("weighted") == "yes",
    }
