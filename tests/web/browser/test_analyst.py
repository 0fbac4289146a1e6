"""The analyst's flow in a real browser, from picking a release to files that are taken away."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Page, Route, expect

import countveil as cv
from countveil import errors
from countveil.web.app import AppSettings, make_app
from countveil.web.serve import _bound
from tests.web.browser.looking import no_serious_issues, screenshot

Enter = Callable[[Page], None]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("browser") / "census-release"
    cv.publish(cv.generate(20_000, seed=1), {"occupation": 5}, place, seed=1)
    return place


@pytest.fixture
def folder(published: Path, tmp_path: Path) -> Path:
    shutil.copytree(published, tmp_path / "surveys" / "census")
    return tmp_path / "surveys" / "census"


@pytest.fixture(autouse=True)
def link(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A running app, and the link into it; it is there before the browser, and after it."""
    monkeypatch.setattr(errors, "reader", "command line")
    listening = _bound(0)
    port = listening.getsockname()[1]
    settings = AppSettings(folder.parents[1], lambda command, _: command)
    app, sessions = make_app(settings, port)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://{settings.name}:{port}/enter?token={sessions.token}"
    server.should_exit = True
    thread.join()
    sessions.close()
    listening.close()


def enter(page: Page, link: str) -> None:
    """Through the door, to the folders."""
    page.goto(link)
    page.get_by_role("button", name="Ask a release").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Open a release")


def open_release(page: Page, link: str) -> None:
    enter(page, link)
    page.get_by_role("link", name="surveys").click()
    page.get_by_role("button", name="census").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Release")


