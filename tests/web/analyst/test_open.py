"""Open: pick a release, see what it says, verify it; and all that can be wrong with a folder."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import countveil as cv
from countveil import errors
from tests.web.analyst.conftest import Desk, problem
from tests.web.client import Client, Reply


def entry_id(page: Reply, name: str) -> str:
    """The id behind an entry of a listing."""
    pieces = re.findall(r"<li>(.*?)</li>", page.text, re.DOTALL)
    inside = next(piece for piece in pieces if f"</span> {name} " in piece)
    match = re.search(r'(?:name="(?:place|key)" value|at)="?=?"?([0-9a-f]{20})', inside)
    assert match is not None
    return match[1]


def verified(desk: Desk, **fields: str) -> Reply:
    reply = desk.client.post(f"/ask/verify/{desk.id}", fields)
    for _ in range(100):
        page = desk.client.followed(reply)
        if 'id="checking"' not in page.text:
            return page
    raise AssertionError("never verified")


@pytest.mark.usefixtures("folder")
def test_a_release_is_picked_by_clicking(analyst: Client) -> None:
    listed = analyst.followed(analyst.post("/enter-mode/analyst"))
    assert "release: open it" in listed.text
    opened = analyst.post("/ask/open", {"place": entry_id(listed, "census")})
    page = analyst.followed(opened)
    assert "20,000" in page.text
    assert "ell 5" in page.text
    assert "mixed groups" in page.text
    assert "not signed" in page.text
    # Neither the folder nor the id of a file is in the address.
    assert re.fullmatch(r"/ask/release/[0-9a-f]{16}", opened.headers["location"])


def test_a_seeded_release_is_warned_of_in_red(desk: Desk) -> None:
    assert "Seeded: for experiments only." in problem(desk.first("release"))


def test_a_release_of_the_command_line_is_open_at_once(desk: Desk) -> None:
    assert "<strong>census</strong>" in desk.first("release").text


def test_a_folder_that_is_no_release_is_refused_and_the_listing_stays(
    analyst: Client, folder: Path
) -> None:
    page = analyst.followed(analyst.post("/enter-mode/analyst"))
    known = entry_id(page, "census")
    (folder / "manifest.json").unlink()
    reply = analyst.post("/ask/open", {"place": known})
    assert reply.status == 400
    assert "is not a release: it has no manifest.json" in problem(reply)
    assert "Pick a release" in reply.text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "not readable JSON"),
        (b"{}", "not that of a countveil release"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"format": "countveil-release", "format_version": 99}', "newer countveil"),
    ],
)
def test_a_corrupted_manifest_is_named(
    analyst: Client, folder: Path, content: bytes, said: str
) -> None:
    page = analyst.followed(analyst.post("/enter-mode/analyst"))
    (folder / "manifest.json").write_bytes(content)
    reply = analyst.post("/ask/open", {"place": entry_id(page, "census")})
    assert reply.status == 400
    assert said in problem(reply)


def test_an_edited_manifest_is_noticed(analyst: Client, folder: Path) -> None:
    page = analyst.followed(analyst.post("/enter-mode/analyst"))
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"ell": 5', '"ell": 4'))
    reply = analyst.post("/ask/open", {"place": entry_id(page, "census")})
    assert "does not match its checksum" in problem(reply)


def test_an_id_that_was_never_given_opens_nothing(analyst: Client) -> None:
    reply = analyst.post("/ask/open", {"place": "f" * 20})
    assert reply.status == 400
    assert "Pick it again" in problem(reply)
    assert analyst.get("/ask/release/ffffffffffffffff").status == 404
    assert analyst.get("/ask/answer/ffffffffffffffff").status == 404


def test_verifying_says_that_it_is_sound(desk: Desk) -> None:
    assert "Sound: every file matches the manifest" in verified(desk).text


def test_verifying_names_the_file_that_was_tampered_with(desk: Desk) -> None:
    data = next((desk.folder / "data").iterdir())
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(content)
    page = verified(desk)
    assert "not what was published" in problem(page)
    assert f"data/{data.name} : changed: its checksum differs" in problem(page)


def test_verifying_names_a_truncated_and_a_missing_and_a_foreign_file(desk: Desk) -> None:
    data = next((desk.folder / "data").iterdir())
    data.write_bytes(data.read_bytes()[:-5])
    (desk.folder / "data" / "more.txt").write_text("x")
    assert "truncated" in problem(verified(desk))
    assert "not part of the release" in problem(verified(desk))
    data.unlink()
    assert "missing" in problem(verified(desk))


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    key = Ed25519PrivateKey.generate()
    private, public = tmp_path / "key.pem", tmp_path / "public.pem"
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    public.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return private, public


@pytest.fixture
def signed_desk(start_app: Callable[..., Any], tmp_path: Path, keys: tuple[Path, Path]) -> Desk:
    place = tmp_path / "signed"
    cv.publish(cv.generate(500, seed=2), {"occupation": 2}, place, seed=2, sign=keys[0])
    client, sessions = start_app(release=place, root=tmp_path)
    client.enter(sessions.token)
    return Desk(client, client.get("/ask/").headers["location"].rsplit("/", 1)[1], place)


def test_a_signature_is_checked_with_a_public_key_that_is_picked(signed_desk: Desk) -> None:
    page = signed_desk.first("release")
    assert "by whom, only a public key can say" in page.text
    plain = verified(signed_desk)
    assert "the signature was not checked" in plain.text
    page = verified(signed_desk, key=entry_id(page, "public.pem"))
    assert "which is signed by the key in public.pem" in page.text
    assert "--signed-by" in page.text


@pytest.mark.slow
def test_the_key_of_somebody_else_is_noticed(signed_desk: Desk, keys: tuple[Path, Path]) -> None:
    other = Ed25519PrivateKey.generate().public_key()
    keys[1].write_bytes(
        other.public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    page = signed_desk.first("release")
    page = verified(signed_desk, key=entry_id(page, "public.pem"))
    assert "not the signature of this manifest by this key" in problem(page)


def test_a_private_key_is_refused_with_advice(signed_desk: Desk) -> None:
    page = signed_desk.first("release")
    page = verified(signed_desk, key=entry_id(page, "key.pem"))
    assert "is a private key. Keep it secret" in problem(page)


@pytest.mark.slow
def test_a_release_that_is_removed_meanwhile_is_said_and_answers_are_kept(desk: Desk) -> None:
    answered = desk.ask("SELECT gender, count(*) FROM release GROUP BY gender")
    address = re.search(r'aria-current="page"><code>', answered.text)
    assert address is not None
    shutil.rmtree(desk.folder)
    page = desk.ask("SELECT marital, count(*) FROM release GROUP BY marital")
    assert "is no longer there" in problem(page)
    assert "SELECT marital, count(*) FROM release GROUP BY marital" in page.text
    # The page of the release says so too, and the earlier answer is still in the history.
    assert "The folder of this release is gone" in problem(desk.first("release"))
    assert "SELECT gender, count(*)" in page.text


def test_a_release_that_is_replaced_meanwhile_has_to_be_opened_again(desk: Desk) -> None:
    desk.ask("SELECT count(*) FROM release")
    cv.publish(
        cv.generate(600, seed=9), {"occupation": 2}, desk.folder, seed=9, force=True, again=True
    )
    page = desk.ask("SELECT count(*) FROM release")
    assert "was replaced or changed since it was opened" in problem(page)
    reopened = desk.client.get("/ask/")
    assert reopened.headers["location"] != f"/ask/release/{desk.id}"
    assert "600" in desk.client.followed(reopened).text


@pytest.mark.slow
def test_damaged_data_are_said_on_every_screen_and_nothing_is_lost(
    start_app: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "reader", "command line")
    data = next((folder / "data").iterdir())
    data.write_bytes(data.read_bytes()[: data.stat().st_size // 2])
    client, sessions = start_app(release=folder, root=folder.parent)
    client.enter(sessions.token)
    desk = Desk(client, client.get("/ask/").headers["location"].rsplit("/", 1)[1], folder)
    sql = "SELECT gender, count(*) FROM release GROUP BY gender"
    page = desk.ask(sql)
    assert "and the manifest says" in problem(page)
    assert "'countveil verify' says what is wrong." in problem(page)
    assert sql in page.text
    assert "'countveil verify' says what is wrong." in problem(desk.first("columns"))
    assert "truncated" in problem(verified(desk))
    assert desk.first("crosstab").status == 200
