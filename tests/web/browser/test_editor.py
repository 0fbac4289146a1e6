"""The editor for SQL as a person meets it: typed into, completed, marked, submitted, left.

It is on a page with the app's strict policy and no other script than those of the wheel. The
fixtures fail a test in which the policy refused anything.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.browser.looking import no_serious_issues, screenshot
from tests.web.browser.pages import Site, page, served
from tests.web.browser.recording import Opening

JOBS = ["nurse", "O'Brien's cook", "teacher"]
COLUMNS = {
    "columns": [
        {"name": "gender", "role": "published", "values": ["F", "M"]},
        {"name": "occupation", "role": "sensitive", "values": JOBS},
        {"name": "birth year", "role": "published", "values": [1950, 1951.5]},
        {"name": "insured", "role": "published", "values": [True, None]},
        {"name": "order", "role": "published"},
    ],
    "functions": ["avg", "count(*)", "lower"],
    "tables": ["release"],
}  # fmt: skip
STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b2127; --line: #7b8791; --accent: #0b5a8f;
  --muted: #4b5560; --danger: #a3161a; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171b; --ink: #e6e9ec; --line: #77828d;
  --accent: #7cc0f0; --muted: #b0b9c2; --danger: #ffa39e; } }
body { background: var(--paper); color: var(--ink); font: 1rem/1.5 sans-serif; margin: 1rem; }
textarea { width: 100%; }
"""
# What listeners outside of the editor notice, in order.
NOTICED = """
window.noticed = [];
for (const kind of ["input", "change", "submit"])
  document.addEventListener(kind, (event) => window.noticed.push([kind, event.target.localName]));
"""
HEAD = """<link rel="stylesheet" href="/style.css"><script src="/noticed.js"></script>
<script src="/vendor/htmx.min.js"></script><script src="/vendor/editor.js" defer></script>
<meta name="htmx-config" content='{"includeIndicatorStyles": false, "allowEval": false}'>"""
TEXT = "SELECT gender, count(*) FROM release"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with served() as site:
        site.put("/style.css", STYLE)
        site.put("/noticed.js", NOTICED)
        site.put("/columns.json", COLUMNS)
        yield site


def editor(text: str = "", attributes: str = "", textarea: str = "", head: str = HEAD) -> str:
    """A page with an editor in a form, between a link and a button."""
    return page(
        f"""<form method="post" action="/ask"><p><a href="#before">Before</a></p>
        <sql-editor rows="4" aria-label="Question" data-completions="/columns.json" {attributes}>
        <textarea name="sql" aria-label="Question" {textarea}>{text}</textarea></sql-editor>
        <p><button>Ask</button> <button type="reset">Reset</button></p></form>""",
        head,
    )


def opened(tab: Page, site: Site, content: str) -> Locator:
    tab.goto(site.put("/editor", content))
    return tab.get_by_role("textbox", name="Question")


def text_of(tab: Page) -> str:
    """What the form would send, which is what the editor shows."""
    shown, sent = tab.evaluate(
        "[document.querySelector('sql-editor').value, document.querySelector('textarea').value]"
    )
    assert shown == sent
    return str(sent)


def description(tab: Page) -> str:
    """What describes the editor to those who hear it, as the browser computes it."""
    nodes = tab.context.new_cdp_session(tab).send("Accessibility.getFullAXTree")["nodes"]
    (node,) = (node for node in nodes if node.get("name", {}).get("value") == "Question")
    return str(node.get("description", {}).get("value"))


def proposals(tab: Page) -> Locator:
    return tab.locator("sql-editor [role=option]")


def type_in(tab: Page, box: Locator, text: str) -> None:
    box.click()
    tab.keyboard.press("ControlOrMeta+End")
    tab.keyboard.type(text)


def test_what_is_typed_is_submitted(desktop: Page, site: Site) -> None:
    box = opened(desktop, site, editor(TEXT))
    assert text_of(desktop) == TEXT
    type_in(desktop, box, "\nWHERE 1 < 2 ")
    assert text_of(desktop) == f"{TEXT}\nWHERE 1 < 2 "
    desktop.get_by_role("button", name="Ask").click()
    desktop.wait_for_selector("#thanks")
    assert site.submitted.pop() == {"sql": f"{TEXT}\r\nWHERE 1 < 2 "}


