"""A publisher in a real browser: the whole way, wrong turns, a phone, no scripts, and a stop."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Page, expect

import countveil as cv
from countveil.web.app import AppSettings, make_app
from countveil.web.serve import _bound
from tests.web.browser.looking import no_serious_issues, screenshot
from tests.web.browser.recording import Opening, Recorder
from tests.web.conftest import written
from tests.web.publisher.conftest import write_people, write_visits

LONG = 180_000
Recorders = Callable[[Page], Recorder]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_people(tmp_path / "people.csv")
    (tmp_path / "faulty.csv").write_text("a,b\n1,2\n3,4,5\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def enter(root: Path) -> Iterator[Callable[[Page], str]]:
    """Lets a page in, to the publisher's first screen; the origin of the app."""
    listening = _bound(0)
    port = listening.getsockname()[1]
    settings = AppSettings(root, written)
    app, sessions = make_app(settings, port)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)

    pages: list[Page] = []

    def entered(page: Page) -> str:
        pages.append(page)
        page.set_default_timeout(60_000)
        page.goto(f"http://{settings.name}:{port}/enter?token={sessions.token}")
        page.wait_for_url("**/", wait_until="load")
        page.get_by_role("button", name="Publish a table").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Which table?")
        return f"http://{settings.name}:{port}"

    yield entered
    # What a page still asks for is answered before the server ends.
    for page in pages:
        page.wait_for_load_state("networkidle")
        page.goto("about:blank")
    server.should_exit = True
    thread.join()
    sessions.close()
    listening.close()


def wide(page: Page) -> int:
    """By how much the page is wider than the screen."""
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


def looked_at(page: Page, name: str) -> None:
    """Nobody is kept out, nothing hangs over, and a picture to look at."""
    no_serious_issues(page)
    assert wide(page) <= 0, name
    screenshot(page, name)


def pick(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).click()


def set_role(page: Page, place: int, role: str) -> None:
    button = page.locator(f"#role-{place}-{role}")
    button.focus()
    button.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_be_focused()


def to_dangers(page: Page) -> None:
    """A table is picked, and roles are given; the dangers are shown."""
    pick(page, "people.csv")
    expect(page.get_by_text("Read: 600 rows, 5 columns.")).to_be_visible(timeout=LONG)
    page.get_by_role("link", name="Next: the columns").click()
    expect(page.locator("#column-4")).to_be_visible(timeout=LONG)
    # Scripts follow what is clicked from here on.
    page.wait_for_load_state("load")
    set_role(page, 0, "drop")
    set_role(page, 4, "protect")
    page.get_by_role("link", name="Next: dangers").click()
    expect(page.locator("li.danger.open")).to_have_count(1, timeout=LONG)


def to_publish(page: Page) -> None:
    to_dangers(page)
    page.locator("li.danger.open button[value=drop]").click()
    page.get_by_role("link", name="Next: how much").click(timeout=LONG)
    page.locator("#typed-0 input[name=ell]").fill("3")
    page.locator("#typed-0 button").click()
    page.get_by_role("link", name="Next: rehearse").click()
    page.get_by_role("link", name="Next: publish").click(timeout=LONG)
    expect(page.locator("#start")).to_be_enabled()


