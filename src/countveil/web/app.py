"""The app as one ASGI application: pages of both modes behind the guard.

Enters: the root to pick files from, perhaps a release, the name of this run. Leaves: the
application and its sessions. Must not know: what any page does. For a release alone, the pages of
publishers do not exist, and nothing of that side is loaded.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.staticfiles import StaticFiles

from countveil.errors import CountveilError
from countveil.randomness import fresh_key
from countveil.web.guard import App, Guard, Receive, Scope, Send, set_cookie
from countveil.web.look import shared_styles
from countveil.web.places import Places
from countveil.web.rendering import Pages
from countveil.web.sessions import Mode, Sessions

# A command and its options, as they would be typed.
CommandWriter = Callable[[str, Mapping[str, Any]], str]
_STATIC = Path(__file__).parent / "static"


def random_name() -> str:
    """A host name that nothing else on this machine has; browsers take *.localhost for loopback."""
    return "countveil-" + base64.b32encode(fresh_key()[:10]).decode().lower() + ".localhost"


@dataclass(frozen=True, slots=True)
class AppSettings:
    """One run of the app. `release` opens the analyst's mode, and no other."""

    root: Path
    write_command: CommandWriter
    release: Path | None = None
    name: str = field(default_factory=random_name)


class Later:
    """A part of the app, loaded when somebody asks for it: the first page is there at once."""

    def __init__(self, make_routes: Callable[[], Sequence[BaseRoute]]) -> None:
        self._make_routes = make_routes
        self._router: Router | None = None
        self._lock = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request to its page."""
        if self._router is None:
            # Other pages go on meanwhile.
            await run_in_threadpool(self._load)
        assert self._router is not None  # noqa: S101 - it was loaded
        await self._router(scope, receive, send)

    def _load(self) -> None:
        with self._lock:
            self._router = self._router or Router(self._make_routes())


def make_app(settings: AppSettings, port: int) -> tuple[App, Sessions]:
    """The application for a port, and the sessions whose token lets a browser in."""
    places = Places(settings.root)
    pages = Pages(mode_alone=settings.release is not None)
    routes: list[BaseRoute] = [
        Route("/", _door(pages), name="door"),
        Route("/enter-mode/{mode}", _enter_mode, methods=["POST"]),
        Route("/look.css", shared_styles),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]

    def analyst() -> Any:
        from countveil.web.analyst import routes

        return routes

    def publisher() -> Any:
        from countveil.web.publisher import routes

        return routes

    def play() -> Any:
        from countveil.web.play import routes

        return routes

    states: dict[Mode, Callable[[], Any]] = {
        Mode.ANALYST: lambda: analyst().analyst_state(places, settings.release)
    }
    routes += [
        Mount(Mode.ANALYST.path, Later(lambda: analyst().analyst_routes(pages))),
        Mount("/play", Later(lambda: play().play_routes(pages))),
    ]
    if settings.release is None:
        states[Mode.PUBLISHER] = lambda: publisher().publisher_state(places, settings.write_command)
        routes += [Mount(Mode.PUBLISHER.path, Later(lambda: publisher().publisher_routes(pages)))]
    opened = Mode.DOOR if settings.release is None else Mode.ANALYST
    sessions = Sessions(states, opened)
    handlers: dict[Any, Any] = {
        CountveilError: _refused(pages),
        HTTPException: _not_there(pages),
        Exception: _broken(pages),
    }
    inner = Starlette(routes=routes, exception_handlers=handlers)
    inner.state.sessions = sessions
    return Guard(inner, f"{settings.name}:{port}", sessions), sessions


def session_state(request: Request) -> Any:
    """The state of the mode that a request belongs to."""
    sessions: Sessions = request.app.state.sessions
    return sessions.state(request.scope["countveil.mode"])


def _door(pages: Pages) -> Callable[[Request], Response]:
    def door(request: Request) -> Response:
        sessions: Sessions = request.app.state.sessions
        if sessions.opened is not Mode.DOOR:
            return RedirectResponse(sessions.opened.home, 303)
        return pages.page(request, "door.html", title="Which side are you on today?")

    return door


def _enter_mode(request: Request) -> Response:
    """Through one of the doors: its cookie, and its first page."""
    sessions: Sessions = request.app.state.sessions
    wanted = request.path_params["mode"]
    if wanted not in set(Mode) or not sessions.offers(Mode(wanted)):
        raise HTTPException(404)
    mode = Mode(wanted)
    response = RedirectResponse(mode.home, 303)
    response.headers.append("set-cookie", set_cookie(mode, sessions.enter(mode)))
    return response


def _refused(pages: Pages) -> Callable[[Request, Exception], Response]:
    """What countveil refuses, in its own words."""

    def refused(request: Request, error: Exception) -> Response:
        return pages.page(
            request, "refused.html", title="Not possible", message=str(error), status=400
        )

    return refused


def _not_there(pages: Pages) -> Callable[[Request, Exception], Response]:
    def not_there(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 404)
        message = "There is no such page." if status == 404 else "That is not possible here."
        return pages.page(
            request, "refused.html", title="Not there", message=message, status=status
        )

    return not_there


def _broken(pages: Pages) -> Callable[[Request, Exception], Response]:
    """A fault of ours. Its text may quote data, so only its kind is shown."""

    def broken(request: Request, error: Exception) -> Response:
        message = (
            f"countveil failed in a way it should not ({type(error).__name__}). This is a bug. "
            f"Nothing was changed. Started with COUNTVEIL_TRACEBACK=1, the app prints details, "
            f"which may contain data."
        )
        return pages.page(request, "refused.html", title="A fault", message=message, status=500)

    return broken
