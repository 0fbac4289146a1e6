"""The pages of publishers."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from countveil.web.jobs import Jobs
from countveil.web.rendering import Pages


class PublisherState:
    def __init__(self, places: Any, write_command: Any) -> None:
        self.places, self.write_command, self.jobs = places, write_command, Jobs()

    def close(self) -> None:
        self.jobs.close()


def publisher_state(places: Any, write_command: Any) -> PublisherState:
    """The state of a publisher's session."""
    return PublisherState(places, write_command)


def publisher_routes(pages: Pages) -> list[BaseRoute]:
    """All pages."""

    def first(request: Request) -> Response:
        return pages.page(request, "door.html", title="publisher")

    return [Route("/", first)]