def test_from_a_table_to_a_release(
    desktop: Page, enter: Callable[[Page], str], recorder: Recorders, root: Path
) -> None:
    recorder(desktop).excuse("status of 422")
    recorder(desktop).excuse("Error Code 422")
    enter(desktop)
    looked_at(desktop, "publisher-table-desktop")
    pick(desktop, "faulty.csv")
    expect(desktop.locator(".problem")).to_contain_text("line 3", timeout=LONG)
    to_dangers(desktop)
    _columns(desktop)
    _dangers(desktop)
    _how_much(desktop)
    desktop.get_by_role("link", name="Next: rehearse").click()
    expect(desktop.locator(".sheet-page")).to_be_visible(timeout=LONG)
    desktop.fill("#title", "Jobs of Westport")
    desktop.get_by_role("button", name="Keep").click()
    expect(desktop.locator("#sheet-head")).to_have_text("Jobs of Westport")
    desktop.locator("#more summary").click()
    desktop.locator("#more-sign").fill("nothing.pem")
    desktop.locator("#take-more").click()
    expect(desktop.locator("#more-problem")).to_contain_text("nothing.pem")
    expect(desktop.locator("#more-sign")).to_have_value("nothing.pem")
    looked_at(desktop, "publisher-more-desktop")
    desktop.locator("#more-sign").fill("")
    desktop.get_by_label("DDI-Codebook").check()
    desktop.locator("#take-more").click()
    expect(desktop.locator("#lines")).to_contain_text("--metadata ddi")
    looked_at(desktop, "publisher-rehearsal-desktop")
    desktop.emulate_media(media="print")
    expect(desktop.locator("#lines")).to_be_hidden()
    expect(desktop.locator(".signing")).to_be_visible()
    screenshot(desktop, "publisher-rehearsal-paper")
    desktop.emulate_media(media="screen")
    desktop.get_by_role("link", name="Next: publish").click()
    looked_at(desktop, "publisher-publish-desktop")
    desktop.fill("#to", "jobs")
    desktop.locator("#start").click()
    expect(desktop.get_by_text("Published 600 rows to")).to_be_visible(timeout=LONG)
    assert "badge" in (root / "people-release-private.html").read_text()
    desktop.reload()
    expect(desktop.get_by_text("Published 600 rows to")).to_be_visible()
    _handed_over(desktop, recorder)
    assert cv.open(root / "jobs").rows == 600


def _columns(page: Page) -> None:
    """Classes show what they do, and a wrong one is named beside it; undo takes them back."""
    page.get_by_role("link", name=re.compile("Columns")).click()
    page.locator("#values-2 summary").click()
    page.fill("#bins-2", "nonsense")
    page.locator("#apply-2").click()
    expect(page.locator("#problem-2")).to_contain_text("cannot be read")
    expect(page.locator("#bins-2")).to_have_value("nonsense")
    page.fill("#bins-2", "30,50")
    page.locator("#apply-2").click()
    page.locator("#values-3 summary").click()
    page.fill("#merge-3", "rare:7")
    expect(page.locator("#column-2 .effect")).to_contain_text("63", timeout=LONG)
    expect(page.locator("#column-2 .effect strong").first).to_have_text("3")
    expect(page.locator("#lines")).to_contain_text("--bins age=30,50")
    # The page asked by itself meanwhile, and what was being typed is there.
    expect(page.locator("#merge-3")).to_have_value("rare:7")
    looked_at(page, "publisher-columns-desktop")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#lines")).not_to_contain_text("--bins")


def _dangers(page: Page) -> None:
    page.get_by_role("link", name=re.compile("Dangers")).click()
    card = page.locator("li.danger.open")
    expect(card).to_have_count(1, timeout=LONG)
    card.locator("button[value=keep]").click()
    expect(card.locator(".problem")).to_contain_text("Say why")
    looked_at(page, "publisher-dangers-desktop")
    card.locator("textarea").fill("Everybody wears the code on a badge.")
    card.locator("button[value=keep]").click()
    expect(page.locator("li.danger.decided")).to_have_count(1)


def _how_much(page: Page) -> None:
    """Wishes, figures as they come, and a slider that the keyboard moves."""
    page.get_by_role("link", name="Next: how much").click()
    page.fill("input[name=share]", "many")
    page.locator("#measure").click()
    expect(page.locator("#wishes-problem")).to_contain_text("number of percent")
    page.fill("input[name=share]", "5")
    page.fill("input[name=error]", "30")
    page.locator("#measure").click()
    expect(page.locator("#take-recommended")).to_be_visible(timeout=LONG)
    slider = page.locator("#slider-0")
    slider.focus()
    slider.press("End")
    slider.press("Home")
    expect(page.locator("#figures-0 .choice strong")).to_have_text("ell 2", timeout=LONG)
    slider.press("ArrowRight")
    expect(page.locator("#figures-0 .choice strong")).to_have_text("ell 3", timeout=LONG)
    expect(slider).to_be_focused()
    looked_at(page, "publisher-amount-desktop")


