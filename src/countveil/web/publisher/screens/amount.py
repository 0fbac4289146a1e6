"""The screen *How much*: wishes, what every method and ell would do, and the choice.

Enters: wishes, a choice by a slider or from a table. Leaves: a draft. Must not know: how anything
was measured.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from starlette.routing import BaseRoute

from countveil.errors import InputError, SettingsError
from countveil.maths.groups import ColumnSettings
from countveil.publishing.advise.advice import Advice
from countveil.publishing.advise.methods import METHODS, MethodFigures
from countveil.publishing.advise.pairs.advice import pair_head, pair_sentences, pair_table
from countveil.publishing.advise.questions import read_questions
from countveil.publishing.advise.recommend import Goal
from countveil.publishing.advise.tables import question_sentence, question_table
from countveil.web.forms import Form
from countveil.web.publisher.draft import Draft
from countveil.web.publisher.measured import (
    ColumnView,
    line_at,
    method_of,
    plain_method,
    views_of,
)
from countveil.web.publisher.screens.frame import Asked, Change, Screens, lines_for
from countveil.web.publisher.state import PublisherState
from countveil.web.publisher.steps import PUBLIC, advice_arguments, result_of

_NAME = "amount"


def amount_routes(screens: Screens) -> list[BaseRoute]:
    """The screen and its forms."""
    forms: dict[str, Change] = {
        "wishes": _wishes,
        "measure": _measure,
        "method": _method,
        "take": _take,
        "recommended": _recommended,
        "together": _together,
        "typed": _typed,
    }
    return [
        *screens.routes(_NAME, _content, forms),
        screens.form(_NAME, "slide", _slid, _slide),
    ]


def _content(state: PublisherState, _asked: Asked) -> dict[str, Any]:
    draft = state.draft
    job = state.job("advise", **advice_arguments(draft))
    advice: Advice | None = result_of(job)
    pairs = [] if advice is None else [pair for pair in advice.pairs if pair.lines]
    return {
        "job": job,
        "advice": advice,
        "views": _views(state),
        "goal": Goal.of(draft.accuracy or None, draft.hide),
        "questions": []
        if advice is None
        else [
            (each.question, question_table(each), question_sentence(each))
            for each in advice.questions
        ],
        "pairs": [(one, pair_head(one), pair_table(one), pair_sentences(one)) for one in pairs],
        "joined": [] if advice is None else advice.arguments().get("together", []),
        "declared": {*draft.by_column.get("domain", {}), *draft.by_column.get("bins", {})},
        "lines": lines_for(state, "advise"),
    }


def _views(state: PublisherState) -> list[ColumnView]:
    job = state.job("advise", **advice_arguments(state.draft))
    parts = [] if job is None else list(job.parts)
    return views_of(state.draft, parts, result_of(job))


def _slid(state: PublisherState, asked: Asked) -> dict[str, Any]:
    """Only the figures, where the slider moved: the slider itself stays."""
    content = _content(state, asked)
    if asked.problem:
        return content
    return {
        **content,
        "body": "publisher/figures.html",
        "view": content["views"][int(asked.subject)],
        "alone": True,
    }


def _view(state: PublisherState, form: Form) -> ColumnView:
    views, place = _views(state), form.whole("subject", 0, 10_000)
    if place is None or place >= len(views):
        raise InputError("That column is not protected any more.")
    return views[place]


def _wishes(state: PublisherState, form: Form) -> None:
    """What counts should be like; then it is measured."""
    share, error = form.text("share"), form.text("error")
    accuracy = ""
    if share or error:
        accuracy = f"{_number(share, 'The share')}%:{_number(error, 'The error')}%"
    hide = form.whole("hide", 1, 1_000_000_000, "The largest count to hide")
    odds = form.number("odds", 1.0, 1e12, "The odds")
    Goal.of(accuracy or None, hide)
    questions = _questions(form.text("questions"))
    if odds is not None:
        ColumnSettings(5, odds=odds)
    public = {int(text) for text in form.texts("public") if text.isdecimal()}

    def wished(draft: Draft) -> Draft:
        changed = replace(
            draft, accuracy=accuracy, hide=hide, questions=questions, wished_odds=odds
        )
        for place, name in enumerate(draft.sensitive):
            known = draft.texts(name).get("domain", "")
            # Classes are declared by their edges.
            if place in public and not known and "bins" not in draft.texts(name):
                changed = changed.with_texts(name, {"domain": PUBLIC})
            elif place not in public and known == PUBLIC:
                changed = changed.with_texts(name, {"domain": ""})
        return changed if odds is not None else replace(changed, odds=None)

    state.change(wished, "the wishes")
    state.begin("advise", **advice_arguments(state.draft))


def _questions(text: str) -> str:
    """Questions in SQL; the name of a file is none, since files are picked."""
    if not text:
        return ""
    asked = read_questions([text])
    if not all(re.match(r"select\b", each, re.IGNORECASE) for each in asked):
        raise SettingsError(
            "Your questions are SELECT statements with semicolons between them, such as "
            "SELECT region, count(*) FROM release GROUP BY ALL."
        )
    return ";\n".join(asked)


def _number(text: str, what: str) -> str:
    if not re.fullmatch(r"\d{1,3}(\.\d{1,6})?", text.removesuffix("%").strip(), re.ASCII):
        raise SettingsError(f"{what} is a number of percent between 0 and 100; got {text[:20]!r}.")
    return text.removesuffix("%").strip()


def _measure(state: PublisherState, _form: Form) -> None:
    state.begin("advise", **advice_arguments(state.draft))


def _method(state: PublisherState, form: Form) -> None:
    """Another method, at the nearest ell that was measured with it."""
    view, name = _view(state, form), form.text("method")
    method = next((each for each in view.methods if each.name == name), None)
    if method is None or not method.lines:
        raise SettingsError("Nothing was measured with that method.")
    wanted = view.ell or view.recommended_ell or 5
    line = min(method.lines, key=lambda each: abs(each.ell - wanted))
    _choose(state, view, line)


def _take(state: PublisherState, form: Form) -> None:
    """A line of the table: its method and ell."""
    view, pick = _view(state, form), form.text("pick")
    measured = [each for method in view.methods for each in method.lines]
    chosen = [line for line in measured if f"{line.method}:{line.ell}" == pick]
    if not chosen:
        raise SettingsError("That was not measured. Choose a line of the table.")
    _choose(state, view, chosen[0])


def _slide(state: PublisherState, form: Form) -> Asked:
    view = _view(state, form)
    line = line_at(view, form.whole("place", 0, 10_000) or 0)
    if line is None:
        raise SettingsError("The slider stands where nothing was measured.")
    _choose(state, view, line)
    return Asked(subject=str(view.place))


def _choose(state: PublisherState, view: ColumnView, line: MethodFigures) -> None:
    def chosen(draft: Draft) -> Draft:
        changed = draft.with_method(view.name, plain_method(line), line.ell, line.odds)
        joined = [names for names in draft.together if view.name in names]
        ells = {name: line.ell for names in joined for name in names}
        changed = replace(changed, sensitive={**changed.sensitive, **ells})
        same = (changed.groups, changed.odds) == (draft.groups, draft.odds)
        return changed if same else _as_measured(changed, _views(state), kept={view.name, *ells})

    state.change(chosen, f"how much for {view.name}", joins=True)


def _as_measured(draft: Draft, views: Sequence[ColumnView], kept: set[str]) -> Draft:
    """Random groups and a bound are for all columns: others must be possible with them too."""
    known = {
        view.name: {(line.method, line.ell) for method in view.methods for line in method.lines}
        for view in views
    }
    ells = {
        name: ell if name in kept or (method_of(draft, name), ell) in known[name] else None
        for name, ell in draft.sensitive.items()
    }
    return replace(draft, sensitive=ells)


def _recommended(state: PublisherState, _form: Form) -> None:
    """All that was recommended, for all columns."""
    advice: Advice | None = result_of(state.job("advise", **advice_arguments(state.draft)))
    arguments = {} if advice is None else advice.arguments()
    if not arguments:
        raise SettingsError("There is no recommendation for every column; choose by hand.")
    common = arguments.get("common", {})

    def taken(draft: Draft) -> Draft:
        every = dict.fromkeys(draft.sensitive, "auto") if common == "auto" else dict(common)
        return replace(
            draft,
            sensitive={name: arguments["sensitive"][name] for name in draft.sensitive},
            groups=arguments.get("groups", "mixed"),
            common=every,
            odds=arguments.get("odds"),
            together=tuple(tuple(names) for names in arguments.get("together", ())),
        )

    state.change(taken, "what is recommended")


def _together(state: PublisherState, form: Form) -> None:
    """Two columns in one draw, or apart again."""
    advice: Advice | None = result_of(state.job("advise", **advice_arguments(state.draft)))
    place = form.whole("pair", 0, 10_000) or 0
    pairs = [] if advice is None else [pair for pair in advice.pairs if pair.lines]
    if place >= len(pairs):
        raise InputError("These columns are not compared any more.")
    names, ell = pairs[place].columns, pairs[place].recommendation.ell
    if form.text("how") == "apart":
        state.change(
            lambda draft: replace(
                draft,
                together=tuple(one for one in draft.together if not {*names} <= {*one}),
            ),
            "columns apart",
        )
        return
    ells = dict.fromkeys(names, ell) if ell is not None else {}
    state.change(
        lambda draft: replace(
            draft, together=(*draft.together, tuple(names)), sensitive={**draft.sensitive, **ells}
        ),
        "columns together",
    )


def _typed(state: PublisherState, form: Form) -> None:
    """An ell as it is typed, for who knows it without measuring."""
    view = _view(state, form)
    ell, method = form.whole("ell", 2, 1_000_000, "Ell"), form.text("method")
    if ell is None or method not in METHODS:
        raise SettingsError("Type an ell of 2 or more, and choose a method.")
    ColumnSettings(ell)
    state.change(
        lambda draft: draft.with_method(view.name, method, ell, draft.odds),
        f"how much for {view.name}",
    )
