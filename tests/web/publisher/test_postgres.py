"""A table on a real server that asks for a password, from the address to the release."""

from __future__ import annotations

import html
import io
import logging
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from countveil.release.opening import read_manifest
from countveil.system.address import without_password
from countveil.web.publisher.steps import Results
from countveil.web.sessions import Mode
from tests.tables.test_postgres_passwords import (  # noqa: F401 - fixtures
    ADDRESSES,
    SECRET,
    WRONG,
    locked,
    no_passwords,
)
from tests.web.publisher.conftest import Desk
from tests.web.publisher.test_lines import shown
from tests.web.publisher.test_long_work import over


@pytest.fixture
def office(start_app: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A publisher without any file, whose jobs are real processes."""
    place = tmp_path / "office"
    place.mkdir()
    monkeypatch.chdir(place)
    client, sessions = start_app(place)
    client.enter(sessions.token)
    client.post("/enter-mode/publisher")
    return Desk(client, sessions.state(Mode.PUBLISHER), place)


@pytest.mark.slow
def test_a_table_of_a_server_is_published_and_its_password_stays_unknown(
    office: Desk,
    locked: str,  # noqa: F811
    caplog: pytest.LogCaptureFixture,
) -> None:
    address = f"{locked}#own.people"
    out = io.StringIO()
    pages = []
    with caplog.at_level(logging.DEBUG), redirect_stdout(out), redirect_stderr(out):
        office.done("table/address", {"subject": "address", "address": address})
        assert "asks for a password" in over(Results(office.state).facts).error
        pages.append(office.get("table"))
        sent = {"subject": "address", "address": address}
        office.done("table/address", {**sent, "password": WRONG})
        assert "does not accept the password" in over(Results(office.state).facts).error
        pages.append(office.get("table"))
        office.done("table/address", {**sent, "password": SECRET})
        assert over(Results(office.state).facts).state == "done"
        pages.append(office.get("table"))
        assert "Read: 400 rows" in pages[-1]
        command, python = shown(pages[-1])
        assert address in command.replace("'", "")
        assert repr(address) in python
        pages.append(office.get("columns"))
        office.role(0, "drop")
        office.role(1, "protect")
        pages.append(office.get("dangers"))
        over(Results(office.state).dangers)
        office.done("amount/typed", {"subject": "0", "ell": "3", "method": "mixed"})
        pages.append(office.get("rehearsal"))
        over(Results(office.state).rehearsal)
        pages.append(office.get("rehearsal"))
        pages.append(office.done("publish/start", {"to": "release"}))
        assert office.state.publication is not None
        assert over(office.state.publication.job).state == "done", pages[-1]
        pages.append(office.get("publish"))
    assert read_manifest(office.root / "release").rows == 400
    texts = [*map(html.unescape, pages), out.getvalue(), caplog.text, repr(office.state)]
    texts += [str(value) for value in office.client.jar.values()]
    for text in texts:
        assert SECRET not in text
        assert WRONG not in text
    assert all("password=" not in page for page in pages)
    for path in office.root.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


def test_a_password_is_for_its_own_server(desk: Desk) -> None:
    state = desk.state
    state.log_in("postgresql://me@here/db#own.people", "one")
    assert state._secrets("postgresql://me@here/db#own.other") == {"PGPASSWORD": "one"}
    assert state._secrets("postgresql://me@there/db#own.people") == {}
    assert state._secrets("people.csv") == {}
    state.log_in("postgresql://me@here/db#own.people", "")
    assert state._secrets("postgresql://me@here/db#own.people") == {}


def test_a_password_for_a_file_is_refused(desk: Desk) -> None:
    sent = {"subject": "address", "address": "people.csv", "password": SECRET}
    reply = desk.post("table/address", sent)
    assert reply.status == 422
    assert "A password is for a server" in reply.text
    assert SECRET not in reply.text


@pytest.mark.parametrize(
    "address", [*ADDRESSES, f"postgresql://me:a#/@{SECRET}@localhost/db?user=me#t"]
)
def test_a_password_in_an_address_is_refused_and_not_shown_again(desk: Desk, address: str) -> None:
    reply = desk.post("table/address", {"subject": "address", "address": address})
    assert reply.status == 422
    assert SECRET not in html.unescape(reply.text)
    typed = re.search(r'id="address" name="address"[^>]*value="([^"]*)"', reply.text)
    assert typed is not None
    # The rest of what was typed is kept.
    assert typed[1].endswith("#t")
    assert "localhost/db" in typed[1]
    assert desk.state.draft.table == ""


@pytest.mark.parametrize(
    "text",
    ["people.csv", "sqlite:a@b.db#t", "postgresql://me@host:5432/db#own.t", "x.xlsx#a@b", "", "@"],
)
def test_what_holds_no_password_is_shown_as_it_was_typed(text: str) -> None:
    assert without_password(text) == text
