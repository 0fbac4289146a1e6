"""A ledger and its key: private, of no use without each other, and never half there."""

from __future__ import annotations

import contextlib
import functools
import json
import pickle
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countveil as cv
from countveil.errors import LedgerError
from countveil.publishing.ledger.keys import LedgerKey, identity
from tests.publishing.again.hospital import Hospital, publish
from tests.robustness.conftest import Quick

NAME = "0" * 32


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return cv.Ledger.init(tmp_path / "ledger").path


@pytest.fixture
def used(ledger: Path, tmp_path: Path) -> Path:
    """A ledger with one release."""
    publish(Hospital(range(100)).table(), tmp_path / "release", ledger)
    return ledger


def test_only_their_owner_can_read_them(used: Path) -> None:
    for file in (used, used.with_name("ledger.key")):
        assert file.stat().st_mode & 0o777 == 0o600


def test_the_publisher_is_warned_if_others_can_read_them(ledger: Path, tmp_path: Path) -> None:
    ledger.chmod(0o640)
    with pytest.warns(UserWarning, match=r"ledger can be read by others.*chmod 600"):
        publish(Hospital(range(100)).table(), tmp_path / "release", ledger)


def test_nothing_is_replaced(used: Path, tmp_path: Path) -> None:
    before = used.read_bytes()
    with pytest.raises(LedgerError, match="exists already"):
        cv.Ledger.init(used)
    with pytest.raises(LedgerError, match="a ledger is never replaced"):
        cv.Ledger.init(used, key=tmp_path / "other.key")
    assert used.read_bytes() == before
    # A key without its ledger is not left behind.
    assert not (tmp_path / "other.key").exists()


def test_no_id_and_no_value_is_in_the_clear(used: Path) -> None:
    for file in (used, used.with_name("ledger.key")):
        content = file.read_bytes()
        for text in ("diagnosis", "patient", "release"):
            if text != "release" or file.suffix == ".key":
                assert text.encode() not in content
        # Ciphertext may spell a short text once, three times in 50 kB once in 10^8; in the clear
        # each of these would be there for every case.
        assert len(content) < 50_000
        for text in ("P000", "D00", "D01"):
            assert content.count(text.encode()) < 3
    # Neither is a path.
    assert str(used.parent).encode() not in used.read_bytes()


def test_equal_cases_of_two_ledgers_have_nothing_in_common(tmp_path: Path) -> None:
    table = Hospital(range(100)).table()
    marks = []
    for name in ("a", "b"):
        ledger = cv.Ledger.init(tmp_path / name).path
        publish(table, tmp_path / f"release-{name}", ledger, again=True)
        with contextlib.closing(sqlite3.connect(ledger)) as file, file:
            marks.append({mark for (mark,) in file.execute("SELECT mark FROM cases")})
    assert len(marks[0]) == len(marks[1]) > 100
    assert not marks[0] & marks[1]


def test_what_is_lost_or_wrong_is_refused_with_what_to_do(used: Path, tmp_path: Path) -> None:
    table, to = Hospital(range(100)).table(), tmp_path / "2"
    cv.Ledger.init(tmp_path / "other")
    with pytest.raises(LedgerError, match=r"no ledger at .*restore its newest copy.*ledger init"):
        publish(table, to, tmp_path / "nowhere")
    with pytest.raises(LedgerError, match=r"does not belong to the ledger"):
        publish(table, to, used, ledger_key=tmp_path / "other.key")
    with pytest.raises(LedgerError, match=r"There is no key at"):
        publish(table, to, used, ledger_key=tmp_path / "no.key")
    with pytest.raises(LedgerError, match=r"cannot be read: it has .* bytes, more than 1,000"):
        publish(table, to, used, ledger_key=tmp_path / "release" / "manifest.json")
    (tmp_path / "no key.txt").write_text("no key")
    with pytest.raises(LedgerError, match=r"is not the key of a ledger"):
        publish(table, to, used, ledger_key=tmp_path / "no key.txt")
    with pytest.raises(LedgerError, match=r"not a ledger"):
        publish(
            table, to, tmp_path / "release" / "manifest.json", ledger_key=tmp_path / "other.key"
        )
    with pytest.raises(LedgerError, match="not a file"):
        publish(table, to, tmp_path / "release", ledger_key=tmp_path / "other.key")
    sqlite3.connect(tmp_path / "plain.sqlite").execute("CREATE TABLE t (x)").connection.close()
    with pytest.raises(LedgerError, match="not a ledger of countveil"):
        publish(table, to, tmp_path / "plain.sqlite", ledger_key=tmp_path / "other.key")
    assert not to.exists()


