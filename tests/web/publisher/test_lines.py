"""What a screen shows beside it does the same: the command in a shell, the Python in Python."""

from __future__ import annotations

import contextlib
import html
import io
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import countveil as cv
from countveil.web.publisher.draft import Draft
from countveil.web.publisher.lines import lines_of
from tests.robustness.conftest import Quick
from tests.web.conftest import written
from tests.web.publisher.conftest import Desk, write_people

DRAFTS = {
    "plain": Draft("people.csv", sensitive={"job": 3}, drop=("email", "code"), to="plain"),
    "kept": Draft(
        "people.csv", sensitive={"job": 4}, drop=("email",), keep=("code",), to="kept",
        reasons={"code": "It's \"public\"; see $HOME = `here`."}, private_report="kept.html",
        title="Jobs, 2026", contact="us@office.test",
    ),
    "classes": Draft(
        "people.csv", sensitive={"job": 3, "age": 2}, drop=("email", "code"), to="classes",
        by_column={"bins": {"age": "30,45,60"}},
        reading={"missing": ["?"], "where": "region <> 'S'"},
    ),
    "together": Draft(
        "people.csv", sensitive={"job": 3, "region": 3}, drop=("email", "code"), to="together",
        together=(("job", "region"),),
    ),
    "common": Draft(
        "people.csv", sensitive={"job": 10}, drop=("email", "code"), to="common",
        common={"job": "auto"},
    ),
    "odds": Draft(
        "people.csv", sensitive={"job": 3}, drop=("email", "code"), to="odds", odds=50.0,
        by_column={"domain": {"job": "public:occurring"}}, groups="random",
    ),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_people(tmp_path / "people.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(text: str) -> tuple[str, str]:
    """The command and the Python on a page."""
    command, python = re.findall(r'<pre class="line" data-copy>(.*?)</pre>', text, re.DOTALL)
    return html.unescape(command), html.unescape(python)


def in_python(text: str) -> tuple[dict[str, Any], str]:
    """What the lines leave behind, and what they print."""
    names: dict[str, Any] = {}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(text, names)
    return names, out.getvalue()


def words(command: str) -> list[str]:
    """What a shell would hand over, without the name of the command."""
    parts = shlex.split(command)
    return parts[next(n for n, part in enumerate(parts) if part in ("publish", "inspect")) :]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", DRAFTS)
def test_command_and_python_publish_alike(name: str, folder: Path, quick: Quick) -> None:
    draft = DRAFTS[name]
    lines = lines_of(written, "publish", draft.table, draft.arguments("publish"))
    done = quick(*words(lines.command), cwd=folder)
    assert done.code == 0, done
    by_command = cv.open(draft.to).manifest
    moved = lines.python.replace(f"to='{draft.to}'", "to='other', again=True")
    moved = moved.replace("private_report='kept.html'", "private_report='other.html'")
    release = in_python(moved)[0]["release"]
    for of in ("rows", "columns", "together", "preparation"):
        assert getattr(release.manifest, of) == getattr(by_command, of), of
    for column, entry in by_command.sensitive.items():
        other = release.manifest.sensitive[column]
        assert (entry.ell, entry.groups, entry.common, entry.declared) == (
            other.ell, other.groups, other.common, other.declared
        )  # fmt: skip
        assert (entry.odds is None) == (draft.odds is None) == (other.odds is None)
    if draft.reasons:
        assert "see $HOME = `here`." in (folder / "kept.html").read_text()
        assert by_command.about is not None
        assert (by_command.about.title, by_command.about.contact) == (
            "Jobs, 2026",
            "us@office.test",
        )


@pytest.mark.slow
def test_the_lines_beside_a_screen_inspect_alike(desk: Desk, quick: Quick) -> None:
    desk.protect_job()
    command, python = shown(desk.get("dangers"))
    assert "-s job" in command
    assert "--drop email" in command
    printed = in_python(python)[1]
    done = quick(*words(command), cwd=desk.root)
    assert done.code == 0
    figures = re.findall(r"multiplies the odds of a typical\s+row\s+by \d+", printed)
    assert figures
    normal = " ".join(done.out.split())
    assert " ".join(figures[0].split()) in normal


@pytest.mark.slow
def test_every_screen_has_its_lines(desk: Desk) -> None:
    desk.published()
    wanted = {
        "columns": "inspect", "dangers": "inspect", "amount": "advise", "rehearsal": "publish",
        "publish": "publish", "audit": "audit",
    }  # fmt: skip
    for screen, function in wanted.items():
        command, python = shown(desk.get(screen))
        assert f" {function} people.csv" in command, screen
        assert f"cv.{function}(" in python, screen
    assert "--dry-run" in shown(desk.get("rehearsal"))[0]
    assert "--release release" in shown(desk.get("audit"))[0]
