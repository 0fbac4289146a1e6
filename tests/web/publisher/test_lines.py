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
from countveil.publishing.advise.methods import IN_WORDS
from countveil.release import Manifest
from countveil.release.preparation import OneRowEach
from countveil.web.publisher.draft import Draft
from countveil.web.publisher.lines import lines_of
from tests.robustness.conftest import Quick
from tests.web.conftest import written
from tests.web.publisher.conftest import Desk, write_people, write_visits

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
    "numbers": Draft(
        "people.csv", sensitive={"age": 2}, drop=("email", "code"), to="numbers",
        by_column={"bins": {"age": "30,45,60"}, "class_values": {"age": "24,70"}},
    ),
    "first": Draft(
        "visits.csv", sensitive={"job": 3}, person="patient", one_per="first by admitted",
        drop=("admitted",), to="first",
    ),
    "dropped": Draft(
        "people.csv", sensitive={"job": 7}, drop=("email", "code"), to="dropped", residue="drop",
        output_format="csv", rows_per_file=250,
    ),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_people(tmp_path / "people.csv")
    write_visits(tmp_path / "visits.csv")
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
    known = ("publish", "inspect", "advise", "audit")
    return parts[next(n for n, part in enumerate(parts) if part in known) :]


def plain(text: str) -> str:
    """The text of a page, or of a terminal, in one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def printed_rows(text: str) -> dict[str, list[str]]:
    """The rows of a printed table, by their first cell."""
    rows = (re.split(r"\s{2,}", line.strip()) for line in text.splitlines())
    return {row[0]: row[1:] for row in rows if len(row) > 3}


def facts_on(page: str) -> dict[str, list[str]]:
    """Of each column on the screen: different values, missing ones, largest ell."""
    cards = re.findall(r'<li class="column .*?</form>', page, re.DOTALL)
    return {
        plain(re.findall(r"<h2>(.*?)</h2>", card)[0]): [
            plain(text).partition(" ")[0]
            for text in re.findall(r"<dt>(?:values|missing|largest ell)</dt><dd>(.*?)</dd>", card)
        ]
        for card in cards
    }


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
        for of in ("ell", "groups", "residue", "common", "declared", "class_values"):
            assert getattr(entry, of) == getattr(other, of), of
        assert (entry.odds is None) == (draft.odds is None) == (other.odds is None)
    data = [sorted(file.path for file in each.files) for each in (by_command, release.manifest)]
    assert data[0] == data[1]
    _check_special(name, by_command)
    if draft.reasons:
        assert "see $HOME = `here`." in (folder / "kept.html").read_text()
        assert by_command.about is not None
        assert (by_command.about.title, by_command.about.contact) == (
            "Jobs, 2026",
            "us@office.test",
        )


def _check_special(name: str, manifest: Manifest) -> None:
    """What these drafts are there for is in the release."""
    if name == "numbers":
        assert manifest.sensitive["age"].class_values == (24, 37, 52, 70)
    if name == "first":
        assert manifest.rows == 400
        assert manifest.preparation is not None
        assert manifest.preparation.one_per == OneRowEach("first", "admitted")
    if name == "dropped":
        assert manifest.rows == 595  # of 600, the largest multiple of 7
        assert sum(file.path.endswith(".csv") for file in manifest.files) == 3


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


def test_the_lines_beside_the_table_read_it_so(desk: Desk, quick: Quick) -> None:
    text = (desk.root / "people.csv").read_text().replace(",", ";")
    (desk.root / "other.csv").write_text(text.replace(";N;", ";?;"))
    desk.pick("other.csv")
    reading = {"subject": "reading", "header": "yes", "missing": "?", "where": "age >= 30"}
    page = desk.done("table/reading", {**reading, "delimiter": ";"})
    command, python = shown(page)
    read = re.search(r"Read: ([\d,]+ rows, \d+ columns)", plain(page))
    assert read is not None
    assert "600" not in read[1]
    assert in_python(python)[0]["inspection"].rows == int(read[1].partition(" ")[0])
    done = quick(*words(command), cwd=desk.root)
    assert done.code == 0
    assert f"other.csv: {read[1]}" in plain(done.out)


def test_the_lines_beside_columns_count_what_the_page_shows(desk: Desk, quick: Quick) -> None:
    desk.pick("people.csv")
    desk.get("columns")
    desk.role(0, "drop")
    desk.role(4, "protect")
    desk.done("columns/values", {"subject": "2", "bins": "30,45,60"})
    page = desk.get("columns")
    command, python = shown(page)
    facts = {name: figures for name, figures in facts_on(page).items() if name != "email"}
    assert facts["age"] == ["4", "0", "3"]
    columns = in_python(python)[0]["inspection"].columns
    assert facts == {
        column.name: [str(column.distinct), str(column.missing), str(column.largest_ell)]
        for column in columns
    }
    done = quick(*words(command), cwd=desk.root)
    assert done.code == 0
    rows = printed_rows(done.out)
    assert {name: rows[name][1:4] for name in facts} == facts


@pytest.mark.slow
def test_the_lines_beside_how_much_measure_alike(desk: Desk, quick: Quick) -> None:
    desk.protect_job()
    wishes = {"subject": "wishes", "share": "5", "error": "60", "hide": ""}
    page = desk.done("amount/wishes", wishes)
    command, python = shown(page)
    rows = re.findall(r"<tr[^>]*><td>([^<]*)</td><th scope=.row.>(\d+)</th>(.*?)</tr>", page)
    # Errors come from trial releases, so each time they are others; what people believe is not.
    beliefs = {
        (method, ell): re.findall(r">([^<]*)</td>", cells)[-3:-1] for method, ell, cells in rows
    }
    advice = in_python(python)[0]["advice"].columns["job"]
    assert len(beliefs) > 10
    assert beliefs == {
        (IN_WORDS[line.method], str(line.ell)): [
            f"{line.mean_belief:.1%}",
            f"{line.largest_belief:.1%}",
        ]
        for line in advice.methods
    }
    recommended = f"ell = {advice.recommendation.ell}"
    assert recommended in plain(page)
    done = quick(*words(command), cwd=desk.root)
    assert done.code == 0
    assert recommended in plain(done.out)
    table = done.out.partition("side by side:")[2].partition("groups: mixed")[0]
    lines = [line.split() for line in table.splitlines() if line.strip()[:1].isdigit()]
    # Ell, groups, error, published, at most, mean belief, over bound; of fewer ells.
    by_command = {(IN_WORDS[line[1]], line[0]): [line[5], line[4]] for line in lines}
    assert len(by_command) > 10
    assert by_command == {key: beliefs[key] for key in by_command}


@pytest.mark.slow
def test_the_lines_beside_an_audit_attack_alike(desk: Desk, quick: Quick) -> None:
    desk.published()
    page = desk.done("audit/start")
    command, python = shown(page)
    attacks = re.findall(r'<th scope="row">(.*?)</th><td>', page)
    audit = in_python(python)[0]["audit"]
    assert len(attacks) > 20
    assert sorted(map(plain, attacks)) == sorted(
        row[0] for _, rows in audit.by_adversary() for row in rows
    )
    # Who attacks draws at random which rows; how many are linked, and of what, is the same.
    assert audit.attacked() in plain(page)
    assert audit.passed
    done = quick(*words(command), cwd=desk.root)
    assert done.code == 0
    printed = plain(done.out)
    assert audit.attacked() in printed
    for verdict in (plain(page), printed):
        assert re.search(r"All \d+ claims that were tested hold", verdict)
    for heading, _ in audit.by_adversary():
        assert heading in plain(page)
        assert heading.partition(" Knows:")[0] in printed


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
