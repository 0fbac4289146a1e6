"""A browser, and pages in it that fail their test if anything bad was recorded.

`desktop` and `phone` are pages, `opening` makes more of them in contexts of their own, `recorder`
gives what was recorded of a page: a test that provokes an error says so with
`recorder(page).excuse("status of 403")`. Tests in this folder run with `make test-browser` alone.
Playwright's loop runs in this thread, so what needs a loop of its own (a server) runs in another
thread or process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.web.browser.recording import Opening, Recorder
from tools import browser as browsers

HERE = Path(__file__).parent
ARGUMENTS = [
    "--disable-background-networking", "--disable-component-update", "--disable-gpu",
    "--disable-quic", "--disable-sync", "--no-first-run",
]  # fmt: skip
# A busy machine is no failure.
PATIENCE = 20_000


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("browser")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = browsers.found()
    if path is None:
        pytest.fail(browsers.HELP, pytrace=False)
    # Its sandbox refuses to run as root.
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=path, headless=True, args=[*ARGUMENTS, *["--no-sandbox"] * root]
        )
        yield started
        started.close()


@pytest.fixture
def recorders() -> list[Recorder]:
    """One for every context that a test has opened."""
    return []


@pytest.fixture
def recorder(recorders: list[Recorder]) -> Callable[[Page], Recorder]:
    """What was recorded of a page, and of others in its context."""
    return lambda page: next(one for one in recorders if one.context == page.context)


@pytest.fixture
def opening(browser: Browser, recorders: list[Recorder]) -> Iterator[Opening]:
    """Makes pages in contexts of their own; when the test is over, nothing bad was recorded."""

    def opened(**options: Any) -> Page:
        context = browser.new_context(locale="en-GB", timezone_id="UTC", **options)
        context.set_default_timeout(PATIENCE)
        recorders.append(Recorder(context))
        return context.new_page()

    yield opened
    problems = [problem for one in recorders for problem in one.problems()]
    for one in recorders:
        one.context.close()
    assert problems == []


@pytest.fixture
def desktop(opening: Opening) -> Page:
    return opening(viewport={"width": 1280, "height": 800})


@pytest.fixture
def phone(opening: Opening) -> Page:
    screen = {"width": 390, "height": 844}
    return opening(viewport=screen, has_touch=True, is_mobile=True, device_scale_factor=2)
