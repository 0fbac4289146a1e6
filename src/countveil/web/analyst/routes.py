"""All pages of analysts.

Enters: nothing. Leaves: routes, and the state behind them. Must not know: what a page does.
"""

from __future__ import annotations

from pathlib import Path

from starlette.routing import BaseRoute

from countveil.web.analyst.ask_pages import ask_routes
from countveil.web.analyst.column_pages import column_routes
from countveil.web.analyst.open_pages import open_routes
from countveil.web.analyst.state import AnalystState
from countveil.web.places import Places
from countveil.web.rendering import Pages


def analyst_state(places: Places, release: Path | None) -> AnalystState:
    """The state of an analyst's session; `release` is what the app was started for."""
    return AnalystState(places, release)


def analyst_routes(pages: Pages) -> list[BaseRoute]:
    """All pages."""
    return [*open_routes(pages), *column_routes(pages), *ask_routes(pages)]
