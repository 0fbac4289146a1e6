"""A release to ask, and a browser that has opened it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import countveil as cv
from countveil import errors
from tests.web.client import Client, Reply

ROWS = 20_000


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release that nobody changes."""
    place = tmp_path_factory.mktemp("analyst") / "census-release"
    cv.publish(cv.generate(ROWS, seed=1), {"occupation": 5}, place, seed=1)
    return place


@pytest.fixture
def folder(published: Path, tmp_path: Path) -> Path:
    """A copy of it, which a test may change."""
    shutil.copytree(published, tmp_path / "census")
    return tmp_path / "census"


@dataclass
class Desk:
    """An analyst who has opened a release in the app."""

    client: Client
    id: str
    folder: Path

    def ask(self, sql: str, **fields: str) -> Reply:
        """The page with the answer, or the page that keeps what was typed."""
        reply = self.client.post(f"/ask/question/{self.id}", {"sql": sql, **fields})
        return self.settled(reply) if reply.status == 303 else reply

    def settled(self, reply: Reply) -> Reply:
        """The page of a question that is answered."""
        assert reply.status == 303
        # A browser keeps the place on the page to itself.
        address = reply.headers["location"].partition("#")[0]
        for _ in range(60):
            page = self.client.get(address)
            if 'id="running"' not in page.text:
                return page
            self.client.get(address, htmx=True)
        raise AssertionError("never answered")

    def first(self, step: str = "ask") -> Reply:
        """The page of a step."""
        reply = self.client.get(f"/ask/{step}/{self.id}")
        return self.client.followed(reply) if reply.status == 303 else reply


@pytest.fixture
def desk(start_app: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    # As the command that starts the app does.
    monkeypatch.setattr(errors, "reader", "command line")
    client, sessions = start_app(release=folder, root=folder.parent)
    assert client.enter(sessions.token).status == 200
    reply = client.get("/ask/")
    assert reply.status == 303
    return Desk(client, reply.headers["location"].rsplit("/", 1)[1], folder)


def problem(reply: Reply) -> str:
    """What the page says is wrong."""
    texts = re.findall(r'class="problem"[^>]*>(.*?)</(?:p|div)>', reply.text, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", " ".join(texts)).split()).replace("&#39;", "'")


def question_id(reply: Reply) -> str:
    """The id of the question that a page is about."""
    match = re.search(r"/ask/draft/([0-9a-f]{16})", reply.text)
    assert match is not None
    return match[1]


def cells(reply: Reply) -> list[list[str]]:
    """The rows of the first table of a page."""
    body = re.search(r"<tbody>(.*?)</tbody>", reply.text, re.DOTALL)
    assert body is not None
    rows = re.findall(r"<tr>(.*?)</tr>", body[1], re.DOTALL)
    return [
        [
            re.sub(r"<[^>]+>", "", cell).strip()
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
        ]
        for row in rows
    ]
