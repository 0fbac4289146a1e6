"""What is looked for on every page: barriers, by axe, and a picture to look at.

Enters: a page that is open. Leaves: a failure with what is wrong and where, or a file below
build/screens. Must not know: which page it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

SCREENS = Path(__file__).parents[3] / "build/screens"
SERIOUS = ("serious", "critical")
RUN = "axe.run(document, {resultTypes: ['violations']})"


@cache
def axe() -> str:
    """The script, from the wheel of a package."""
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def issues(page: Page) -> list[str]:
    """What axe finds serious or critical: the rule, what it says, and where, one line each."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe())
    found: dict[str, Any] = page.evaluate(RUN)
    return [line for rule in found["violations"] for line in lines(rule)]


def lines(rule: dict[str, Any]) -> Iterator[str]:
    for node in rule["nodes"]:
        if node["impact"] in SERIOUS:
            why = " ".join(node["failureSummary"].split())
            yield f"{rule['id']} ({node['impact']}) at {node['target']}: {why}"


def no_serious_issues(page: Page) -> None:
    """Fails with a list of what stands in the way of keyboards, screen readers or weak eyes."""
    __tracebackhide__ = True
    if found := issues(page):
        pytest.fail("\n".join([f"axe, on {page.url}:", *found]), pytrace=False)


def screenshot(page: Page, name: str, *, full: bool = True) -> Path:
    """A picture of a page as build/screens/NAME.png: of all of it, or of what the screen shows."""
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(f"{name!r} is no name for a picture: use small letters, digits and -")
    SCREENS.mkdir(parents=True, exist_ok=True)
    path = SCREENS / f"{name}.png"
    # Hiding the caret and stopping animations would take a style that the page's policy refuses.
    page.screenshot(path=path, full_page=full, caret="initial", animations="allow")
    return path
