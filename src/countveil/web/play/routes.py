"""Play."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from countveil.web.rendering import Pages


def play_routes(pages: Pages) -> list[BaseRoute]:
    """All pages."""

    def first(request: Request) -> Response:
        return pages.page(request, "door.html", title="play")

    return [Route("/", first)]
