"""Open: pick a release, see what it says of itself, verify it.

Enters: ids of folders and files below the root. Leaves: pages. Must not know: questions.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from countveil.errors import CountveilError
from countveil.web.analyst.handling import framed, state_of, to, with_form
from countveil.web.analyst.lines import open_lines
from countveil.web.analyst.opened import OpenRelease, typed_place
from countveil.web.forms import Form
from countveil.web.rendering import Pages


def open_routes(pages: Pages) -> list[BaseRoute]:
    """Where a release is opened."""
    return _OpenPages(pages).routes()


class _OpenPages:
    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/", self.first),
            Route("/pick", self.pick),
            Route("/open", with_form(self.open), methods=["POST"]),
            Route("/release/{release}", self.release),
            Route("/verify/{release}", with_form(self.verify), methods=["POST"]),
        ]

    def first(self, request: Request) -> Response:
        """The release that the app was started for, else folders to pick one from."""
        state = state_of(request)
        if state.given is None:
            return self._listed(request)
        try:
            return to(f"/ask/release/{state.open(state.given).id}")
        except CountveilError as error:
            return self._listed(request, problem=str(error), status=400)

    def pick(self, request: Request) -> Response:
        """Folders to pick a release from."""
        return self._listed(request)

    def open(self, request: Request, form: Form) -> Response:
        state = state_of(request)
        try:
            opened = state.open(state.places.path(form.text("place")))
        except CountveilError as error:
            return self._listed(request, form.text("at"), problem=str(error), status=400)
        return to(f"/ask/release/{opened.id}")

    def release(self, request: Request) -> Response:
        """What a release says of itself."""
        state = state_of(request)
        opened = state.release(request.path_params["release"])
        return self._release(request, opened)

    def verify(self, request: Request, form: Form) -> Response:
        """Begin to verify; small releases are done before the page is shown."""
        state = state_of(request)
        opened = state.release(request.path_params["release"])
        known = form.text("key")
        try:
            key = state.places.path(known) if known else None
        except CountveilError as error:
            return self._release(request, opened, problem=str(error), status=400)
        opened.verify(key).over.wait(1.0)
        return to(f"/ask/release/{opened.id}")

    def _release(
        self, request: Request, opened: OpenRelease, *, problem: str = "", status: int = 200
    ) -> Response:
        state = state_of(request)
        known = request.query_params.get("at")
        listing = None
        try:
            listing = state.places.listing(known or None) if opened.is_signed else None
        except CountveilError as error:
            problem, status = str(error), 400
        checked = opened.verification
        key = checked.key if checked else None
        response = framed(
            self._pages, request, "release.html",
            title="Release", step="open", opened=opened,
            lines=open_lines(opened.typed, str(key) if key else ""),
            problem=problem, picking=known is not None, listing=listing, checked=checked,
            key=state.places.shown(key) if key else "", missing=not opened.is_unchanged(),
            status=status,
        )  # fmt: skip
        if request.headers.get("hx-request") and checked is not None and not checked.running:
            # The page was following the check; what came of it is more than a line.
            response.headers["hx-refresh"] = "true"
        return response

    def _listed(
        self, request: Request, at: str = "", *, problem: str = "", status: int = 200
    ) -> Response:
        state = state_of(request)
        known = at or request.query_params.get("at") or None
        try:
            listing: Any = state.places.listing(known)
        except CountveilError as error:
            listing, problem, status = state.places.listing(), str(error), 400
        first = next((entry for entry in listing.entries if entry.is_release), None)
        lines = None if first is None else open_lines(typed_place(state.places.path(first.id)))
        return framed(
            self._pages, request, "pick.html",
            title="Open a release", step="open", opened=None, lines=lines, listing=listing,
            releases=state.releases, problem=problem, root=str(state.places.root), status=status,
        )  # fmt: skip
