"""The pages of analysts."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from countveil.web.jobs import Jobs
from countveil.web.rendering import Pages


class AnalystState:
    def __init__(self, places: Any, release: Any) -> None:
        self.places, self.release, self.jobs = places, release, Jobs()

    def close(self) -> None:
        self.jobs.close()


def analyst_state(places: Any, release: Any) -> AnalystState:
    """The state of a analyst's session."""
    return AnalystState(places, release)


def analyst_routes(pages: Pages) -> list[BaseRoute]:
    """All pages."""

    def first(request: Request) -> Response:
        return pages.page(request, "door.html", title="analyst")

    return [Route("/", first)]