def test_another_version_is_refused(used: Path) -> None:
    with contextlib.closing(sqlite3.connect(used)) as file, file:
        file.execute("PRAGMA user_version = 9")
    with pytest.raises(LedgerError, match="has version 9"):
        cv.Ledger(used).show()


def test_damage_is_noticed(used: Path, tmp_path: Path) -> None:
    assert not cv.Ledger(used).verify(tmp_path / "release")
    whole = used.read_bytes()
    used.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LedgerError, match=r"damaged"):
        publish(Hospital(range(100)).table(), tmp_path / "2", used)
    used.write_bytes(whole)
    with contextlib.closing(sqlite3.connect(used)) as file, file:
        (mark,) = file.execute("SELECT min(mark) FROM cases").fetchone()
        file.execute("UPDATE cases SET published = published + 1 WHERE mark = ?", (mark,))
    assert "cases of batch 1 of diagnosis were changed" in str(cv.Ledger(used).verify())
    with contextlib.closing(sqlite3.connect(used)) as file, file:
        file.execute("UPDATE sets SET sealed = zeroblob(40)")
    with pytest.raises(LedgerError, match="damaged"):
        cv.Ledger(used).show()


@pytest.mark.slow
def test_releases_of_others_are_told_apart(used: Path, tmp_path: Path) -> None:
    other = cv.Ledger.init(tmp_path / "other").path
    publish(Hospital(range(100)).table(), tmp_path / "theirs", other, again=True)
    cv.publish(
        Hospital(range(100), visits=1).table(), {"diagnosis": 3}, tmp_path / "none",
        person="patient", keep=["number"], again=True,
    )  # fmt: skip
    assert "another ledger" in str(cv.Ledger(used).verify(tmp_path / "theirs"))
    assert "made without a ledger" in str(cv.Ledger(used).verify(tmp_path / "none"))
    (tmp_path / "release" / "data" / "part-00000.parquet").write_bytes(b"")
    assert cv.Ledger(used).verify(tmp_path / "release")


def test_what_a_ledger_shows(used: Path) -> None:
    summary = cv.Ledger(used).show()
    (batch,) = summary.batches
    assert (batch.columns, batch.batch, batch.ell) == (("diagnosis",), 1, 3)
    assert summary.cases == batch.cases > 100
    assert "1 releases" in str(summary)


@pytest.mark.slow
def test_the_commands(quick: Quick, tmp_path: Path) -> None:
    run = functools.partial(quick, "ledger", cwd=tmp_path)
    assert run("init", "h.ledger").code == 0
    publish(Hospital(range(100)).table(), tmp_path / "r", tmp_path / "h.ledger")
    shown = run("show", "h.ledger", "--format", "json")
    content = json.loads(shown.out)
    assert [release["state"] for release in content["releases"]] == ["done"]
    assert content["batches"][0]["columns"] == ["diagnosis"]
    assert run("verify", "h.ledger", "r").code == 0
    (tmp_path / "r" / "report.html").write_text("changed")
    broken = run("verify", "h.ledger", "r")
    assert broken.code == 1
    assert "report.html" in broken.out
    again = run("init", "h.ledger")
    assert again.code == 1
    assert again.err.startswith("Error: ")


