"""Signed releases: genuine ones pass, everything else is told apart; other tools agree."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PrivateFormat, PublicFormat

import countveil as cv
from countveil.cli.app import parser
from countveil.errors import CountveilError

PLAIN = serialization.NoEncryption()


def write_keys(place: Path, form: str) -> tuple[Path, Path]:
    key = ed25519.Ed25519PrivateKey.generate()
    private, public = place / f"{form}.key", place / f"{form}.pub"
    if form == "pem":
        private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, PLAIN))
        public.write_bytes(
            key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        )
    else:
        private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, PLAIN))
        public.write_bytes(key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH))
    return private, public


@pytest.fixture(params=["pem", "openssh"])
def keys(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    return write_keys(tmp_path, request.param)


def publish(place: Path, **more: object) -> Path:
    cv.publish(cv.generate(500, seed=1), {"occupation": 3}, place / "release", **more)  # type: ignore[arg-type]
    return place / "release"


@pytest.mark.few(1)
def test_a_genuine_signature(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    release = publish(tmp_path, sign=keys[0])
    assert cv.verify(release) == []
    assert cv.verify(release, signed_by=keys[1]) == []
    assert (release / "manifest.sig").stat().st_size == 64
    assert cv.open(release).rows == 500
    publish(tmp_path, sign=keys[0], force=True, again=True)
    publish(tmp_path, force=True, again=True)
    assert not (release / "manifest.sig").exists()


@pytest.mark.slow
def test_whoever_changes_the_manifest_needs_the_key(
    tmp_path: Path, keys: tuple[Path, Path]
) -> None:
    release = publish(tmp_path, sign=keys[0])
    forged = publish(tmp_path / "release" / "..", force=True, again=True)
    assert forged.resolve() == release
    other = tmp_path / "other"
    other.mkdir()
    signed = publish(other, sign=keys[0])
    shutil.copy(signed / "manifest.sig", release / "manifest.sig")
    assert cv.verify(release) == [], "checksums detect accidents, not malice"
    (finding,) = cv.verify(release, signed_by=keys[1])
    assert finding.file == "manifest.sig"
    assert "not the signature" in finding.problem


@pytest.mark.few(1)
def test_changed_data_under_a_genuine_manifest(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    release = publish(tmp_path, sign=keys[0])
    (part,) = (release / "data").iterdir()
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    assert [found.file for found in cv.verify(release, signed_by=keys[1])] == [f"data/{part.name}"]


@pytest.mark.few(1)
@pytest.mark.parametrize("content", [b"", b"x" * 64, b"x" * 10_000])
def test_signatures_that_are_none(tmp_path: Path, content: bytes) -> None:
    private, public = write_keys(tmp_path, "pem")
    release = publish(tmp_path, sign=private)
    (release / "manifest.sig").write_bytes(content)
    assert [found.file for found in cv.verify(release, signed_by=public)] == ["manifest.sig"]
    (release / "manifest.sig").unlink()
    (finding,) = cv.verify(release, signed_by=public)
    assert "not signed" in finding.problem
    (release / "manifest.sig").symlink_to(private)
    assert "symbolic link" in cv.verify(release)[0].problem


def test_another_key(tmp_path: Path) -> None:
    private, _ = write_keys(tmp_path, "pem")
    _, stranger = write_keys(tmp_path, "openssh")
    release = publish(tmp_path, sign=private)
    assert len(cv.verify(release, signed_by=stranger)) == 1


def test_questions_check_the_signature_when_asked(tmp_path: Path) -> None:
    private, public = write_keys(tmp_path, "pem")
    other = tmp_path / "other"
    other.mkdir()
    stranger = write_keys(other, "pem")[1]
    release = publish(tmp_path, sign=private)
    assert cv.open(release, signed_by=public).count() == cv.open(release).count()
    with pytest.raises(CountveilError, match="not the signature of this manifest"):
        cv.open(release, signed_by=stranger)
    (data,) = (release / "data").iterdir()
    content = data.read_bytes()
    data.write_bytes(content[:100] + b"xx" + content[102:])
    with pytest.raises(CountveilError, match="not the file that was signed"):
        cv.open(release, signed_by=public)
    data.write_bytes(content)
    cv.export(release, f"duckdb:{tmp_path / 'x.duckdb'}#t")
    with pytest.raises(CountveilError, match="Only a folder has a signature"):
        cv.open(f"duckdb:{tmp_path / 'x.duckdb'}#t", signed_by=public)
    (release / "manifest.sig").unlink()
    with pytest.raises(CountveilError, match="missing: the release is not signed"):
        cv.open(release, signed_by=public)


def test_commands_check_the_signature_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    private, public = write_keys(tmp_path, "pem")
    release = publish(tmp_path, sign=private)
    question = "SELECT count(*) FROM release WHERE gender = 'F'"
    for words in (["query", question], ["sql", question], ["verify"]):
        command = [words[0], str(release), *words[1:], "--signed-by", str(public)]
        assert not parser()(command, standalone_mode=False)
    assert f"signed by {public}" in capsys.readouterr().out
    parser()(["verify", str(release)], standalone_mode=False)
    assert "does not prove who made it: its signature was not checked" in capsys.readouterr().out
    (release / "manifest.sig").write_bytes(bytes(64))
    for words in (["query", question], ["sql", question]):
        command = [words[0], str(release), *words[1:], "--signed-by", str(public)]
        with pytest.raises(CountveilError, match="is not signed by"):
            parser()(command, standalone_mode=False)


def test_openssl_agrees(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    private, public = tmp_path / "key.pem", tmp_path / "public.pem"
    subprocess.run([openssl, "genpkey", "-algorithm", "ed25519", "-out", private], check=True)
    subprocess.run([openssl, "pkey", "-in", private, "-pubout", "-out", public], check=True)
    release = publish(tmp_path, sign=private)
    assert cv.verify(release, signed_by=public) == []
    check = [openssl, "pkeyutl", "-verify", "-pubin", "-inkey", str(public), "-rawin"]
    files = ["-in", str(release / "manifest.json"), "-sigfile", str(release / "manifest.sig")]
    assert subprocess.run([*check, *files], check=False, capture_output=True).returncode == 0


def test_keys_that_are_none(tmp_path: Path) -> None:
    private, public = write_keys(tmp_path, "pem")
    release = publish(tmp_path, sign=private)
    text = tmp_path / "text"
    text.write_text("hello")
    other = rsa.generate_private_key(65537, 2048)
    wrong_kind = tmp_path / "rsa"
    wrong_kind.write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, PLAIN))
    locked = tmp_path / "locked"
    secret = serialization.BestAvailableEncryption(b"word")
    key = ed25519.Ed25519PrivateKey.generate()
    locked.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, secret))
    target = tmp_path / "new"
    for path, told in (
        (text, "not a private key"), (public, "not a private key"), (wrong_kind, "not an Ed25519"),
        (locked, "passphrase"), (tmp_path / "none", "cannot be read"),
    ):  # fmt: skip
        with pytest.raises(CountveilError, match=told):
            cv.publish(cv.generate(500, seed=1), {"occupation": 3}, target, sign=path)
        assert not target.exists()
    for path, told in (
        (text, "not a public key"), (private, "private key. Keep it secret"),
        (tmp_path / "none", "cannot be read"),
    ):  # fmt: skip
        with pytest.raises(CountveilError, match=told):
            cv.verify(release, signed_by=path)


def test_nothing_of_the_key_is_in_the_release(tmp_path: Path) -> None:
    private, _ = write_keys(tmp_path, "pem")
    release = publish(tmp_path, sign=private)
    manifest = json.loads((release / "manifest.json").read_text())
    assert "key" not in manifest
    loaded = serialization.load_pem_private_key(private.read_bytes(), None)
    raw = loaded.private_bytes(Encoding.Raw, PrivateFormat.Raw, PLAIN)
    for file in release.rglob("*"):
        assert file.is_dir() or raw not in file.read_bytes()
