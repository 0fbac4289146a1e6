"""Play in a real browser: by mouse, by keyboard, on a phone, without scripts, and back again."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Page, expect

from countveil.web.app import AppSettings, make_app
from countveil.web.play.steps import STEPS
from countveil.web.serve import _bound
from tests.web.browser.conftest import PATIENCE
from tests.web.browser.looking import no_serious_issues, screenshot
from tests.web.browser.recording import Opening, Recorder

# The app is there before any browser, and still there when the last one has gone.
pytestmark = pytest.mark.usefixtures("link")
expect.set_options(timeout=PATIENCE)
BROKEN = {"again": "anew=1&times=4&ell=2", "giveaway": "grade=1", "twins": "apart=1&ell=2"}


@pytest.fixture
def link(tmp_path: Path) -> Iterator[Callable[[], str]]:
    """A running app; links into it, each for one browser."""
    listening = _bound(0)
    port = listening.getsockname()[1]
    settings = AppSettings(tmp_path, lambda command, _: command)
    app, sessions = make_app(settings, port)
    config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield lambda: f"http://{settings.name}:{port}/enter?token={sessions.token}"
    server.should_exit = True
    thread.join()
    sessions.close()
    listening.close()


@pytest.fixture
def enter(link: Callable[[], str]) -> Callable[[Page], str]:
    """Lets a page in; the origin of the app."""

    def entered(page: Page) -> str:
        page.goto(link())
        page.wait_for_url("**/", wait_until="load")
        return page.url.rstrip("/")

    return entered


def wide(page: Page) -> int:
    """By how much the page is wider than the screen."""
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


def set_range(page: Page, name: str, value: int) -> None:
    """Move a slider as a hand does."""
    page.locator(f"#{name}").fill(str(value))


def test_a_newcomer_walks_through_all_pages(desktop: Page, enter: Callable[[Page], str]) -> None:
    enter(desktop)
    desktop.get_by_role("link", name="Play", exact=True).first.click()
    expect(desktop.get_by_role("heading", level=1)).to_have_text("Play")
    no_serious_issues(desktop)
    screenshot(desktop, "play-contents-desktop")
    desktop.get_by_role("link", name="Begin").click()
    for place, step in enumerate(STEPS):
        expect(desktop.get_by_role("heading", level=1)).to_have_text(step.title)
        expect(desktop.locator(".play-figure > svg")).to_be_visible()
        no_serious_issues(desktop)
        assert wide(desktop) <= 0
        screenshot(desktop, f"play-{step.name}-desktop")
        name = "Next" if place + 1 < len(STEPS) else "To the contents"
        desktop.locator(".turn").get_by_role("link", name=name).click()
    expect(desktop.get_by_role("heading", level=1)).to_have_text("Play")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_pages_fit_a_phone(opening: Opening, enter: Callable[[Page], str], scheme: str) -> None:
    screen = {"width": 390, "height": 844}
    phone = opening(
        viewport=screen, has_touch=True, is_mobile=True, device_scale_factor=2, color_scheme=scheme
    )
    origin = enter(phone)
    for step in STEPS:
        phone.goto(f"{origin}{step.path}?{BROKEN.get(step.name, 'ell=10')}")
        assert wide(phone) <= 0, step.name
        no_serious_issues(phone)
        screenshot(phone, f"play-{step.name}-phone-{scheme}")


def test_drawing_again_keeps_the_group_and_the_place(
    desktop: Page, enter: Callable[[Page], str]
) -> None:
    origin = enter(desktop)
    desktop.goto(f"{origin}/play/group?seed=9")
    whole_pages: list[str] = []
    desktop.on("load", lambda page: whole_pages.append(page.url))
    rows = desktop.locator("tbody").inner_text()
    for draw in (2, 3):
        desktop.get_by_role("link", name="Draw again").press("Enter")
        expect(desktop.locator("figcaption")).to_have_text(f"Draw {draw} of Ada\u2019s group")
        expect(desktop).to_have_url(f"{origin}/play/group?seed=9&ell=5&draw={draw}")
        # The keyboard stays where it was.
        expect(desktop.get_by_role("link", name="Draw again")).to_be_focused()
    assert desktop.locator("tbody").inner_text() == rows
    assert whole_pages == []
    desktop.reload()
    expect(desktop.locator("figcaption")).to_have_text("Draw 3 of Ada\u2019s group")


def test_sliders_move_by_keyboard_and_say_their_value(
    desktop: Page, enter: Callable[[Page], str]
) -> None:
    origin = enter(desktop)
    desktop.goto(f"{origin}/play/counts")
    slider = desktop.get_by_label("People in the table")
    slider.focus()
    slider.press("ArrowRight")
    expect(desktop.locator("#size-shown")).to_have_text("30,000")
    expect(slider).to_have_attribute("aria-valuetext", "30,000")
    expect(desktop.get_by_role("status")).to_contain_text("Among 30,000 people")
    expect(slider).to_be_focused()
    slider.press("End")
    expect(desktop.get_by_role("status")).to_contain_text("Among 1,000,000 people")
    expect(desktop).to_have_url(re.compile("size=6"))
    desktop.get_by_label("ell: how many values hide together").press("Home")
    expect(desktop).to_have_url(re.compile("ell=2.*size=6|size=6.*ell=2"))
    # Other pages go on with it.
    assert "ell=2" in str(desktop.locator(".turn a.main").get_attribute("href"))
    assert "ell=2" in str(desktop.locator("#play-steps a").nth(1).get_attribute("href"))


def test_back_shows_what_was_before(desktop: Page, enter: Callable[[Page], str]) -> None:
    origin = enter(desktop)
    desktop.goto(f"{origin}/play/adversary?guess=10")
    status = desktop.get_by_role("status")
    set_range(desktop, "guess", 90)
    expect(status).to_contain_text("at 90%")
    desktop.get_by_label("He guesses that she is").select_option("0")
    expect(status).to_contain_text("watchmaker")
    desktop.go_back()
    expect(status).to_contain_text("nurse at 90%")
    desktop.wait_for_load_state("load")
    desktop.go_back()
    expect(status).to_contain_text("at 10%")
    expect(desktop.locator("#guess")).to_have_value("10")


@pytest.mark.parametrize("name", list(BROKEN))
def test_a_switch_breaks_it_and_mends_it(
    desktop: Page, enter: Callable[[Page], str], name: str
) -> None:
    origin = enter(desktop)
    desktop.goto(f"{origin}/play/{name}?ell=2")
    status, switch = desktop.get_by_role("status"), desktop.get_by_role("checkbox")
    mended = status.inner_text()
    switch.press("Space")
    expect(status).not_to_have_text(mended)
    screenshot(desktop, f"play-{name}-broken-desktop")
    no_serious_issues(desktop)
    switch.press("Space")
    expect(status).to_have_text(mended)


def test_without_scripts_a_button_shows_it(opening: Opening, enter: Callable[[Page], str]) -> None:
    page = opening(viewport={"width": 1280, "height": 800}, java_script_enabled=False)
    origin = enter(page)
    page.goto(f"{origin}/play/twins")
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile(r"apart=1"))
    expect(page.get_by_role("status")).to_contain_text("show the same occupation")
    page.goto(f"{origin}/play/group")
    page.get_by_role("link", name="Draw again").click()
    expect(page.locator("figcaption")).to_have_text("Draw 2 of Ada\u2019s group")


def test_a_teacher_chooses_a_seed(phone: Page, enter: Callable[[Page], str]) -> None:
    origin = enter(phone)
    phone.goto(f"{origin}/play/")
    phone.get_by_label("Seed").fill("123")
    phone.get_by_role("button", name="Use it on all pages").click()
    expect(phone).to_have_url(f"{origin}/play/?seed=123")
    phone.get_by_role("link", name="A thousand draws").click()
    expect(phone).to_have_url(re.compile(r"/play/thousand\?seed=123$"))
    phone.get_by_text("The same draws for others").click()
    expect(phone.locator(".share pre")).to_have_text("/play/thousand?seed=123&ell=5&draw=1")


def test_a_wrong_link_says_what_works(
    desktop: Page, enter: Callable[[Page], str], recorder: Callable[[Page], Recorder]
) -> None:
    origin = enter(desktop)
    recorder(desktop).excuse("status of 400")
    desktop.goto(f"{origin}/play/group?ell=99")
    expect(desktop.get_by_role("alert")).to_contain_text("from 2 to 10, got '99'")


def test_two_tabs_play_at_once(opening: Opening, enter: Callable[[Page], str]) -> None:
    page = opening(viewport={"width": 1280, "height": 800})
    origin = enter(page)
    tabs: list[Any] = [page, page.context.new_page()]
    for tab, seed in zip(tabs, (3, 5), strict=True):
        tab.goto(f"{origin}/play/group?seed={seed}")
    before = [tab.get_by_role("status").inner_text() for tab in tabs]
    tabs[0].get_by_role("link", name="Another Ada").click()
    expect(tabs[0]).to_have_url(re.compile("seed=4"))
    assert tabs[1].get_by_role("status").inner_text() == before[1]