def _handed_over(page: Page, recorder: Recorders) -> None:
    page.get_by_role("link", name="Next: attack it").click()
    page.locator("#attack").click()
    expect(page.get_by_text("claims that were tested hold")).to_be_visible(timeout=LONG)
    looked_at(page, "publisher-audit-desktop")
    page.get_by_role("link", name="Next: hand over").click()
    expect(page.get_by_text("is sound")).to_be_visible(timeout=LONG)
    looked_at(page, "publisher-handover-desktop")
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="The report for everybody").click()
    report = opened.value
    expect(report.get_by_role("heading", level=1)).to_contain_text("Jobs of Westport")
    assert report.evaluate("getComputedStyle(document.body).fontFamily") != "Times New Roman"
    report.close()
    assert recorder(page) is not None


def test_on_a_phone_in_the_dark(opening: Opening, enter: Callable[[Page], str]) -> None:
    screen = {"width": 390, "height": 844}
    phone = opening(viewport=screen, is_mobile=True, has_touch=True, color_scheme="dark")
    enter(phone)
    looked_at(phone, "publisher-table-phone")
    to_publish(phone)
    for name in ("table", "columns", "dangers", "amount", "rehearsal", "publish"):
        phone.goto(re.sub(r"/publish/.*", f"/publish/{name}", phone.url))
        expect(phone.locator("#part")).to_be_visible()
        # The list of steps is wider than a phone: the current one is in sight.
        expect(phone.locator(".steps [aria-current]")).to_be_in_viewport(ratio=0.9)
        looked_at(phone, f"publisher-{name}-phone")


def test_without_scripts(opening: Opening, enter: Callable[[Page], str], root: Path) -> None:
    page = opening(viewport={"width": 1280, "height": 800}, java_script_enabled=False)
    enter(page)
    pick(page, "people.csv")

    def reloaded(text: str) -> None:
        """As somebody does who is told to."""
        end = time.monotonic() + LONG / 1_000
        while not page.get_by_text(text).first.is_visible():
            assert time.monotonic() < end, page.content()
            page.get_by_role("link", name="Reload").first.or_(
                page.locator(".brand")
            ).first.is_visible()
            page.reload()

    reloaded("Read: 600 rows")
    page.get_by_role("link", name="Next: the columns").click()
    for place, role in ((0, "drop"), (1, "drop"), (4, "protect")):
        page.locator(f"#role-{place}-{role}").click()
    page.get_by_role("link", name="Next: dangers").click()
    reloaded("Nothing stops the publication")
    page.get_by_role("link", name="Next: how much").click()
    page.locator("#measure").click()
    reloaded("Take what is recommended")
    page.locator("#slider-0").fill("1")
    page.locator("#take-0").click()
    expect(page.locator("#figures-0 .choice")).to_contain_text("ell 3")
    page.goto(page.url.replace("amount/slide", "amount").replace("/amount", "/rehearsal"))
    reloaded("Everything was done but publishing")
    page.get_by_role("link", name="Next: publish").click()
    page.locator("#start").click()
    reloaded("Published 600 rows")
    assert cv.open(root / "people-release").ell == {"job": 3}


