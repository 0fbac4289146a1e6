"""No output replaces an input, whatever its name; nor, without --force, a file that is not ours."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import countveil as cv
from countveil.errors import TargetError
from countveil.report.page import Section, page
from tests.robustness.conftest import Quick
from tests.robustness.tools import JOBS, assert_refused, small_csv, unchanged

AUDIT = ("audit", "-s", "job:2", "--keep", "row", "--attacks", "linkage")
COMPARE = ("compare", "-s", "job:2", "--releases", "1")
PUBLISH = ("publish", "-s", "job:2", "--keep", "row", "--to", "new-release", "--again")
REPORTS = {
    "audit": (AUDIT, "--report"),
    "compare": (COMPARE, "--report"),
    "publish": (PUBLISH, "--private-report"),
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the table in many forms, and files that options read."""
    (tmp_path / "in.csv").write_text(small_csv())
    (tmp_path / "link.csv").symlink_to("in.csv")
    os.link(tmp_path / "in.csv", tmp_path / "hard.csv")
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "a.csv").write_text(small_csv())
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as file:
        file.writestr("in.csv", small_csv())
    with contextlib.closing(sqlite3.connect(tmp_path / "in.db")) as link, link:
        link.execute("CREATE TABLE people (row INT, sex TEXT, job TEXT)")
        rows = [(row, "FM"[row % 2], JOBS[row % 8]) for row in range(80)]
        link.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    link.close()
    (tmp_path / "jobs.txt").write_text("".join(f"{job}\n" for job in JOBS))
    return tmp_path


# The table, the file that must stay, and the options that read it.
INPUTS = [
    ("in.csv", "in.csv", ()),
    ("in.csv", "./many/../in.csv", ()),
    ("in.csv", "link.csv", ()),
    ("in.csv", "hard.csv", ()),
    ("link.csv", "in.csv", ()),
    ("i*.csv", "in.csv", ()),
    ("many", "many/a.csv", ()),
    ("in.zip", "in.zip", ()),
    ("sqlite:in.db#people", "in.db", ()),
    ("in.csv", "jobs.txt", ("--domain", "job=jobs.txt")),
]


@pytest.mark.few(4)
@pytest.mark.parametrize("command", REPORTS)
@pytest.mark.parametrize(("table", "victim", "options"), INPUTS)
def test_a_report_never_replaces_an_input(
    command: str, table: str, victim: str, options: tuple[str, ...], place: Path, quick: Quick
) -> None:
    words, report = REPORTS[command]
    with unchanged(place):
        outcome = quick(words[0], table, *words[1:], *options, report, victim, "--force", cwd=place)
        assert_refused(outcome, "read here")


def test_nothing_is_added_to_a_folder_that_is_read(place: Path, quick: Quick) -> None:
    with unchanged(place):
        for words in (
            (AUDIT[0], "many", *AUDIT[1:], "--report", "many/new.html"),
            ("publish", "many", "-s", "job:2", "--keep", "row", "--to", "many/release"),
        ):
            assert_refused(quick(*words, cwd=place), "lies in many, which is read here")


def test_a_key_is_not_replaced_by_the_report_of_what_it_signs(place: Path, quick: Quick) -> None:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    text = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    (place / "key.pem").write_bytes(text)
    words = (*PUBLISH[1:], "--sign", "key.pem", "--private-report", "key.pem", "--force")
    with unchanged(place):
        assert_refused(quick("publish", "in.csv", *words, cwd=place), "read here")


def test_a_release_is_not_replaced_by_a_release_of_itself(place: Path, quick: Quick) -> None:
    assert quick("publish", "in.csv", *PUBLISH[1:], cwd=place).code == 0
    data = "new-release/data/*.parquet"
    words = ("publish", data, "-s", "job:2", "--keep", "row", "--force", "--again", "--to")
    with unchanged(place):
        assert_refused(quick(*words, "new-release", cwd=place), "would replace")


def test_a_release_is_not_changed_by_a_report_or_a_database(place: Path, quick: Quick) -> None:
    assert quick("publish", "in.csv", *PUBLISH[1:], cwd=place).code == 0
    inside = "new-release/report.html"
    release = ("--release", "new-release")
    with unchanged(place):
        for words in (
            (AUDIT[0], "in.csv", *AUDIT[1:], *release, "--report", inside, "--force"),
            (COMPARE[0], "in.csv", *COMPARE[1:], "--report", inside, "--force"),
            ("generate", "--rows", "9", "--to", "new-release/data/x.csv", "--force"),
            ("export", "new-release", "--to", "sqlite:new-release/data/x.db#t"),
        ):
            assert_refused(quick(*words, cwd=place), "new-release")
        assert cv.verify(place / "new-release") == []


@pytest.mark.slow
def test_only_pages_of_ours_are_replaced_without_force(place: Path, quick: Quick) -> None:
    words = ("guarantee", "privacy", "--ell", "3", "--count", "5", "--error", "0.3", "--plot")
    (place / "mine.svg").write_text("<svg>mine</svg>")
    assert_refused(quick(*words, "mine.svg", cwd=place), "exists", "--force")
    assert (place / "mine.svg").read_text() == "<svg>mine</svg>"
    assert quick(*words, "mine.svg", "--force", cwd=place).code == 0
    assert quick(*words, "mine.svg", cwd=place).code == 0, "now it is ours"
    compare = (COMPARE[0], "in.csv", *COMPARE[1:], "--report", "page.html")
    (place / "page.html").write_text("<html>mine</html>")
    assert_refused(quick(*compare, cwd=place), "exists", "--force")
    assert quick(*compare, "--force", cwd=place).code == 0
    first = (place / "page.html").read_text()
    assert quick(*compare, cwd=place).code == 0
    assert (place / "page.html").read_text() != first


def test_every_page_has_the_mark_in_its_first_bytes() -> None:
    assert '<meta name="generator" content="countveil">' in page("A", [Section("b")])[:200]


@pytest.mark.slow
def test_the_demo_replaces_what_it_made_and_nothing_else(place: Path, quick: Quick) -> None:
    makers: tuple[Callable[[], object], ...] = (
        (place / "release").mkdir,
        lambda: (place / "census.parquet").write_text("mine"),
    )
    for make in makers:
        make()
        with unchanged(place):
            assert_refused(quick("demo", "--rows", "1000", "--to", place), "did not make", "--to")
    for _ in range(2):
        assert quick("demo", "--rows", "1000", "--to", place / "demo").code == 0


def test_python_is_told_the_same(place: Path) -> None:
    with unchanged(place), pytest.raises(TargetError, match=r"force=True does not replace"):
        cv.publish(
            place / "in.csv", {"job": 2}, place / "r", keep="row", force=True,
            private_report=place / "hard.csv",
        )  # fmt: skip
