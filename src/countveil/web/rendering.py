"""Pages from templates.

Enters: the name of a template and what stands in it, some of it text from data that may be hostile.
Leaves: HTML. Must not know: what the pages say. All text is escaped, and what could steer a browser
or turn a line around is made visible; only `Markup`, which our own drawings are, stays as it is.
"""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from countveil import __version__
from countveil.display import readable, visible


class Pages:
    """The templates of the app. `shared` is known to every one of them."""

    def __init__(self, **shared: Any) -> None:
        self._environment = Environment(
            loader=PackageLoader("countveil.web"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_harmless,
        )
        self._environment.filters["readable"] = readable
        self._environment.filters["percent"] = percent
        self._environment.filters["holds"] = holds
        self._environment.globals |= {"version": __version__, **shared}

    def page(
        self, request: Request, template: str, *, status: int = 200, **content: Any
    ) -> HTMLResponse:
        """A whole page; for htmx, which sends a part of one, the template says which part it is."""
        partial = request.headers.get("hx-request") == "true"
        text = self.text(template, partial=partial, path=request.url.path, **content)
        return HTMLResponse(text, status)

    def text(self, template: str, **content: Any) -> str:
        """What a template makes of its content."""
        return self._environment.get_template(template).render(**content)


def percent(share: float | None, digits: int = 0) -> str:
    """A share as people write it."""
    return "-" if share is None else f"{share:.{digits}%}"


def holds(type_name: str) -> str:
    """What a column holds, in a word; the type itself where there is none."""
    # The first page holds no column, and is not to wait for this.
    from countveil.release.values import OTHER, kind_of

    kind = kind_of(type_name)
    return type_name if kind == OTHER else kind


def _harmless(value: Any) -> Any:
    """Text without what steers; a missing value is shown as a dash."""
    if isinstance(value, Markup):
        return value
    if value is None:
        return "-"
    return visible(value) if isinstance(value, str) else value
