"""The scripts in the wheel are those that tools/assets pins and builds, byte by byte."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tools.web_assets import ALLOWED, LISTED, SOURCE, VENDOR, make

FILES: dict[str, Any] = json.loads((VENDOR / LISTED).read_text())["files"]
PACKAGES = [package for file in FILES.values() for package in file["packages"]]
LOCK: dict[str, Any] = json.loads((SOURCE / "package-lock.json").read_text())["packages"]


def test_every_file_is_as_listed() -> None:
    assert {path.name for path in VENDOR.iterdir()} == {*FILES, LISTED}
    for name, file in FILES.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == file["sha256"], name


def test_versions_are_those_that_are_locked() -> None:
    assert {"htmx.org", "@codemirror/view", "@codemirror/lang-sql"} <= {p["name"] for p in PACKAGES}
    for package in PACKAGES:
        locked = LOCK[f"node_modules/{package['name']}"]
        assert (package["version"], package["licence"]) == (locked["version"], locked["license"])


def test_the_lock_has_checksums_and_no_address() -> None:
    for name, locked in LOCK.items():
        assert "resolved" not in locked, name
        assert not name or re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", locked["integrity"]), name
    assert "://" not in (SOURCE / "package-lock.json").read_text()


def test_what_is_asked_for_has_one_version() -> None:
    asked = json.loads((SOURCE / "package.json").read_text())
    for name, version in {**asked["dependencies"], **asked["devDependencies"]}.items():
        assert version == LOCK[f"node_modules/{name}"]["version"]


def test_every_package_has_its_licence_in_the_wheel() -> None:
    text = (VENDOR / "LICENSES.txt").read_text()
    assert {package["licence"] for package in PACKAGES} <= ALLOWED
    for package in PACKAGES:
        line = f"{package['name']} {package['version']} ({package['licence']})"
        assert line in text.splitlines()


def test_scripts_neither_evaluate_text_nor_load_anything() -> None:
    """Htmx evaluates text unless it is told not to, which its page tells it; the editor cannot."""
    editor = (VENDOR / "editor.js").read_text()
    assert not re.findall(r"\beval\(|\bFunction\(|importScripts|\bimport\(", editor)
    assert set(re.findall(r"[a-z]+://[^\"'`\s)]*", editor)) == {"http://www.w3.org/2000/svg"}


@pytest.mark.slow
def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("there is no npm")
    make(tmp_path / "somewhere", tmp_path / "made")
    for name in (*FILES, LISTED):
        assert (tmp_path / "made" / name).read_bytes() == (VENDOR / name).read_bytes(), name