def test_a_key_is_not_printed_or_pickled() -> None:
    key = LedgerKey(NAME, bytes(range(32)))
    assert "00010203" not in repr(key)
    with pytest.raises(TypeError):
        pickle.dumps(key)


texts = st.one_of(st.none(), st.text(max_size=5), st.integers(-99, 99), st.dates(), st.booleans())


@given(st.lists(st.tuples(texts, texts), min_size=2, max_size=20, unique_by=repr))
def test_different_cases_have_different_marks(cases: list[tuple[object, object]]) -> None:
    """But for a number and its text, which are the same person."""
    key = LedgerKey(NAME, bytes(32))
    parts = [[identity(value) for value in column] for column in zip(*cases, strict=True)]
    marks = {tuple(mark) for mark in key.marks("job", parts).tolist()}
    different = {tuple(map(_as_text, case)) for case in cases}
    assert len(marks) == len(different)


def _as_text(value: object) -> tuple[bool, str]:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return value is None, "" if value is None else text


def test_marks_are_those_of_hmac() -> None:
    """By hand: the columns, then person and value, each with its length."""
    import hashlib
    import hmac

    secret = bytes(range(32))
    marks = LedgerKey(NAME, secret).marks("job", [[identity("anna")], [identity(7)]])
    subkey = hmac.new(secret, f"countveil ledger {NAME} marks".encode(), hashlib.sha256).digest()
    text = b"\0\0\0\x03job" + b"=\0\0\0\x04anna" + b"=\0\0\0\x017"
    expected = hmac.new(subkey, text, hashlib.sha256).digest()[:16]
    assert marks.astype("<u8").tobytes() == expected


def test_what_is_sealed_for_one_place_is_of_no_use_in_another() -> None:
    key = LedgerKey(NAME, bytes(32))
    sealed = key.seal(b"content", "set 1")
    assert key.unseal(sealed, "set 1") == b"content"
    other = LedgerKey(NAME, bytes(31) + b"1")
    for reader, content, what in (
        (key, sealed, "set 2"),
        (key, sealed[:-1], "set 1"),
        (other, sealed, "set 1"),
        (key, b"", "set 1"),
    ):
        with pytest.raises(LedgerError):
            reader.unseal(content, what)


def test_pads_are_as_good_as_random() -> None:
    """Bits of pads of neighbouring marks: 64 x 4096 fair coins, within 6 standard errors (2e-9)."""
    marks = np.stack([np.arange(4_096, dtype=np.uint64), np.zeros(4_096, np.uint64)], axis=1)
    pads = LedgerKey(NAME, bytes(32)).pads(marks)
    ones = int(np.unpackbits(pads.view(np.uint8)).sum())
    n = 64 * 4_096
    assert abs(ones - n / 2) < 6 * (n / 4) ** 0.5


def test_nothing_is_the_same_under_another_key() -> None:
    """Marks, pads, digests and seals: who has the ledger alone can compute none of them."""
    one, other = (LedgerKey(NAME, bytes([number]) * 32) for number in (1, 2))
    parts = [[identity(f"P{number:05d}") for number in range(50)]]
    marks = one.marks("job", parts)
    assert not set(marks.ravel().tolist()) & set(other.marks("job", parts).ravel().tolist()), (
        "whoever has the ledger can test who is in it"
    )
    assert not set(one.pads(marks).tolist()) & set(other.pads(marks).tolist()), (
        "whoever has the ledger reads what everybody published"
    )
    assert not set(one.marks("pay", parts).ravel().tolist()) & set(marks.ravel().tolist()), (
        "a case of one column has the mark of another"
    )
    assert one.digest(b"x") != other.digest(b"x")
    texts = [bytes([number]) * 40 for number in range(20)]
    nonces = {one.seal(text, what)[:12] for text in texts for what in ("a", "b")}
    assert len(nonces) == 40, "two sealed texts share a nonce, and their difference is readable"
    with pytest.raises(LedgerError):
        other.unseal(one.seal(b"x", "a"), "a")
