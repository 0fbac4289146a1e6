"""Ask: a question by clicking or in SQL, and its answer.

Enters: forms. Leaves: pages. Must not know: how a question is answered. A question gets an id, and
its page keeps it with its answer, so that one can go back to it; nothing of it is in an address.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from countveil.errors import CountveilError, QueryError
from countveil.web.analyst.builder.built import Built
from countveil.web.analyst.builder.fields import built_of_form
from countveil.web.analyst.builder.read_back import built_from
from countveil.web.analyst.builder.vocabulary import VOCABULARY
from countveil.web.analyst.builder.written import sql_of
from countveil.web.analyst.handling import framed, state_of, to, with_form
from countveil.web.analyst.lines import ask_lines
from countveil.web.analyst.offered import offered
from countveil.web.analyst.questions import METHODS, Asked, Outcome, View
from countveil.web.analyst.shown import shown
from countveil.web.analyst.state import first_question
from countveil.web.forms import Form
from countveil.web.rendering import Pages

# A question that takes longer gets a page of its own meanwhile, in seconds.
_PATIENCE = 1.0


def ask_routes(pages: Pages) -> list[BaseRoute]:
    """Where questions are asked and answered."""
    return _AskPages(pages).routes()


class _AskPages:
    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/ask/{release}", self.latest),
            Route("/question/{release}", with_form(self.ask), methods=["POST"]),
            Route("/draft/{question}", with_form(self.draft), methods=["POST"]),
            Route("/restart/{question}", with_form(self.restart), methods=["POST"]),
            Route("/give-up/{question}", with_form(self.give_up), methods=["POST"]),
            Route("/answer/{question}", self.answer),
        ]

    def latest(self, request: Request) -> Response:
        """The last question of a release, or a first one."""
        state = state_of(request)
        opened = state.release(request.path_params["release"])
        return to(f"/ask/answer/{state.latest(opened, View.ASK).id}")

    def ask(self, request: Request, form: Form) -> Response:
        """Ask what is in the form; the page of a wrong option keeps it."""
        state = state_of(request)
        opened = state.release(request.path_params["release"])
        sql = form.text("sql")
        try:
            asked = state.ask(opened, sql, options_of(form))
        except CountveilError as error:
            before = state.latest(opened, View.ASK)
            before.draft = sql
            return self._page(request, before, problem=str(error), status=400)
        asked.wait(_PATIENCE)
        return to(f"/ask/answer/{asked.id}")

    def draft(self, request: Request, form: Form) -> Response:
        """Keep one form of the question in step with the other, without asking it."""
        asked = state_of(request).question(request.path_params["question"])
        kinds = kinds_of(asked)
        if form.text("changed") == "sql":
            asked.draft, asked.building, asked.unfinished = form.text("sql"), None, ""
            return self._page(request, asked, changed="sql")
        asked.building, asked.unfinished = built_of_form(form, kinds), ""
        try:
            asked.draft = sql_of(asked.building, kinds)
        except QueryError as error:
            asked.unfinished = str(error)
        return self._page(request, asked, changed="builder")

    def restart(self, request: Request, form: Form) -> Response:
        """A question that the builder can show, in place of one that is SQL only."""
        asked = state_of(request).question(request.path_params["question"])
        asked.draft, asked.building = first_question(asked.opened, asked.view), None
        return to(f"/ask/answer/{asked.id}")

    def give_up(self, request: Request, form: Form) -> Response:
        asked = state_of(request).question(request.path_params["question"])
        asked.give_up()
        return to(f"/ask/answer/{asked.id}")

    def answer(self, request: Request) -> Response:
        """A question with its answer, or how far it is."""
        asked = state_of(request).question(request.path_params["question"])
        if request.headers.get("hx-request") and asked.wait(10.0):
            return Response(headers={"hx-refresh": "true"})
        return self._page(request, asked)

    def _page(
        self,
        request: Request,
        asked: Asked,
        *,
        changed: str = "",
        problem: str = "",
        status: int = 200,
    ) -> Response:
        state, opened = state_of(request), asked.opened
        built = building_of(asked)
        answered = shown(asked.answer) if asked.answer is not None and not changed else None
        whole = not changed and not request.headers.get("hx-request")
        return framed(
            self._pages, request, "ask.html",
            title="Ask", step="ask", opened=opened, asked=asked, built=built, changed=changed,
            facts=state.facts(opened), answered=answered, problem=problem, methods=METHODS,
            history=state.history(opened)[:30] if whole else [],
            offers=offered(asked, built, state.facts(opened)) if answered else [],
            lines=ask_lines(opened.typed, asked.draft, asked.options), status=status,
            running=asked.outcome is Outcome.RUNNING, **VOCABULARY,
        )  # fmt: skip


def kinds_of(asked: Asked) -> Mapping[str, str]:
    """The kind of each column."""
    from countveil.release import kind_of

    return {column.name: kind_of(column.type) for column in asked.opened.release.columns}


def building_of(asked: Asked) -> Built | None:
    """What the builder shows of a question; None if it is SQL only."""
    if asked.building is not None:
        return asked.building
    return built_from(asked.draft, kinds_of(asked))


def options_of(form: Form) -> dict[str, Any]:
    """How to answer."""
    method = form.text("method", "shrunk")
    level = form.number("level", 0.5, 0.9999)
    within = form.number("within", 0.001, 0.5)
    return {
        "method": method if method in METHODS else "shrunk",
        "level": 0.95 if level is None else level,
        "within": 0.10 if within is None else within,
        "weighted": form.text("weighted") == "yes",
    }
