"""What the handlers of the analyst's pages share.

Enters: requests. Leaves: their state, their form, pages with the frame's content. Must not know:
any single page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from countveil.web.analyst.lines import Lines
from countveil.web.analyst.opened import OpenRelease
from countveil.web.analyst.state import AnalystState
from countveil.web.forms import Form
from countveil.web.rendering import Pages

Handler = Callable[[Request, Form], Response]


def state_of(request: Request) -> AnalystState:
    """The state of the analyst's session."""
    state: AnalystState = request.app.state.sessions.state(request.scope["countveil.mode"])
    return state


def with_form(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """A handler of what a page sent; it runs in a thread, so that no other page waits for it."""

    async def handle(request: Request) -> Response:
        form = await Form.of(request)
        return await run_in_threadpool(handler, request, form)

    return handle


def to(path: str) -> Response:
    """To another page, after something was changed."""
    return RedirectResponse(path, 303)


def framed(
    pages: Pages,
    request: Request,
    template: str,
    *,
    title: str,
    step: str,
    opened: OpenRelease | None,
    lines: Lines | None,
    **content: Any,
) -> Response:
    """A page of this mode: its step, the release that it is about, the command beside it."""
    return pages.page(
        request,
        f"analyst/{template}",
        title=title,
        step=step,
        opened=opened,
        lines=lines,
        **content,
    )
