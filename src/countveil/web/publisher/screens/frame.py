"""What all screens share: the frame around them, what follows a form, who asks.

Enters: requests. Leaves: pages. Must not know: what any screen is about. A form leads to its screen
again: by a redirect, for htmx at once. What was wrong is said beside what was typed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from countveil.errors import CountveilError
from countveil.web.forms import Form
from countveil.web.publisher.lines import Lines, lines_of
from countveil.web.publisher.state import PublisherState
from countveil.web.publisher.steps import HEADLINES, steps_of, stop_outdated, why_closed
from countveil.web.rendering import Pages
from countveil.web.sessions import Mode

HOME = Mode.PUBLISHER.path
Content = Callable[[PublisherState, "Asked"], dict[str, Any]]
Change = Callable[[PublisherState, Form], "Asked | None"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a page has to show besides its results.

    `problem` was wrong with what was `typed` about `subject`. `folder` is the one that is listed.
    `keeping`: what is typed into the page already stays, because it asks by itself.
    """

    problem: str = ""
    typed: Mapping[str, str] | None = None
    subject: str = ""
    folder: str | None = None
    keeping: bool = False


def state_of(request: Request) -> PublisherState:
    """The state of the session."""
    state: PublisherState = request.app.state.sessions.state(request.scope["countveil.mode"])
    return state


class Screens:
    """Makes the routes of screens."""

    def __init__(self, pages: Pages) -> None:
        self.pages = pages

    def routes(
        self, name: str, content: Content, forms: Mapping[str, Change] | None = None
    ) -> list[BaseRoute]:
        """A screen, and its forms by what they do."""
        changes = (forms or {}).items()
        return [
            self.page(name, content),
            *(self.form(name, action, content, change) for action, change in changes),
        ]

    def page(self, name: str, content: Content) -> Route:
        """A screen."""

        def show(request: Request) -> Response:
            given = request.query_params
            asked = Asked(folder=given.get("folder"), keeping="keep" in given)
            return self.show(request, name, content, asked)

        return Route(f"/{name}", show)

    def form(self, name: str, action: str, content: Content, change: Change) -> Route:
        """A form of a screen: it changes something, or says what is wrong."""

        def handle(request: Request, form: Form) -> Response:
            state = state_of(request)
            if why_closed(state, name):
                return self.show(request, name, content, Asked(), status=409)
            try:
                asked = change(state, form)
                stop_outdated(state)
            except CountveilError as error:
                typed = {name: text for name, text in form if name != "password"}
                asked = Asked(str(error), typed, typed.get("subject", ""))
            if asked is not None and asked.problem:
                return self.show(request, name, content, asked, status=422)
            if request.headers.get("hx-request") == "true":
                return self.show(request, name, content, asked or Asked())
            return RedirectResponse(f"{HOME}/{name}", 303)

        return Route(f"/{name}/{action}", _with_form(handle), methods=["POST"])

    def show(
        self,
        request: Request,
        name: str,
        content: Content,
        asked: Asked,
        status: int = 200,
    ) -> Response:
        """A screen with its frame; a closed one says why."""
        state = state_of(request)
        with state.lock:
            closed = why_closed(state, name)
            body = "closed" if closed else name
            shown = {"closed": closed} if closed else content(state, asked)
            frame = {
                "title": HEADLINES[name],
                "screen": name,
                "body": f"publisher/{body}.html",
                "steps": steps_of(state, name),
                "undoes": state.undoes,
                "redoes": state.redoes,
                "lines": None,
                "asked": asked,
                "draft": state.draft,
            }
            return self.pages.page(
                request, "publisher/screen.html", status=status, **{**frame, **shown}
            )


def _with_form(
    handle: Callable[[Request, Form], Response],
) -> Callable[[Request], Awaitable[Response]]:
    """A form is read, and then worked on beside the loop that answers others."""

    async def endpoint(request: Request) -> Response:
        form = await Form.of(request)
        return await run_in_threadpool(handle, request, form)

    return endpoint


def lines_for(state: PublisherState, function: str, **more: Any) -> Lines | None:
    """The command and the Python of the draft as it is; nothing before there is a table."""
    draft = state.draft
    if not draft.table:
        return None
    return lines_of(state.write_command, function, draft.table, draft.arguments(function, **more))


def after_form(form: Form) -> Response:
    """Back to the screen on which a form of the frame stood."""
    name = form.text("screen")
    return RedirectResponse(f"{HOME}/{name if name in HEADLINES else 'table'}", 303)


def with_form(handle: Callable[[Request, Form], Response]) -> Callable[..., Awaitable[Response]]:
    """An endpoint for a form that belongs to no screen."""
    return _with_form(handle)
