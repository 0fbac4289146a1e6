"""The pages of play.

Enters: requests whose links carry small numbers. Leaves: pages, which follow from the link alone:
nothing is kept but what was computed lately. Must not know: how anything is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from countveil.web.play.numbers import link, read_numbers
from countveil.web.play.steps import SEED, STEPS, Step
from countveil.web.rendering import Pages

# Loaded with the first page that needs them: numpy and the mechanism are not needed at the door.
_MODULES = {
    "group": "stages", "thousand": "stages", "adversary": "stages", "counts": "stages",
    "again": "broken", "giveaway": "broken", "twins": "broken",
}  # fmt: skip


def play_routes(pages: Pages) -> list[BaseRoute]:
    """All pages."""
    return [
        Route("/", _contents(pages)),
        *(Route(f"/{step.name}", _page(pages, place)) for place, step in enumerate(STEPS)),
    ]


def _contents(pages: Pages) -> Callable[[Request], Response]:
    def contents(request: Request) -> Response:
        values = read_numbers((SEED,), request.query_params.multi_items())
        steps = [(step, step.link(values)) for step in STEPS]
        return pages.page(request, "play/contents.html", title="Play", steps=steps, numbers=values)

    return contents


def _page(pages: Pages, place: int) -> Callable[[Request], Response]:
    step = STEPS[place]

    def page(request: Request) -> Response:
        values = read_numbers(step.numbers, request.query_params.multi_items())
        module = import_module(f"countveil.web.play.{_MODULES[step.name]}")
        stage: Mapping[str, Any] = getattr(module, f"{step.name}_stage")(values)
        return pages.page(
            request,
            f"play/{step.name}.html",
            title=step.title,
            step=step,
            place=place,
            numbers=values,
            bounds={number.name: number for number in step.numbers},
            steps=[(each, each.link(values)) for each in STEPS],
            contents=link("/play/", {"seed": values["seed"]}),
            here=step.link(values),
            changed=_changed(step, values),
            **stage,
        )

    return page


def _changed(step: Step, values: Mapping[str, int]) -> Callable[..., str]:
    """Links to the same page with other numbers, for its template."""

    def changed(**others: int) -> str:
        highest = {number.name: number.high for number in step.numbers}
        # After the last seed comes the first one again.
        wrapped = {name: (value - 1) % highest[name] + 1 for name, value in others.items()}
        return step.link({**values, **wrapped})

    return changed