def test_what_is_typed_over_a_selection_is_put_in_without_a_style(
    desktop: Page, site: Site
) -> None:
    """A browser would keep the colour of the selected words with an inline style."""
    box = opened(desktop, site, editor(f"{TEXT}\nGROUP BY gender"))
    box.click()
    desktop.keyboard.press("ControlOrMeta+a")
    desktop.keyboard.type("SELECT 1")
    assert text_of(desktop) == "SELECT 1"
    desktop.keyboard.press("ControlOrMeta+z")
    assert text_of(desktop) == f"{TEXT}\nGROUP BY gender"


def test_without_scripts_there_is_a_text_area(opening: Opening, site: Site) -> None:
    tab = opening(java_script_enabled=False)
    tab.goto(site.put("/editor", editor(TEXT)))
    tab.get_by_role("textbox", name="Question").fill("SELECT 1")
    tab.get_by_role("button", name="Ask").click()
    tab.wait_for_selector("#thanks")
    assert site.submitted.pop() == {"sql": "SELECT 1"}


def test_events_are_those_of_a_text_area(desktop: Page, site: Site) -> None:
    box = opened(desktop, site, editor())
    type_in(desktop, box, "ab")
    assert desktop.evaluate("noticed") == [["input", "textarea"]] * 2
    desktop.get_by_role("link", name="Before").focus()
    assert desktop.evaluate("noticed.slice(2)") == [["change", "textarea"]]
    box.focus()
    desktop.get_by_role("link", name="Before").focus()
    assert desktop.evaluate("noticed.length") == 3


def test_setting_the_value_fires_nothing_and_can_be_undone(desktop: Page, site: Site) -> None:
    box = opened(desktop, site, editor(TEXT))
    desktop.evaluate("document.querySelector('sql-editor').value = 'SELECT 2'")
    assert text_of(desktop) == "SELECT 2"
    expect(box).to_have_text("SELECT 2")
    assert desktop.evaluate("noticed") == []
    box.focus()
    desktop.keyboard.press("ControlOrMeta+z")
    assert text_of(desktop) == TEXT
    assert desktop.evaluate("noticed") == [["input", "textarea"]]


def test_control_and_enter_submit(desktop: Page, site: Site) -> None:
    box = opened(desktop, site, editor("SELECT "))
    type_in(desktop, box, "3")
    desktop.keyboard.press("Control+Enter")
    desktop.wait_for_selector("#thanks")
    assert site.submitted.pop() == {"sql": "SELECT 3"}


def test_tab_leaves_in_both_directions(desktop: Page, site: Site) -> None:
    box = opened(desktop, site, editor(TEXT))
    box.focus()
    desktop.keyboard.press("Tab")
    expect(desktop.get_by_role("button", name="Ask")).to_be_focused()
    desktop.keyboard.press("Shift+Tab")
    expect(box).to_be_focused()
    desktop.keyboard.press("Shift+Tab")
    expect(desktop.get_by_role("link", name="Before")).to_be_focused()
    assert text_of(desktop) == TEXT


def test_tab_leaves_while_something_is_proposed(desktop: Page, site: Site) -> None:
    box = opened(desktop, site, editor())
    type_in(desktop, box, "SELECT occ")
    expect(proposals(desktop).first).to_be_visible()
    desktop.keyboard.press("Tab")
    expect(desktop.get_by_role("button", name="Ask")).to_be_focused()
    assert text_of(desktop) == "SELECT occ"


# What is typed, what is proposed first, and the text once that is taken.
PROPOSED = [
    ("SELECT occ", "occupationsensitive", "SELECT occupation"),
    ("SELECT bir", "birth yearpublished", 'SELECT "birth year"'),
    ("SELECT ord", "orderpublished", 'SELECT "order"'),
    ('SELECT "bi', '"birth year"published', 'SELECT "birth year"'),
    ("SELECT low", "lower", "SELECT lower("),
    ("SELECT cou", "count(*)", "SELECT count(*)"),
    ("SELECT 1 FROM rel", "release", "SELECT 1 FROM release"),
    ("SELECT 1 FROM release whe", "where", "SELECT 1 FROM release where"),
    ("SELECT 1 FROM release WHE", "WHERE", "SELECT 1 FROM release WHERE"),
    ("WHERE occupation = ", "'nurse'", "WHERE occupation = 'nurse'"),
    ("WHERE occupation = 'te", "'teacher'", "WHERE occupation = 'teacher'"),
    ("WHERE occupation <> O", "'O''Brien''s cook'", "WHERE occupation <> 'O''Brien''s cook'"),
    ("WHERE OCCUPATION IN (", "'nurse'", "WHERE OCCUPATION IN ('nurse'"),
    ("WHERE r.gender NOT IN ('F', '", "'F'", "WHERE r.gender NOT IN ('F', 'F'"),
    ('WHERE "birth year" >= 19', "1950", 'WHERE "birth year" >= 1950'),
    ("WHERE insured = T", "TRUE", "WHERE insured = TRUE"),
    ("WHERE gender LIKE /* or */ '", "'F'", "WHERE gender LIKE /* or */ 'F'"),
]


