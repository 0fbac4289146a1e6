"""Ask: a question by clicking or in SQL, or as a cross-tab, and its answer.

Enters: forms. Leaves: pages and files. Must not know: how a question is answered. A question gets
an id, and its page keeps it with its answer, so that one can go back to it; nothing of it is in an
address.
"""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from countveil.errors import CountveilError, QueryError
from countveil.web.analyst.builder.fields import built_of_form, same_question
from countveil.web.analyst.builder.read_back import built_from
from countveil.web.analyst.builder.written import sql_of
from countveil.web.analyst.exports import exported
from countveil.web.analyst.handling import state_of, to, with_form
from countveil.web.analyst.question_page import (
    kinds_of,
    options_of,
    question_page,
)
from countveil.web.analyst.questions import Asked, Outcome, View
from countveil.web.analyst.state import first_question
from countveil.web.forms import Form
from countveil.web.rendering import Pages

# A question that takes longer gets a page of its own meanwhile, in seconds.
_PATIENCE = 1.0
# How long a page that follows a question waits for it at a time.
_FOLLOWED = 10.0


def ask_routes(pages: Pages) -> list[BaseRoute]:
    """Where questions are asked and answered."""
    handlers = _AskPages(pages)
    return [
        Route("/ask/{release}", handlers.latest),
        Route("/crosstab/{release}", handlers.latest_crosstab),
        Route("/question/{release}", with_form(handlers.ask), methods=["POST"]),
        Route("/cross/{question}", with_form(handlers.cross), methods=["POST"]),
        Route("/draft/{question}", with_form(handlers.draft), methods=["POST"]),
        Route("/restart/{question}", with_form(handlers.restart), methods=["POST"]),
        Route("/give-up/{question}", with_form(handlers.give_up), methods=["POST"]),
        Route("/answer/{question}", handlers.answer),
        Route("/export/{question}/{form}", handlers.export),
    ]


class _AskPages:
    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def latest(self, request: Request) -> Response:
        """The last question of a release, or a first one."""
        return self._latest(request, View.ASK)

    def latest_crosstab(self, request: Request) -> Response:
        """The last cross-tab of a release, or a first one."""
        return self._latest(request, View.CROSSTAB)

    def _latest(self, request: Request, view: View) -> Response:
        state = state_of(request)
        opened = state.release(request.path_params["release"])
        return to(f"/ask/answer/{state.latest(opened, view).id}")

    def ask(self, request: Request, form: Form) -> Response:
        """Ask what is in the form; where an option is wrong, the page keeps all of it."""
        state = state_of(request)
        opened = state.release(request.path_params["release"])
        sql = form.text("sql").replace("\r\n", "\n")
        view = View.CROSSTAB if form.text("view") == View.CROSSTAB else View.ASK
        before = state.known(form.text("from")) or state.latest(opened, view)
        try:
            sql = self._as_built(before, form, sql)
            asked = state.ask(opened, sql, options_of(form), view)
        except CountveilError as error:
            before.draft = sql
            return question_page(self._pages, request, before, problem=str(error), status=400)
        return self._to_answer(asked)

    def _as_built(self, before: Asked, form: Form, sql: str) -> str:
        """The SQL; where the builder was changed since, and the text was not, that of the builder.

        QueryError if the builder lacks something: asking without it would be another question.
        """
        # What the builder was made from, as the page had it: another request may be on its way.
        made_from = form.text("written").replace("\r\n", "\n")
        if not form.text("measure") or sql != made_from:
            return sql
        kinds = kinds_of(before)
        if same_question(built_of_form(form, kinds), built_from(made_from, kinds)):
            return sql
        unfinished = self._build(before, form)
        if unfinished:
            raise QueryError(unfinished)
        return before.draft

    def _to_answer(self, asked: Asked) -> Response:
        """To the page of a question that has just begun; to its answer, if that is there."""
        asked.wait(_PATIENCE)
        there = "#answer" if asked.outcome is Outcome.ANSWERED else ""
        return to(f"/ask/answer/{asked.id}{there}")

    def cross(self, request: Request, form: Form) -> Response:
        """Ask a cross-tab."""
        state = state_of(request)
        before = state.question(request.path_params["question"])
        problem = self._build(before, form)
        if not problem and before.building is not None and len(before.building.groups) != 2:
            problem = "Choose two different columns."
        if not problem:
            try:
                asked = state.ask(before.opened, before.draft, options_of(form), View.CROSSTAB)
            except CountveilError as error:
                problem = str(error)
            else:
                before.draft, before.building = before.sql, None
                return self._to_answer(asked)
        return question_page(self._pages, request, before, problem=problem, status=400)

    def draft(self, request: Request, form: Form) -> Response:
        """Keep one form of the question in step with the other, without asking it."""
        asked = state_of(request).question(request.path_params["question"])
        changed = form.text("changed")
        if changed == "sql":
            asked.draft = form.text("sql").replace("\r\n", "\n")
            asked.building, asked.unfinished = None, ""
        else:
            changed = "builder"
            asked.unfinished = self._build(asked, form)
        if not request.headers.get("hx-request"):
            return to(f"/ask/answer/{asked.id}")
        return question_page(self._pages, request, asked, changed=changed)

    def _build(self, asked: Asked, form: Form) -> str:
        """Take what the builder shows; what it lacks, if it cannot be written as SQL yet."""
        kinds = kinds_of(asked)
        asked.building = built_of_form(form, kinds)
        try:
            asked.draft = sql_of(asked.building, kinds)
        except QueryError as error:
            return str(error)
        return ""

    def restart(self, request: Request, _form: Form) -> Response:
        """A question that the builder can show, in place of one that is SQL only."""
        asked = state_of(request).question(request.path_params["question"])
        asked.draft, asked.building = first_question(asked.opened, asked.view), None
        return to(f"/ask/answer/{asked.id}")

    def give_up(self, request: Request, _form: Form) -> Response:
        """Wait no longer."""
        asked = state_of(request).question(request.path_params["question"])
        asked.give_up()
        return to(f"/ask/answer/{asked.id}")

    def answer(self, request: Request) -> Response:
        """A question with its answer, or how far it is."""
        asked = state_of(request).question(request.path_params["question"])
        if request.headers.get("hx-request") and asked.wait(_FOLLOWED):
            return Response(headers={"hx-refresh": "true"})
        return question_page(self._pages, request, asked)

    def export(self, request: Request) -> Response:
        """An answer as a file; where there is none, the page says why."""
        asked = state_of(request).question(request.path_params["question"])
        try:
            file = exported(asked, request.path_params["form"])
        except CountveilError as error:
            return question_page(self._pages, request, asked, problem=str(error), status=400)
        if file is None:
            raise HTTPException(404)
        named = {"content-disposition": f'attachment; filename="{file.name}"'}
        return Response(file.content.encode("utf-8"), media_type=file.kind, headers=named)
