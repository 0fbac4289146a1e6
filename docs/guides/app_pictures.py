"""The pictures of the app on the guide's pages: `make screens` takes them anew.

Starts the app with a made-up census, walks through both sides in a real browser, and keeps what the
screens look like at 1280 px, and some at 390 px. Nothing in the pictures is about anybody.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

import countveil as cv
from tools import browser as browsers

FIGURES = Path(__file__).parent / "figures"
ROWS, SEED, PATIENCE = 20_000, 1, 100_000
_DESK: ViewportSize = {"width": 1280, "height": 800}
_PHONE: ViewportSize = {"width": 390, "height": 844}
_ARGUMENTS = [
    "--disable-background-networking", "--disable-component-update", "--disable-gpu",
    "--disable-quic", "--disable-sync", "--no-first-run",
]  # fmt: skip


@contextmanager
def _app(root: Path) -> Iterator[str]:
    """The link of an app below a folder."""
    command = Path(sys.executable).with_name("countveil")
    app = subprocess.Popen(  # noqa: S603 - our own command
        [command, "app", "--no-browser", "--root", root], stdout=subprocess.PIPE, text=True,
        # The command is shown as people call it.
        env={**os.environ, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}, cwd=root,
    )  # fmt: skip
    try:
        assert app.stdout is not None
        link = None
        while link is None:
            link = re.search(r"http://\S+", app.stdout.readline())
        yield link[0]
    finally:
        app.terminate()
        app.communicate()


def _keep(page: Page, name: str, height: int = 800, first: str = "body") -> None:
    """A picture of what is on the screen from the element `first` on, in few colours."""
    size = page.viewport_size or _DESK
    page.set_viewport_size({"width": size["width"], "height": height})
    page.locator(first).first.evaluate("element => element.scrollIntoView()")
    page.screenshot(path=FIGURES / f"app-{name}.png")
    page.set_viewport_size({"width": size["width"], "height": size["height"]})


def _publish(page: Page) -> None:
    """The publisher's screens, from a table to a release that was attacked."""
    page.get_by_role("button", name="Publish a table").click()
    page.get_by_text("census.csv").first.click()
    page.get_by_role("link", name="Next: the columns").click()
    page.get_by_role("button", name="Protect them").wait_for()
    _keep(page, "columns")
    _merge(page)
    page.locator("#role-8-protect").click()
    page.get_by_role("link", name="Next: dangers").click()
    page.get_by_role("link", name="Next: how much").wait_for()
    _keep(page, "dangers")
    page.get_by_role("link", name="Next: how much").click()
    page.locator("#measure").click()
    page.get_by_text("Recommended:").wait_for()
    page.locator("form[action='/publish/amount/recommended'] button").click()
    page.get_by_role("link", name="Next: rehearse").wait_for()
    page.get_by_text("All that was measured").click()
    _keep(page, "amount", 1100, "section.amount")
    page.get_by_role("link", name="Next: rehearse").click()
    page.get_by_role("link", name="Next: publish").wait_for()
    _keep(page, "rehearsal", 1000)
    page.get_by_role("link", name="Next: publish").click()
    page.locator("#to").fill("census-release")
    page.locator("#start").click()
    page.get_by_role("link", name="Next: attack it").click()
    page.locator("#attack").click()
    page.get_by_role("link", name="Next: hand over").wait_for()
    _keep(page, "audit", 1000)
    page.get_by_role("link", name="Next: hand over").click()
    page.get_by_role("heading", name="For analysts").wait_for()
    _keep(page, "handover", 900)


def _merge(page: Page) -> None:
    """Two values of a column become one, and then two again."""
    page.locator("#values-3 summary").click()
    page.locator("#list-3").click()
    page.get_by_role("checkbox", name="divorced").check()
    page.get_by_role("checkbox", name="separated").check()
    page.locator("#into-3").fill("no longer married")
    page.locator("#do-merge-3").click()
    expect(page.locator("#column-3 .effect")).to_contain_text("Values:")
    page.locator("#column-3").screenshot(path=FIGURES / "app-values.png")
    page.locator("#unlist-3").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#column-3 .effect")).to_have_count(0)


def _ask(page: Page, link: str) -> None:
    """The analyst's screens, with the release that was made."""
    page.goto(link.partition("/enter")[0])
    page.get_by_role("button", name="Ask a release").click()
    page.get_by_role("button", name="census-release").click()
    steps = page.get_by_role("navigation", name="Steps")
    steps.get_by_role("link", name="Columns", exact=True).click()
    expect(page.locator("#counting")).to_have_count(0)
    _keep(page, "release-columns")
    steps.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_label("Group by").select_option("education")
    page.get_by_label("Another condition").last.select_option("occupation")
    page.get_by_label("Value", exact=True).select_option("nurse")
    expect(page.locator("#sql")).to_have_value(re.compile("occupation = 'nurse'"))
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("heading", name="Answer").wait_for()
    _keep(page, "ask", 700)
    _keep(page, "answer", 900, "#answer")
    page.set_viewport_size(_PHONE)
    page.locator(".for-narrow").scroll_into_view_if_needed()
    page.screenshot(path=FIGURES / "app-phone.png")
    page.set_viewport_size(_DESK)


def main() -> None:
    """Take all pictures."""
    expect.set_options(timeout=PATIENCE)
    path = browsers.found()
    if path is None:
        sys.exit(browsers.HELP)
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        cv.generate(ROWS, Path(folder) / "census.csv", seed=SEED)
        browser: Browser = playwright.chromium.launch(
            executable_path=path, args=[*_ARGUMENTS, *["--no-sandbox"] * root]
        )
        with _app(Path(folder)) as link:
            context = browser.new_context(viewport=_DESK, locale="en-GB")
            context.set_default_timeout(PATIENCE)
            page = context.new_page()
            page.goto(link)
            page.get_by_role("button", name="Publish a table").wait_for()
            _keep(page, "door", 500)
            _publish(page)
            _ask(page, link)
            page.goto(f"{link.partition('/enter')[0]}/play/group?seed=4")
            _keep(page, "play", 900)
        browser.close()


if __name__ == "__main__":
    main()