def test_names_and_values_are_proposed(desktop: Page, site: Site) -> None:
    box = opened(desktop, site, editor())
    for typed, first, result in PROPOSED:
        desktop.evaluate("document.querySelector('sql-editor').value = ''")
        type_in(desktop, box, typed)
        expect(proposals(desktop).first, typed).to_have_text(first)
        desktop.keyboard.press("Enter")
        assert text_of(desktop) == result
        expect(proposals(desktop), typed).to_have_count(0)


def test_enter_begins_a_line_once_a_word_is_typed(desktop: Page, site: Site) -> None:
    box = opened(desktop, site, editor())
    for typed in ("SELECT 1 FROM release", "GROUP BY gender", "AND gender = 'F"):
        desktop.evaluate("document.querySelector('sql-editor').value = ''")
        type_in(desktop, box, typed)
        expect(proposals(desktop).first).to_be_visible()
        desktop.keyboard.press("Enter")
        assert text_of(desktop) == (f"{typed}'" if "'" in typed else f"{typed}\n")


def test_where_nothing_fits_nothing_is_proposed(desktop: Page, site: Site) -> None:
    box = opened(desktop, site, editor())
    type_in(desktop, box, "SELECT occ")
    expect(proposals(desktop).first).to_be_visible()
    for typed in (
        "SELECT 'te", "-- occ", "/* occ", "WHERE gender = 'F'", "WHERE nothing = ", "count(",
    ):  # fmt: skip
        desktop.evaluate("document.querySelector('sql-editor').value = ''")
        type_in(desktop, box, typed)
        # Proposals come a tenth of a second after the last key.
        desktop.wait_for_timeout(300)
        expect(proposals(desktop), typed).to_have_count(0)


def test_a_value_is_replaced_whole(desktop: Page, site: Site) -> None:
    box = opened(desktop, site, editor("WHERE occupation = 'nurse' AND 1 = 1"))
    box.click()
    desktop.keyboard.press("ControlOrMeta+Home")
    for _ in "WHERE occupation = 'nu":
        desktop.keyboard.press("ArrowRight")
    desktop.keyboard.press("Backspace")
    desktop.keyboard.press("Backspace")
    desktop.keyboard.type("te")
    expect(proposals(desktop).first).to_have_text("'teacher'")
    desktop.keyboard.press("Enter")
    assert text_of(desktop) == "WHERE occupation = 'teacher' AND 1 = 1"


def test_columns_are_asked_for_once(desktop: Page, site: Site) -> None:
    box = opened(desktop, site, editor())
    site.asked.clear()
    for typed in ("SELECT occ", "upation, gen", "der WHERE gender = "):
        type_in(desktop, box, typed)
        expect(proposals(desktop).first).to_be_visible()
        desktop.keyboard.press("Escape")
    assert site.asked.count("/columns.json") == 1


def test_the_place_of_an_error_is_marked(desktop: Page, site: Site) -> None:
    text = "SELECT '😀', wrong FROM release"
    place = f'data-error-from="{text.index("wrong")}" data-error-to="{text.index(" FROM")}"'
    described = "aria-describedby='why'"
    box = opened(desktop, site, editor(text, place, described) + "<p id='why'>No column.</p>")
    mark = desktop.locator("sql-editor .cm-error-range")
    expect(mark).to_have_text("wrong")
    assert "wavy" in mark.evaluate("(element) => getComputedStyle(element).textDecoration")
    expect(box).to_have_attribute("aria-invalid", "true")
    assert description(desktop) == "No column."
    type_in(desktop, box, " x")
    expect(mark).to_have_text("wrong")
    mark.dblclick()
    desktop.keyboard.type("age")
    expect(mark).to_have_count(0)
    expect(box).not_to_have_attribute("aria-invalid", "true")