def step(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Steps").get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    # Scripts follow what is clicked from here on.
    page.wait_for_load_state("load")


def counted(page: Page) -> None:
    """Wait until the columns have their values."""
    step(page, "Columns")
    expect(page.locator("#counting")).to_have_count(0)


def sql(page: Page) -> str:
    """What the editor shows."""
    return page.locator("#sql").input_value()


def type_sql(page: Page, text: str) -> None:
    """Type a question in place of the one that is there."""
    page.locator("sql-editor .cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def wide(page: Page) -> int:
    """By how much the page is wider than the screen."""
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


def test_from_the_door_to_the_answer_by_clicking(desktop: Page, link: str) -> None:
    enter(desktop, link)
    screenshot(desktop, "analyst-pick")
    no_serious_issues(desktop)
    desktop.get_by_role("link", name="surveys").click()
    desktop.get_by_role("button", name="census").click()
    expect(desktop.get_by_role("alert").first).to_contain_text("Seeded")
    desktop.get_by_role("button", name="Verify").click()
    expect(desktop.get_by_text("Sound: every file matches the manifest.")).to_be_visible()
    no_serious_issues(desktop)
    screenshot(desktop, "analyst-open")
    counted(desktop)
    expect(desktop.get_by_text("There is no preview of rows.")).to_be_visible()
    no_serious_issues(desktop)
    screenshot(desktop, "analyst-columns")

    step(desktop, "Ask")
    assert sql(desktop) == "SELECT occupation, count(*)\nFROM release\nGROUP BY occupation"
    desktop.get_by_label("Group by").select_option("gender")
    expect(desktop.locator("#sql")).to_have_value(
        "SELECT gender, count(*)\nFROM release\nGROUP BY gender"
    )
    desktop.get_by_label("Another condition").last.select_option("occupation")
    desktop.get_by_label("Value", exact=True).select_option("nurse")
    expect(desktop.locator("#sql")).to_have_value(re.compile("occupation = 'nurse'"))
    assert desktop.evaluate("document.querySelector('sql-editor').value") == sql(desktop)
    expect(desktop.locator("#lines")).to_contain_text("occupation = 'nurse'")
    desktop.get_by_role("button", name="Ask", exact=True).click()
    expect(desktop.get_by_role("heading", name="Answer")).to_be_in_viewport()
    expect(desktop.get_by_role("table").locator("tbody tr")).to_have_count(2)
    expect(desktop.locator(".for-wide svg")).to_be_visible()
    no_serious_issues(desktop)
    screenshot(desktop, "analyst-answer")


def test_what_is_typed_as_sql_is_shown_in_the_builder(desktop: Page, link: str) -> None:
    open_release(desktop, link)
    counted(desktop)
    step(desktop, "Ask")
    type_sql(desktop, "SELECT marital, avg(age) FROM release WHERE gender = 'F' GROUP BY marital")
    expect(desktop.get_by_label("What")).to_have_value("average")
    expect(desktop.get_by_label("Column of numbers")).to_have_value("age")
    expect(desktop.get_by_label("Value", exact=True)).to_have_value("F")
    expect(desktop.locator("#lines")).to_contain_text("avg(age)")
    # The editor was not touched meanwhile: the cursor is where it was.
    desktop.keyboard.type(" ")
    assert sql(desktop).endswith("GROUP BY marital ")
    only = "SELECT gender, count(*) FROM release GROUP BY ROLLUP (gender)"
    type_sql(desktop, only)
    expect(desktop.get_by_text("This question is SQL only")).to_be_visible()
    expect(desktop.get_by_label("What")).to_have_count(0)
    no_serious_issues(desktop)
    screenshot(desktop, "analyst-sql-only")
    desktop.reload()
    assert sql(desktop) == only
    desktop.keyboard.press("Tab")
    desktop.locator("sql-editor .cm-content").click()
    desktop.keyboard.press("Control+Enter")
    expect(desktop.get_by_role("table").locator("tbody tr")).to_have_count(3)


def test_the_editor_completes_columns_and_values(desktop: Page, link: str) -> None:
    open_release(desktop, link)
    counted(desktop)
    step(desktop, "Ask")
    type_sql(desktop, "SELECT count(*) FROM release WHERE ")
    desktop.keyboard.type("occu")
    expect(desktop.locator(".cm-tooltip-autocomplete")).to_contain_text("occupation")
    desktop.keyboard.press("Enter")
    desktop.keyboard.type(" = 'nur")
    expect(desktop.locator(".cm-tooltip-autocomplete")).to_contain_text("'nurse'")
    desktop.keyboard.press("Enter")
    assert sql(desktop) == "SELECT count(*) FROM release WHERE occupation = 'nurse'"
    desktop.keyboard.press("Control+Enter")
    expect(desktop.get_by_role("heading", name="Answer")).to_be_visible()


def test_a_refused_query_keeps_its_text_and_marks_the_place(desktop: Page, link: str) -> None:
    open_release(desktop, link)
    step(desktop, "Ask")
    wrong = "SELECT gender, count(*) FROM release WHERE ocupation = 'nurse' GROUP BY gender"
    type_sql(desktop, wrong)
    desktop.get_by_role("button", name="Ask", exact=True).click()
    expect(desktop.get_by_role("alert")).to_contain_text("Did you mean 'occupation'")
    assert sql(desktop) == wrong
    expect(desktop.locator("sql-editor .cm-error-range")).to_have_text("ocupation")
    no_serious_issues(desktop)
    screenshot(desktop, "analyst-refused")
    type_sql(desktop, "SELECT count(*) FROM release WHERE occupation = 'nurze'")
    desktop.get_by_role("button", name="Ask", exact=True).click()
    expect(desktop.get_by_text("Did you mean 'nurse'?")).to_be_visible()


def test_too_much_hidden_is_answered_coarser_by_one_click_and_one_goes_back(
    desktop: Page, link: str
) -> None:
    open_release(desktop, link)
    counted(desktop)
    step(desktop, "Ask")
    fine = "SELECT age, count(*) FROM release WHERE occupation = 'nurse' GROUP BY age"
    type_sql(desktop, fine)
    desktop.get_by_role("button", name="Ask", exact=True).click()
    expect(desktop.get_by_text("cells are hidden")).to_be_visible()
    screenshot(desktop, "analyst-hidden")
    desktop.get_by_role("button", name="age by classes of 10").click()
    expect(desktop.get_by_label("Classes of age")).to_have_value("10")
    assert "age // 10 * 10 AS age_from" in sql(desktop)
    desktop.get_by_role("link", name=re.compile("SELECT age, count")).click()
    assert sql(desktop) == fine
    # And the browser's own way back leads to the coarser one again.
    desktop.go_back()
    assert "age_from" in sql(desktop)


def test_a_crosstab_is_a_heat_map_and_a_table_and_files(desktop: Page, link: str) -> None:
    open_release(desktop, link)
    counted(desktop)
    step(desktop, "Cross-tab")
    desktop.get_by_label("Along the top").select_option("education")
    desktop.get_by_role("button", name="Cross them").click()
    expect(desktop.locator(".drawing svg .hatch").first).to_be_visible()
    desktop.get_by_text("The same as a table").click()
    expect(
        desktop.get_by_role("table").get_by_role("columnheader", name="doctorate")
    ).to_be_visible()
    no_serious_issues(desktop)
    # What only screen readers read makes no page longer than what is shown.
    footer = "document.querySelector('footer').getBoundingClientRect().bottom + scrollY"
    assert desktop.evaluate(f"document.documentElement.scrollHeight - ({footer})") <= 1
    screenshot(desktop, "analyst-crosstab")
    for name, ending in (
        ("CSV", "csv"),
        ("Picture (SVG)", "svg"),
        ("Python", "py"),
        ("SQL for SQLite", "sql"),
    ):
        with desktop.expect_download() as download:
            desktop.get_by_role("link", name=name, exact=True).click()
        assert download.value.suggested_filename.endswith(f".{ending}")
        content = Path(download.value.path()).read_text()
        assert re.search(r"[0-9a-f]{64}", content)


def test_a_wrong_value_in_the_builder_is_said_and_kept(desktop: Page, link: str) -> None:
    open_release(desktop, link)
    counted(desktop)
    step(desktop, "Ask")
    before = sql(desktop)
    desktop.get_by_label("Another condition").last.select_option("age")
    desktop.get_by_label("Comparison").select_option(">=")
    desktop.get_by_label("Value", exact=True).fill("old")
    desktop.keyboard.press("Tab")
    expect(desktop.locator("#builder-note")).to_contain_text("'old' is none")
    expect(desktop.get_by_label("Value", exact=True)).to_have_value("old")
    assert sql(desktop) == before
    desktop.reload()
    expect(desktop.get_by_label("Value", exact=True)).to_have_value("old")


def test_a_tampered_file_is_named(desktop: Page, link: str, folder: Path) -> None:
    open_release(desktop, link)
    data = next((folder / "data").iterdir())
    data.write_bytes(data.read_bytes()[:-7])
    desktop.get_by_role("button", name="Verify").click()
    expect(desktop.get_by_role("alert").last).to_contain_text(f"data/{data.name}: truncated")
    no_serious_issues(desktop)
    screenshot(desktop, "analyst-tampered")


def test_a_long_question_is_followed_and_given_up(
    desktop: Page, link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()
    ask = cv.Release.sql

    def waits(self: Any, query: str, **options: Any) -> Any:
        if "99" in query:
            go.wait(60)
        return ask(self, query, **options)

    monkeypatch.setattr(cv.Release, "sql", waits)
    open_release(desktop, link)
    counted(desktop)
    step(desktop, "Ask")
    type_sql(desktop, "SELECT count(*) FROM release WHERE age < 99")
    desktop.get_by_role("button", name="Ask", exact=True).click()
    expect(desktop.get_by_text("Working on it.")).to_be_visible()
    no_serious_issues(desktop)
    # Another tab is not blocked.
    other = desktop.context.new_page()
    other.goto(desktop.url.partition("/ask/")[0] + "/ask/pick")
    expect(other.get_by_role("heading", level=1)).to_have_text("Open a release")
    desktop.get_by_role("button", name="Give up").click()
    expect(desktop.get_by_text("You gave this question up.")).to_be_visible()
    # One that is waited for shows its answer by itself.
    type_sql(desktop, "SELECT count(*) FROM release WHERE age < 99 AND gender = 'F'")
    desktop.get_by_role("button", name="Ask", exact=True).click()
    expect(desktop.get_by_text("Working on it.")).to_be_visible()
    go.set()
    expect(desktop.get_by_role("heading", name="Answer")).to_be_visible()


def test_two_tabs_keep_their_questions(desktop: Page, link: str) -> None:
    open_release(desktop, link)
    counted(desktop)
    step(desktop, "Ask")
    other = desktop.context.new_page()
    other.goto(desktop.url)
    for page, column in ((desktop, "gender"), (other, "marital")):
        type_sql(page, f"SELECT {column}, count(*) FROM release GROUP BY {column}")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.get_by_role("heading", name="Answer")).to_be_visible()
    for page, column in ((desktop, "gender"), (other, "marital")):
        page.reload()
        assert f"GROUP BY {column}" in sql(page)
        expect(page.get_by_role("table").get_by_role("columnheader").first).to_have_text(column)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_screen_fits_a_phone_and_has_no_barrier(
    opening: Callable[..., Page], link: str, scheme: str
) -> None:
    screen = {"width": 390, "height": 844}
    page = opening(viewport=screen, has_touch=True, is_mobile=True, color_scheme=scheme)
    enter(page, link)
    assert wide(page) <= 0
    page.get_by_role("link", name="surveys").click()
    page.get_by_role("button", name="census").click()
    expect(page.get_by_role("alert").first).to_contain_text("Seeded")
    for name in ("Release", "Columns", "Ask", "Cross-tab"):
        if name != "Release":
            step(page, name)
        if name == "Columns":
            expect(page.locator("#counting")).to_have_count(0)
        if name == "Ask":
            page.get_by_role("button", name="Ask", exact=True).click()
            expect(page.get_by_role("heading", name="Answer")).to_be_visible()
            drawing = page.locator(".for-narrow")
            assert drawing.evaluate("each => each.scrollWidth - each.clientWidth") == 0
            expect(page.locator(".for-wide")).to_be_hidden()
        if name == "Cross-tab":
            page.get_by_role("button", name="Cross them").click()
            expect(page.get_by_role("heading", name="Answer")).to_be_visible()
        assert wide(page) <= 0, name
        no_serious_issues(page)
        screenshot(page, f"analyst-phone-{name.lower()}-{scheme}")


def test_all_of_it_works_without_scripts(opening: Callable[..., Page], link: str) -> None:
    page = opening(viewport={"width": 1280, "height": 800}, java_script_enabled=False)
    open_release(page, link)
    step(page, "Columns")
    step(page, "Ask")
    page.get_by_label("Group by").select_option("gender")
    page.get_by_role("button", name="Write it as SQL").click()
    expect(page.get_by_label("In SQL")).to_have_value(
        "SELECT gender, count(*)\nFROM release\nGROUP BY gender"
    )
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("table").locator("tbody tr")).to_have_count(2)


def test_a_restart_of_the_browser_loses_nothing(
    desktop: Page, opening: Callable[..., Page], link: str
) -> None:
    open_release(desktop, link)
    step(desktop, "Ask")
    asked = "SELECT marital, count(*) FROM release GROUP BY marital"
    type_sql(desktop, asked)
    desktop.get_by_role("button", name="Ask", exact=True).click()
    expect(desktop.get_by_role("heading", name="Answer")).to_be_visible()
    kept = desktop.context.storage_state()
    again = opening(viewport={"width": 1280, "height": 800}, storage_state=kept)
    again.goto(desktop.url)
    assert sql(again) == asked
    expect(again.get_by_role("heading", name="Answer")).to_be_visible()


def test_the_builder_is_used_by_keyboard_and_keeps_its_place(desktop: Page, link: str) -> None:
    open_release(desktop, link)
    counted(desktop)
    step(desktop, "Ask")
    desktop.locator("#measure").focus()
    # From "How many rows" to "Which share of the rows": the fields below it come after it.
    desktop.keyboard.press("ArrowDown")
    expect(desktop.get_by_role("heading", name="… of which")).to_be_visible()
    expect(desktop.locator("#measure")).to_be_focused()
    desktop.keyboard.press("Tab")
    expect(desktop.locator("#part-column")).to_be_focused()
    desktop.keyboard.type("gender")
    expect(desktop.locator("#part-value")).to_be_visible()
    desktop.locator("#part-value").focus()
    desktop.keyboard.type("F")
    expect(desktop.locator("#sql")).to_have_value(re.compile(r"FILTER \(WHERE gender = 'F'\)"))
    desktop.get_by_role("button", name="Ask", exact=True).focus()
    desktop.keyboard.press("Enter")
    expect(desktop.get_by_role("cell", name=re.compile("%")).first).to_be_visible()


def held_back(page: Page, path: str) -> Callable[[], None]:
    """Keep the next answer of a path back; what lets it go."""
    kept: list[Route] = []

    def keep(route: Route) -> None:
        if kept:
            route.continue_()
        else:
            kept.append(route)

    page.route(path, keep)

    def let_go() -> None:
        for _ in range(400):
            if kept:
                break
            page.wait_for_timeout(50)
        (route,) = kept
        route.continue_()

    return let_go


def test_what_is_typed_while_the_builder_is_drawn_anew_stays(desktop: Page, link: str) -> None:
    open_release(desktop, link)
    counted(desktop)
    step(desktop, "Ask")
    desktop.get_by_label("Another condition").last.select_option("age")
    value = desktop.locator("#where-0-value")
    expect(value).to_be_visible()
    let_go = held_back(desktop, "**/ask/draft/*")
    with desktop.expect_request("**/ask/draft/*"):
        desktop.get_by_label("Group by").first.select_option("gender")
    value.click()
    desktop.keyboard.type("4")
    with desktop.expect_response("**/ask/draft/*"):
        let_go()
    # The field is drawn anew under the hands of whoever types into it.
    expect(desktop.locator("#builder-note")).to_contain_text("no value yet")
    expect(value).to_be_focused()
    expect(value).to_have_value("4")
    desktop.keyboard.type("2")
    expect(value).to_have_value("42")
    expect(desktop.locator("#sql")).to_have_value(re.compile("age = 42"))
    expect(value).to_have_value("42")


def test_sql_that_is_typed_meanwhile_is_not_overwritten(desktop: Page, link: str) -> None:
    open_release(desktop, link)
    step(desktop, "Ask")
    let_go = held_back(desktop, "**/ask/draft/*")
    with desktop.expect_request("**/ask/draft/*"):
        desktop.get_by_label("Group by").first.select_option("gender")
    typed = "SELECT count(*) FROM release WHERE age = 50"
    type_sql(desktop, typed)
    with desktop.expect_response("**/ask/draft/*"):
        let_go()
    expect(desktop.locator("#where-0-value")).to_have_value("50")
    assert sql(desktop) == typed
    assert desktop.evaluate("document.querySelector('sql-editor').value") == typed
