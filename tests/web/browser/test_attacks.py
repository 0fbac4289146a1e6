"""Pages of others in the same browser: what they try, and that the app has none of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.web.browser.conftest import PATIENCE
from tests.web.browser.pages import Site, served
from tests.web.publisher.conftest import write_people
from tests.web.test_command import running

READ = """async (url) => {
  try { return await (await fetch(url, {credentials: "include"})).text(); }
  catch (error) { return error.name; }
}"""
SEND = """async (url) => {
  const how = {method: "POST", mode: "no-cors", credentials: "include",
    headers: {"content-type": "application/x-www-form-urlencoded"}, body: "screen=table"};
  try { return (await fetch(url, how)).type; } catch (error) { return error.name; }
}"""
LOAD = """(url) => new Promise((done) => {
  const script = document.createElement("script");
  script.src = url;
  script.onload = () => done("loaded");
  script.onerror = () => done("refused");
  document.head.append(script);
})"""
SUBMIT = """(url) => {
  const form = document.createElement("form");
  form.method = "post"; form.action = url;
  form.innerHTML = '<input name="screen" value="table">';
  document.body.append(form);
  form.submit();
}"""
FRAME = """(url) => new Promise((done) => {
  const frame = document.createElement("iframe");
  frame.src = url;
  frame.onload = () => done("over");
  document.body.append(frame);
})"""


@dataclass(frozen=True)
class Victim:
    """A publisher who has picked a table, and a site of somebody else, in one browser."""

    context: BrowserContext
    page: Page
    name: str
    port: str
    site: Site

    @property
    def origin(self) -> str:
        return f"http://{self.name}:{self.port}"

    def elsewhere(self, name: str) -> Page:
        """A page of the other site, by this name of the machine."""
        page = self.context.new_page()
        page.goto(f"http://{name}:{self.site.origin.rpartition(':')[2]}/evil")
        return page

    def nothing_happened(self) -> None:
        self.page.reload()
        expect(self.page.locator("#picked-head")).to_contain_text("people.csv")


@pytest.fixture
def victim(browser: Browser, tmp_path: Path) -> Iterator[Victim]:
    write_people(tmp_path / "people.csv")
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    with running("--root", str(tmp_path)) as (_, link), served() as site:
        site.policy = None
        site.put("/evil", "<!doctype html><title>Evil</title><body>")
        page = context.new_page()
        page.goto(link[0])
        page.wait_for_url("**/", wait_until="load")
        page.get_by_role("button", name="Publish a table").click()
        page.get_by_role("button", name="people.csv").click()
        expect(page.get_by_text("Read: 600 rows")).to_be_visible(timeout=60_000)
        yield Victim(context, page, link[1], link[2], site)
        context.close()


def names(victim: Victim) -> list[str]:
    """Another name, the number of the machine, and the app's own name: only the port differs."""
    return ["evil.localhost", "127.0.0.1", victim.name]


def test_pages_elsewhere_neither_read_nor_write(victim: Victim) -> None:
    for name in names(victim):
        evil = victim.elsewhere(name)
        read = evil.evaluate(READ, f"{victim.origin}/publish/table")
        assert read == "TypeError", name
        evil.evaluate(SEND, f"{victim.origin}/publish/undo")
        assert evil.evaluate(LOAD, f"{victim.origin}/static/app.js") == "refused", name
        assert evil.evaluate("typeof offerCopies") == "undefined", name
        with evil.expect_response("**/publish/undo") as refused:
            evil.evaluate(SUBMIT, f"{victim.origin}/publish/undo")
        assert refused.value.status == 403, name
        evil.close()
        victim.nothing_happened()
    # The same request from a page of the app does something.
    victim.page.evaluate(SEND, f"{victim.origin}/publish/undo")
    victim.page.reload()
    expect(victim.page.locator("#picked-head")).to_have_count(0)


def test_the_app_is_not_framed(victim: Victim) -> None:
    for name in names(victim):
        evil = victim.elsewhere(name)
        evil.evaluate(FRAME, f"{victim.origin}/publish/table")
        framed: Any = evil.frames[1]
        assert "Which table?" not in framed.content(), name
        evil.close()


def test_other_names_and_other_browsers_are_not_answered(victim: Victim, browser: Browser) -> None:
    page = victim.context.new_page()
    for host in ("127.0.0.1", "localhost", "evil.localhost"):
        reply = page.goto(f"http://{host}:{victim.port}/publish/table")
        assert reply is not None
        assert reply.status == 421, host
    stranger = browser.new_context()
    reply = stranger.new_page().goto(f"{victim.origin}/publish/table")
    assert reply is not None
    assert reply.status == 403
    stranger.close()
    victim.nothing_happened()


def test_a_page_elsewhere_gets_no_cookie_of_the_app(victim: Victim) -> None:
    for name in names(victim):
        evil = victim.elsewhere(name)
        assert evil.evaluate("document.cookie") == "", name
        evil.close()
    assert len(victim.context.cookies(victim.origin)) >= 1
    assert victim.context.cookies("http://127.0.0.1:1/publish/") == []
