"""Columns: roles, types, values and how many rows have each; and what the editor proposes.

Enters: the id of a release. Leaves: a page, and JSON. Must not know: questions.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from countveil.web.analyst.facts import MOST_VALUES, completions
from countveil.web.analyst.handling import framed, state_of
from countveil.web.analyst.lines import column_lines
from countveil.web.rendering import Pages

# How long a page waits for the first counts before it is shown without them, in seconds.
_PATIENCE = 1.5


def column_routes(pages: Pages) -> list[BaseRoute]:
    """Where columns are looked at."""

    def columns(request: Request) -> Response:
        state = state_of(request)
        opened = state.release(request.path_params["release"])
        facts = state.facts(opened)
        followed = bool(request.headers.get("hx-request"))
        facts.wait(0.0 if followed else _PATIENCE)
        response = framed(
            pages, request, "columns.html",
            title="Columns", step="columns", opened=opened, facts=facts, most=MOST_VALUES,
            lines=column_lines(opened.typed, next(iter(opened.manifest.sensitive))),
        )  # fmt: skip
        if followed and facts.complete:
            response.headers["hx-refresh"] = "true"
        return response

    def proposed(request: Request) -> Response:
        state = state_of(request)
        facts = state.facts(state.release(request.path_params["release"]))
        facts.wait(_PATIENCE)
        return JSONResponse(completions(facts))

    return [
        Route("/columns/{release}", columns),
        Route("/completions/{release}", proposed),
    ]