def test_errors_at_the_end_mark_the_word_beside(desktop: Page, site: Site) -> None:
    for text, place, marked in (
        ("SELECT gender FROM", 'data-error-from="18"', ["FROM"]),
        ("SELECT gender FROM ", 'data-error-from="99" data-error-to="120"', ["FROM"]),
        ("SELECT FROM", 'data-error-from="7" data-error-to="7"', ["FROM"]),
        ("", 'data-error-from="0"', []),
    ):
        box = opened(desktop, site, editor(text, place))
        expect(box).to_have_attribute("aria-invalid", "true")
        expect(desktop.locator("sql-editor .cm-error-range")).to_have_text(marked)


def test_an_error_can_come_and_go(desktop: Page, site: Site) -> None:
    opened(desktop, site, editor(TEXT))
    mark = desktop.locator("sql-editor .cm-error-range")
    expect(mark).to_have_count(0)
    host = desktop.locator("sql-editor")
    host.evaluate("(host) => { host.dataset.errorFrom = 7; host.dataset.errorTo = 13; }")
    expect(mark).to_have_text("gender")
    host.evaluate("(host) => { delete host.dataset.errorFrom; }")
    expect(mark).to_have_count(0)


def test_a_reset_brings_the_first_text_back(desktop: Page, site: Site) -> None:
    box = opened(desktop, site, editor(TEXT))
    type_in(desktop, box, " more")
    desktop.get_by_role("button", name="Reset").click()
    expect(box).to_have_text(TEXT)
    assert text_of(desktop) == TEXT


def test_labels_descriptions_and_limits_of_the_text_area(desktop: Page, site: Site) -> None:
    content = page(
        """<form><label for="sql">Your question</label><sql-editor>
        <textarea id="sql" name="sql" required placeholder="SELECT ..." autofocus></textarea>
        </sql-editor></form><sql-editor name="second" aria-label="Fixed"><textarea
        readonly>fixed</textarea></sql-editor>""",
        HEAD,
    )
    desktop.goto(site.put("/editor", content))
    box = desktop.get_by_role("textbox", name="Your question")
    expect(box).to_be_focused()
    expect(box).to_have_attribute("aria-required", "true")
    fixed = desktop.get_by_role("textbox", name="Fixed")
    fixed.click()
    desktop.keyboard.type("x")
    expect(fixed).to_have_text("fixed")
    desktop.get_by_text("Your question").click()
    desktop.keyboard.type("7")
    expect(box).to_have_text("7")


def test_an_editor_that_is_swapped_in_works(desktop: Page, site: Site) -> None:
    site.put("/part", editor("SELECT 5", head="").partition("<main>")[2].partition("</main>")[0])
    swap = (
        '<button type="button" hx-get="/part" hx-target="#here" hx-swap="innerHTML">Swap</button>'
    )
    desktop.goto(site.put("/swap", page(f"{swap}<div id='here'>{editor()}</div>", HEAD)))
    for _ in range(2):
        with desktop.expect_response("**/part"):
            desktop.get_by_role("button", name="Swap").click()
        box = desktop.get_by_role("textbox", name="Question")
        expect(box).to_have_text("SELECT 5")
        type_in(desktop, box, "0")
        assert text_of(desktop) == "SELECT 50"
    assert desktop.locator("sql-editor").count() == 1


def test_an_editor_that_is_moved_keeps_what_was_done(desktop: Page, site: Site) -> None:
    box = opened(desktop, site, editor("SELECT "))
    type_in(desktop, box, "6")
    desktop.evaluate("document.querySelector('form').prepend(document.querySelector('sql-editor'))")
    box.focus()
    desktop.keyboard.press("ControlOrMeta+z")
    assert text_of(desktop) == "SELECT "


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", ["desktop", "phone"])
def test_it_looks_right_and_axe_agrees(
    request: pytest.FixtureRequest, site: Site, screen: str, scheme: str
) -> None:
    tab: Page = request.getfixturevalue(screen)
    tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    text = "-- by gender\nSELECT gender, count(*) FROM relase\nWHERE age >= 60 AND occupation = "
    place = f'data-error-from="{text.index("relase")}" data-error-to="{text.index("WHERE") - 1}"'
    box = opened(tab, site, editor(text, place))
    no_serious_issues(tab)
    type_in(tab, box, "'")
    expect(proposals(tab).first).to_be_visible()
    no_serious_issues(tab)
    screenshot(tab, f"editor-{screen}-{scheme}", full=False)
    ground = box.evaluate("(e) => getComputedStyle(e.closest('.cm-editor')).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}[scheme]
    width = tab.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert width <= 0
