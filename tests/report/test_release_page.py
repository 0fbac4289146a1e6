"""The page in a release: made of the release alone, harmless, checksummed, its lines work."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.release import REPORT_NAME, read_manifest
from countveil.report.release_page import release_page
from countveil.tables.encoded.survey import ValueRange

GOLDEN = Path(__file__).parents[1] / "release" / "golden-v1"
EVIL = '</pre><script>alert("x")</script>\x1b[31m\u202e & \' "'


def census(rows: int) -> pa.Table:
    table = cv.generate(rows, seed=1)
    assert table is not None
    return table


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("released") / "release"
    cv.publish(census(3_000), {"occupation": 5, "salary": 3}, folder)
    return folder


def page_of(folder: Path) -> str:
    return (folder / REPORT_NAME).read_text(encoding="utf-8")


def published(folder: Path) -> dict[str, dict[Any, int]]:
    """How many rows publish each value, from the data files; in the order of the domain."""
    data, manifest = pq.read_table(folder / "data"), read_manifest(folder)
    found = {}
    for name, entry in manifest.sensitive.items():
        counts = {pair["values"]: pair["counts"] for pair in data[name].value_counts().to_pylist()}
        known = sorted(entry.domain, key=lambda value: (value is not None, str(value)))
        found[name] = {value: counts[value] for value in known if value in counts}
    return found


def plain_ranges(folder: Path) -> dict[str, ValueRange]:
    """What unchanged columns hold, from the data files."""
    data, found = pq.read_table(folder / "data"), {}
    for column in read_manifest(folder).columns:
        if column.role == "plain":
            values = data[column.name].unique().to_pylist()
            known = sorted(value for value in values if value is not None)
            # Different whole numbers are not counted.
            whole = isinstance(known[0], int)
            found[column.name] = ValueRange(
                known[:8], known[-1], None if whole else len(known), missing=None in values
            )
    return found


def blocks(folder: Path) -> list[str]:
    return [
        html.unescape(text) for text in re.findall(r"<pre>(.*?)</pre>", page_of(folder), re.DOTALL)
    ]


def assert_harmless(text: str) -> None:
    assert "<script" not in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|url\(|@import|<link|<img", text)
    assert "default-src 'none'" in text
    ET.fromstring(re.sub(r"<!doctype html>|<meta[^>]*>", "", text))


def test_the_page_is_made_of_the_release_alone(release: Path) -> None:
    """Whoever has the data and the manifest can make the same page."""
    manifest = replace(read_manifest(release), report=None)
    assert release_page(manifest, published(release), plain_ranges(release)) == page_of(release)
    assert_harmless(page_of(release))


def test_it_holds_what_it_must(release: Path) -> None:
    text, manifest = page_of(release), read_manifest(release)
    for paragraph in manifest.statement:
        head, _, rest = paragraph.partition(". ")
        assert f"<b>{html.escape(head)}.</b> {html.escape(rest)}" in text
    for words in (
        "what was published",
        "How to query it",
        "The manifest",
        manifest.files[0].sha256,
    ):
        assert words in text
    root = ET.fromstring(re.sub(r"<!doctype html>|<meta[^>]*>", "", text))
    charts = [element for element in root.iter() if element.get("class") == "chart"]
    assert len(charts) == 4
    for chart in charts:
        assert chart.get("role") == "img"
        assert len(chart.findtext("{http://www.w3.org/2000/svg}desc") or "") > 80


@pytest.mark.slow
def test_the_lines_to_copy_work(release: Path) -> None:
    shell, python, more, _ = blocks(release)
    beside = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}"}
    lines = [*shell.splitlines(), *more.splitlines()]
    assert len(lines) == 7
    for line in lines:
        done = subprocess.run(
            line, shell=True, cwd=release, env=environment, capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b""), line
        assert done.stdout.count(b"\n") > 3 or "verify" in line
    done = subprocess.run(
        [sys.executable, "-c", python], cwd=release, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") > 50


def test_verify_covers_it(release: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(release, copy)
    assert cv.verify(copy) == []
    (copy / REPORT_NAME).write_text(page_of(copy).replace("right", "wrong"))
    assert [found.file for found in cv.verify(copy)] == [REPORT_NAME]
    (copy / REPORT_NAME).unlink()
    assert [found.problem for found in cv.verify(copy)] == ["missing"]
    (copy / REPORT_NAME).symlink_to(release / REPORT_NAME)
    assert "symbolic link" in cv.verify(copy)[0].problem


def test_a_signature_covers_it(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    pem, raw = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (tmp_path / "key").write_bytes(key.private_bytes(pem, raw, serialization.NoEncryption()))
    public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "public").write_bytes(public)
    folder = tmp_path / "release"
    cv.publish(census(300), {"salary": 2}, folder, sign=tmp_path / "key")
    assert cv.verify(folder, signed_by=tmp_path / "public") == []
    other = page_of(folder).replace("whose value is whose is uncertain", "all is certain")
    (folder / REPORT_NAME).write_text(other)
    assert [found.file for found in cv.verify(folder, signed_by=tmp_path / "public")] == [
        REPORT_NAME
    ]
    # With the manifest brought into line as well, the signature tells.
    import hashlib

    from countveil.release import ReportFile

    changed = ReportFile(len(other.encode()), hashlib.sha256(other.encode()).hexdigest())
    manifest = replace(read_manifest(folder), report=changed)
    (folder / "manifest.json").write_text(manifest.to_json())
    assert cv.verify(folder) == []
    assert [found.file for found in cv.verify(folder, signed_by=tmp_path / "public")] == [
        "manifest.sig"
    ]


@pytest.mark.slow
def test_releases_of_before_have_none(tmp_path: Path) -> None:
    assert read_manifest(GOLDEN).report is None
    copy = tmp_path / "copy"
    shutil.copytree(GOLDEN, copy)
    (copy / REPORT_NAME).write_text("somebody's own")
    assert [found.problem for found in cv.verify(copy)] == ["not part of the release"]
    with pytest.raises(cv.CountveilError, match=REPORT_NAME):
        cv.publish(census(300), {"salary": 2}, copy, force=True, again=True)
    (copy / REPORT_NAME).unlink()
    cv.publish(census(300), {"salary": 2}, copy, force=True, again=True)
    cv.publish(census(300), {"salary": 2}, copy, force=True, again=True)
    assert cv.verify(copy) == []


@pytest.mark.slow
def test_hostile_text_is_harmless_and_its_lines_still_work(tmp_path: Path) -> None:
    quotes = 'o\'Neil "x" $(touch here) `b` & <b>'
    values = [EVIL, quotes, "c", None, ""] * 40
    table = pa.table({EVIL: values, quotes: values[::-1], "other": ["f", "m"] * 100})
    keep = [EVIL, quotes, "other"]
    folder = tmp_path / "release"
    cv.publish(table, {EVIL: 2, quotes: 2}, folder, keep=keep)
    assert_harmless(page_of(folder))
    shell, python, _, _ = blocks(folder)
    assert quotes.replace('"', '""') in shell.replace("'\"'\"'", "'")
    beside = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}"}
    for words in (["bash", "-ec", shell], [sys.executable, "-c", python]):
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
    assert not (folder / "here").exists()


@pytest.mark.slow
def test_odd_tables_have_a_page_too(tmp_path: Path) -> None:
    """Two rows; a value that fills half of them; declared classes; many values."""
    cv.publish(pa.table({"a": ["x", "y"]}), {"a": 2}, tmp_path / "two")
    halves = pa.table({"a": ["x", "y"] * 20, "b": ["p", "p", "q", "q"] * 10})
    cv.publish(halves, {"a": 2}, tmp_path / "halves")
    numbers = pa.table({"income": [float(n % 97) for n in range(1_000)], "b": [1, 2] * 500})
    cv.publish(numbers, {"income": 2}, tmp_path / "classes", bins={"income": 4})
    many = pa.table({"code": [f"v{n % 1_500:05d}" for n in range(6_000)], "b": [1, 2] * 3_000})
    cv.publish(many, {"code": 3}, tmp_path / "many", keep=["code"])
    for name in ("two", "halves", "classes", "many"):
        text = page_of(tmp_path / name)
        assert_harmless(text)
        assert cv.verify(tmp_path / name) == []
    assert "more&quot;" in page_of(tmp_path / "many")
    assert len(page_of(tmp_path / "many")) < 60_000