def test_a_publication_is_stopped_and_nothing_is_left(
    desktop: Page, enter: Callable[[Page], str], root: Path
) -> None:
    cv.generate(400_000, root / "people.csv", seed=1, force=True)
    before = sorted(path.name for path in root.rglob("*"))
    origin = enter(desktop)
    pick(desktop, "people.csv")
    expect(desktop.get_by_text("Read: 400,000 rows")).to_be_visible(timeout=LONG)
    desktop.goto(f"{origin}/publish/columns")
    set_role(desktop, 8, "protect")
    desktop.goto(f"{origin}/publish/dangers")
    desktop.get_by_role("link", name="Next: how much").click(timeout=LONG)
    desktop.locator("#typed-0 input[name=ell]").fill("5")
    desktop.locator("#typed-0 button").click()
    desktop.get_by_role("link", name="Next: rehearse").click()
    desktop.get_by_role("link", name="Next: publish").click(timeout=LONG)
    desktop.locator("#start").click()
    expect(desktop.get_by_role("progressbar")).to_be_visible()
    looked_at(desktop, "publisher-publishing-desktop")
    desktop.get_by_role("button", name="Stop").click()
    expect(desktop.get_by_text("It was stopped. Nothing is left of it.")).to_be_visible(
        timeout=LONG
    )
    assert sorted(path.name for path in root.rglob("*")) == before


def to_columns(page: Page) -> None:
    """The columns of the table, with what is known of them."""
    page.get_by_role("button", name="people.csv").click()
    expect(page.get_by_text("Read: 600 rows")).to_be_visible(timeout=LONG)
    page.get_by_role("navigation", name="Steps").get_by_role("link", name="Columns").click()
    expect(page.locator("#column-4")).to_be_visible(timeout=LONG)
    page.wait_for_load_state("load")


def test_values_are_merged_and_labelled_by_keyboard(
    desktop: Page, enter: Callable[[Page], str]
) -> None:
    enter(desktop)
    to_columns(desktop)
    desktop.locator("#values-4 summary").focus()
    desktop.keyboard.press("Enter")
    desktop.keyboard.press("Tab")
    expect(desktop.get_by_role("button", name="Merge or label single values").last).to_be_focused()
    desktop.keyboard.press("Enter")
    expect(desktop.get_by_role("group", name="Values of job")).to_be_visible(timeout=LONG)
    looked_at(desktop, "publisher-by-value")
    for job in ("baker", "cook"):
        desktop.get_by_role("checkbox", name=job, exact=True).focus()
        desktop.keyboard.press("Space")
    desktop.get_by_label("Merge the chosen values into").focus()
    desktop.keyboard.type("food")
    desktop.keyboard.press("Enter")
    expect(desktop.locator("#column-4 .effect")).to_contain_text("Values: 8", timeout=LONG)
    expect(desktop.get_by_role("rowheader", name="baker becomes food")).to_be_visible()
    desktop.get_by_label("Label of nurse").fill("care")
    desktop.get_by_role("button", name="Give the labels").click()
    expect(desktop.get_by_role("rowheader", name="nurse becomes care")).to_be_visible(timeout=LONG)
    expect(desktop.locator("#lines")).to_contain_text('"cook": "food"')
    no_serious_issues(desktop)
    desktop.get_by_role("button", name="Undo").click()
    expect(desktop.get_by_role("rowheader", name="nurse becomes care")).to_have_count(0)


def test_values_are_merged_without_scripts_and_on_a_phone(
    opening: Opening, enter: Callable[[Page], str]
) -> None:
    screen = {"width": 390, "height": 844}
    page = opening(viewport=screen, has_touch=True, is_mobile=True, java_script_enabled=False)
    enter(page)
    page.get_by_role("button", name="people.csv").click()
    columns = page.get_by_role("navigation", name="Steps").get_by_role("link", name="Columns")

    def until_there(text: str) -> None:
        for _ in range(100):
            if page.get_by_text(text).count():
                return
            time.sleep(0.2)
            columns.click()
        raise AssertionError(text)

    until_there("What becomes of each column?")
    until_there("600 rows, 5 columns")
    page.locator("#values-4 summary").click()
    page.locator("#list-4").click()
    until_there("Merge the chosen values into")
    for job in ("baker", "cook"):
        page.get_by_role("checkbox", name=job, exact=True).check()
    page.get_by_label("Merge the chosen values into").fill("food")
    page.get_by_role("button", name="Merge", exact=True).click()
    until_there("becomes food")
    assert wide(page) <= 0


