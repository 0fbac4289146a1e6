"""The publisher's pages, all of them.

Enters: the templates. Leaves: routes, and the state of a session. Must not know: what any screen
does.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from countveil.web.forms import Form
from countveil.web.places import Places
from countveil.web.publisher.lines import CommandWriter
from countveil.web.publisher.screens.amount import amount_routes
from countveil.web.publisher.screens.columns import columns_routes
from countveil.web.publisher.screens.dangers import dangers_routes
from countveil.web.publisher.screens.frame import HOME, Screens, after_form, state_of, with_form
from countveil.web.publisher.screens.handing import handing_routes
from countveil.web.publisher.screens.publish import publish_routes
from countveil.web.publisher.screens.rehearsal import rehearsal_routes
from countveil.web.publisher.screens.table import table_routes
from countveil.web.publisher.state import PublisherState
from countveil.web.publisher.steps import HEADLINES, stop_outdated
from countveil.web.rendering import Pages


def publisher_state(places: Places, write_command: CommandWriter) -> PublisherState:
    """The state of a publisher's session."""
    return PublisherState(places, write_command)


def publisher_routes(pages: Pages) -> list[BaseRoute]:
    """All pages."""
    screens = Screens(pages)
    return [
        Route("/", _first),
        Route("/undo", with_form(_undo), methods=["POST"]),
        Route("/redo", with_form(_redo), methods=["POST"]),
        Route("/job/{known}", _job(pages)),
        Route("/job/{known}/stop", with_form(_stop), methods=["POST"]),
        Route("/job/{known}/again", with_form(_again), methods=["POST"]),
        *table_routes(screens),
        *columns_routes(screens),
        *dangers_routes(screens),
        *amount_routes(screens),
        *rehearsal_routes(screens),
        *publish_routes(screens),
        *handing_routes(screens),
    ]


def _first(_request: Request) -> Response:
    return RedirectResponse(f"{HOME}/table", 303)


def _undo(request: Request, form: Form) -> Response:
    state = state_of(request)
    state.undo()
    stop_outdated(state)
    return after_form(form)


def _redo(request: Request, form: Form) -> Response:
    state = state_of(request)
    state.redo()
    stop_outdated(state)
    return after_form(form)


def _job(pages: Pages) -> Callable[[Request], Response]:
    """How far a job is: a part of the page that follows it."""

    def show(request: Request) -> Response:
        job = state_of(request).jobs.get(request.path_params["known"])
        if job is None:
            raise HTTPException(404)
        screen = request.query_params.get("screen", "")
        screen = screen if screen in HEADLINES else "table"
        return pages.page(
            request, "publisher/job_alone.html", title="Progress", job=job, screen=screen
        )

    return show


def _stop(request: Request, form: Form) -> Response:
    job = state_of(request).jobs.get(request.path_params["known"])
    if job is not None:
        job.stop()
    return after_form(form)


def _again(request: Request, form: Form) -> Response:
    state = state_of(request)
    job = state.jobs.get(request.path_params["known"])
    if job is not None:
        state.forget(job)
    return after_form(form)
