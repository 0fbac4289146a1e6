"""A browser is found, installed where that is possible, or asked for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tools import browser
from tools.building import ToolError


def program(folder: Path, name: str, lines: str = "") -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder with programs."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("COUNTVEIL_BROWSER", raising=False)
    return tmp_path


def test_the_browser_that_is_there(programs: Path) -> None:
    assert browser.found() is None
    chrome = program(programs, "google-chrome")
    assert browser.found() == chrome
    chromium = program(programs, "chromium")
    assert browser.found() == chromium


def test_the_browser_that_is_named(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(programs, "chromium")
    other = program(programs, "other")
    monkeypatch.setenv("COUNTVEIL_BROWSER", str(other))
    assert browser.found() == other
    monkeypatch.setenv("COUNTVEIL_BROWSER", "nowhere")
    with pytest.raises(ToolError, match="nowhere, which is no program"):
        browser.found()


def test_where_nothing_can_be_installed_it_is_said(
    programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not list(programs.iterdir())
    assert browser.main() == 1
    assert capsys.readouterr().err == f"Error: {browser.HELP}\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root installs")
def test_root_installs_it(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With an apt-get that writes down its arguments, and puts a browser there."""
    calls, chromium = programs / "calls", programs / "chromium"
    touch = f': > {chromium}; IFS= ; case "$*" in *install*) /bin/chmod +x {chromium};; esac'
    program(programs, "apt-get", f'echo "$DEBIAN_FRONTEND $*" >> {calls}; {touch}')
    assert browser.main() == 0
    assert capsys.readouterr().out == f"Browser: {chromium}\n"
    update, install = calls.read_text().splitlines()
    assert update.startswith("noninteractive ")
    assert update.endswith(" update")
    assert install.endswith(" install -y --no-install-recommends chromium")
    assert browser.main() == 0
    assert len(calls.read_text().splitlines()) == 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root installs")
def test_what_apt_says_is_passed_on(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(programs, "apt-get", "echo no network >&2; exit 100")
    assert browser.main() == 1
    assert "no network" in capsys.readouterr().err
