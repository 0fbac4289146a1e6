"""The browser tests would notice: each thing that must not happen is made to happen here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.web.browser import looking
from tests.web.browser.looking import issues, no_serious_issues, screenshot
from tests.web.browser.pages import Site, page, served
from tests.web.browser.recording import Recorder


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with served() as site:
        yield site


@pytest.fixture
def watched(browser: Browser) -> Iterator[tuple[Page, Recorder]]:
    """A page whose problems are for the test to look at."""
    context = browser.new_context()
    recorder = Recorder(context)
    yield context.new_page(), recorder
    context.close()


def problems_at(watched: tuple[Page, Recorder], address: str) -> list[str]:
    page, recorder = watched
    page.goto(address, wait_until="networkidle")
    return recorder.problems()


def test_a_clean_page_has_no_problem(watched: tuple[Page, Recorder], site: Site) -> None:
    address = site.put("/clean", page("<p>Nothing is wrong.</p>"))
    assert problems_at(watched, address) == []
    assert watched[1].requests == [address, f"{site.origin}/none.css"]
    assert issues(watched[0]) == []


def test_a_request_to_another_origin(watched: tuple[Page, Recorder], site: Site) -> None:
    elsewhere = site.origin.replace("pages.", "elsewhere.")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site, "policy", None)
        address = site.put("/far", page(f"<img alt='' src='{elsewhere}/none.css'>"))
        (problem,) = problems_at(watched, address)
    assert problem == f"request to another origin than {site.origin}: {elsewhere}/none.css"


@pytest.mark.parametrize(
    ("body", "directive"),
    [
        ("<p style='color: red'>Red</p>", "style-src-attr blocked inline"),
        ("<style>p { color: red }</style>", "style-src-elem blocked inline"),
        ("<script>var x = 1</script>", "script-src-elem blocked inline"),
        ("<img alt='' src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>", "img-src blocked data"),
    ],
)
def test_what_the_policy_refuses(
    watched: tuple[Page, Recorder], site: Site, body: str, directive: str
) -> None:
    problems = problems_at(watched, site.put("/refused", page(body)))
    assert any(problem.startswith(f"policy violated: {directive}") for problem in problems)
    assert any(problem.startswith("console error: ") for problem in problems)


def test_errors_of_scripts_and_of_the_server(watched: tuple[Page, Recorder], site: Site) -> None:
    site.put("/bad.js", "console.error('spoken'); missing();")
    address = site.put(
        "/bad", page("", "<script src='/bad.js'></script><script src='/no.js'></script>")
    )
    said = "\n".join(problems_at(watched, address))
    for words in ("console error: spoken", "missing is not defined", "status of 404", "/no.js"):
        assert words in said


def test_excuses_are_for_what_happened(watched: tuple[Page, Recorder], site: Site) -> None:
    tab, recorder = watched
    recorder.excuse("status of 404")
    recorder.excuse("status of 418")
    tab.goto(site.origin + "/nowhere")
    (problem,) = recorder.problems()
    assert problem == "excused, but nothing was recorded that contains 'status of 418'"


def test_a_second_tab_is_recorded_too(watched: tuple[Page, Recorder], site: Site) -> None:
    tab, recorder = watched
    tab.goto(site.put("/clean", page("")))
    tab.context.new_page().goto(site.put("/refused", page("<p style='color: red'>Red</p>")))
    assert any(problem.startswith("policy violated") for problem in recorder.problems())


def test_axe_finds_what_stands_in_the_way(watched: tuple[Page, Recorder], site: Site) -> None:
    tab, recorder = watched
    tab.goto(site.put("/barrier", page("<input id='field'><img src='/none.css'>")))
    found = issues(tab)
    assert any(issue.startswith("label (critical) at ['#field']") for issue in found)
    assert any(issue.startswith("image-alt (critical)") for issue in found)
    with pytest.raises(pytest.fail.Exception, match=r"axe, on .*/barrier:\n"):
        no_serious_issues(tab)
    assert recorder.problems() == []


def test_pictures_have_plain_names_and_disturb_nothing(
    desktop: Page, phone: Page, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "SCREENS", tmp_path / "screens")
    for tab, name, width in ((desktop, "clean-desktop", 1280), (phone, "clean-phone", 780)):
        tab.goto(site.put("/clean", page("<p>Nothing is wrong.</p>")))
        content = screenshot(tab, name).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert int.from_bytes(content[16:20]) == width
    assert {path.name for path in (tmp_path / "screens").iterdir()} == {
        "clean-desktop.png", "clean-phone.png",
    }  # fmt: skip
    with pytest.raises(ValueError, match="no name for a picture"):
        screenshot(desktop, "../outside")
    assert phone.evaluate("navigator.maxTouchPoints") > 0