def test_what_is_typed_elsewhere_stays_when_a_role_is_clicked(
    desktop: Page, enter: Callable[[Page], str]
) -> None:
    enter(desktop)
    to_columns(desktop)
    desktop.locator("#values-2 summary").click()
    desktop.locator("#bins-2").fill("30,5")
    desktop.locator("#role-0-drop").click()
    expect(desktop.locator("#role-0-drop")).to_have_attribute("aria-pressed", "true")
    expect(desktop.locator("#bins-2")).to_be_visible()
    expect(desktop.locator("#bins-2")).to_have_value("30,5")
    desktop.locator("#bins-2").press("End")
    desktop.keyboard.type("0")
    desktop.keyboard.press("Enter")
    expect(desktop.locator("#column-2 .effect")).to_contain_text("Values: 63", timeout=LONG)
    expect(desktop.locator("#bins-2")).to_have_value("30,50")


def test_the_first_row_of_a_person_and_what_is_wrong_is_kept(
    desktop: Page, enter: Callable[[Page], str], recorder: Recorders, root: Path
) -> None:
    write_visits(root / "visits.csv")
    for said in ("status of 422", "Error Code 422"):
        recorder(desktop).excuse(said)
    enter(desktop)
    pick(desktop, "visits.csv")
    expect(desktop.get_by_text("Read: 700 rows")).to_be_visible(timeout=LONG)
    desktop.get_by_role("link", name="Next: the columns").click()
    expect(desktop.locator("#column-3")).to_be_visible(timeout=LONG)
    desktop.wait_for_load_state("load")
    set_role(desktop, 0, "person")
    desktop.locator("#one-row-row").select_option("first")
    desktop.locator("#apply-one-row").click()
    expect(desktop.locator("#one-row-problem")).to_contain_text("Choose the column that says it")
    expect(desktop.locator("#one-row-row")).to_have_value("first")
    desktop.locator("#one-row-by").select_option(label="admitted")
    desktop.locator("#apply-one-row").click()
    # Counting goes on, and the page asks by itself.
    expect(desktop.locator(".one-row .effect strong")).to_have_text("400", timeout=LONG)
    expect(desktop.locator("#lines")).to_contain_text("--one-per 'patient=first by admitted'")
    looked_at(desktop, "publisher-person-desktop")
    set_role(desktop, 3, "protect")
    set_role(desktop, 1, "drop")
    desktop.get_by_role("link", name="Next: dangers").click()
    desktop.fill("#few", "some")
    desktop.locator("#take-few").click()
    expect(desktop.locator("#few-problem")).to_contain_text("whole number", timeout=LONG)
    expect(desktop.locator("#few")).to_have_value("some")
    desktop.get_by_role("link", name="Next: how much").click()
    desktop.locator("#typed-0 input[name=ell]").fill("none")
    desktop.locator("#typed-0 button").click()
    expect(desktop.locator("#ell-problem-0")).to_contain_text("whole number")
    expect(desktop.locator("#ell-0")).to_have_value("none")
    desktop.fill("#ell-0", "3")
    desktop.locator("#typed-0 button").click()
    desktop.get_by_role("link", name="Next: rehearse").click()
    expect(desktop.locator(".sheet-page")).to_be_visible(timeout=LONG)
    desktop.locator("#more summary").click()
    desktop.fill("#more-rows_per_file", "few")
    desktop.locator("#more-residue").select_option("drop")
    desktop.locator("#take-more").click()
    expect(desktop.locator("#more-problem")).to_contain_text("whole number")
    expect(desktop.locator("#more-rows_per_file")).to_have_value("few")
    expect(desktop.locator("#more-residue")).to_have_value("drop")
    looked_at(desktop, "publisher-files-desktop")
    desktop.fill("#more-rows_per_file", "150")
    desktop.locator("#take-more").click()
    expect(desktop.get_by_text("399 rows in random order")).to_be_visible(timeout=LONG)
    expect(desktop.locator("#lines")).to_contain_text("--residue drop")
    desktop.get_by_role("button", name="Undo").click()
    expect(desktop.get_by_text("400 rows in random order")).to_be_visible(timeout=LONG)
